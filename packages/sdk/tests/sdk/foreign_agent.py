"""One small agent in every dialect, written from their documents: it says back what it is told.

    python foreign_agent.py crow

Lines of JSON and nothing of ours. `threads-written` takes the directions that the thread protocol's document
prints. `shell` speaks v1 under the name that its second argument says, asks for permission, and then asks for
a terminal with a whole shell line as the command. `mortal` is crow, and dies when it is told to.
"""

from __future__ import annotations

import json
import sys
from typing import Any

is_mortal = sys.argv[1] == "mortal"
dialect = "crow" if is_mortal else sys.argv[1]
SESSION = "session-1"


def send(**fields: Any) -> None:
    bare = {} if dialect.startswith("threads") else {"jsonrpc": "2.0"}
    print(json.dumps({**bare, **fields}), flush=True)


def update(**fields: Any) -> None:
    send(method="session/update", params={"sessionId": SESSION, "update": fields})


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


INTRODUCTIONS: dict[str, Any] = {
    "crow": {"protocol_version": 1, "agent_capabilities": {}, "agent_info": {"name": "c", "version": "1"}},
    "koog": {
        "protocolVersion": 1,
        "capabilities": {"tools": []},
        "serverInfo": {"name": "k", "version": "1"},
    },
    "v1": {"protocolVersion": 1, "agentCapabilities": {}, "agentInfo": {"name": "o", "version": "1"}},
    "acpex-wire": {
        "protocolVersion": 1,
        "agentCapabilities": {"loadSession": False},
        "_meta": {"name": "w", "version": "1"},
    },
    "haven": {"protocolVersion": 1, "capabilities": {}},
    "haven-legacy": {"protocolVersion": 1, "capabilities": {}},
    "acpex": {
        "protocolVersion": 1,
        "agentCapabilities": {"sessions": {"new": True, "load": False}},
        "meta": {"name": "a", "version": "1"},
        "authenticationMethods": [],
    },
}


def words_of(params: Any) -> str:
    blocks = params.get("prompt") or params.get("content")
    return "".join(block["text"] for block in blocks)


def say(words: str) -> None:
    if dialect == "crow":
        update(**{"@type": "agent_message_text", "text": words})
    elif dialect == "koog":
        update(sessionUpdate="message", role="assistant", content=[text(words)])
    elif dialect == "haven":
        update(sessionUpdate="tool_call", id="t", name="Look", status="completed", kind="file")
        update(sessionUpdate="agent_message_chunk", content=text(words))
    elif dialect == "v1":
        update(sessionUpdate="agent_message_chunk", content=text(words))
    elif dialect == "acpex-wire":
        update(type="agent_message_chunk", sessionUpdate="u-1", content=text(words))
    elif dialect == "haven-legacy":
        update(type="agent_message_chunk", content=text(words))
    else:
        update(kind="agent_message_chunk", content={"role": "assistant", "content": [text(words)]})


def foreign(frame: Any) -> None:
    method, params = frame.get("method"), frame.get("params") or {}
    if method == "initialize":
        send(id=frame["id"], result=INTRODUCTIONS[dialect])
    elif method == "session/new":
        send(id=frame["id"], result={"sessionId": SESSION})
    elif method == "session/prompt":
        if is_mortal and words_of(params) == "die":
            sys.exit(3)
        say("You said: " + words_of(params))
        ended = {"stop_reason": "end_turn"} if dialect == "crow" else {"stopReason": "end_turn"}
        send(id=frame["id"], result={"stopReason": "done"} if dialect.startswith("acpex") else ended)
    elif "id" in frame and method is not None:
        send(id=frame["id"], error={"code": -32601, "message": "Method not found"})


def threads(frame: Any) -> None:
    method, params = frame.get("method"), frame.get("params") or {}
    if method == "createThread":
        send(id=frame["id"], result={"threadId": SESSION})
    elif method == "sendMessage":
        said = "".join(chunk["chunk"] for chunk in params["message"]["chunks"])
        chunk = {"type": "text", "chunk": "You said: " + said}
        send(id=900, method="streamMessageChunk", params={"threadId": SESSION, "chunk": chunk})
        send(id=frame["id"], result=None)
    elif method is not None:
        send(id=frame["id"], error={"code": -32601, "message": f"Method not found - '{method}'"})


def written(frame: Any) -> None:
    """It is asked for nothing: the client streams a message, and one is posted to end the turn."""
    method, params = frame.get("method"), frame.get("params") or {}
    if method == "streamMessageChunk":
        send(id=frame["id"], result=None)
        chunks = [{"type": "text", "chunk": "You said: " + params["chunk"]["chunk"]}]
        posted = {"role": "assistant", "chunks": chunks}
        send(id=901, method="sendMessage", params={"threadId": params["threadId"], "message": posted})
    elif method is not None:
        send(id=frame["id"], error={"code": -32601, "message": f"Method not found - '{method}'"})


def second(frame: Any) -> None:
    """Version 2: prompts are acknowledged, and a state ends the turn."""
    method, params = frame.get("method"), frame.get("params") or {}
    if method == "initialize" and params.get("protocolVersion") != 2:
        send(id=frame["id"], error={"code": -32602, "message": "Invalid params: info is missing"})
    elif method == "initialize":
        info = {"name": "s", "version": "1"}
        send(id=frame["id"], result={"protocolVersion": 2, "info": info, "capabilities": {"session": {}}})
    elif method == "session/new":
        send(id=frame["id"], result={"sessionId": SESSION, "configOptions": []})
    elif method == "session/prompt":
        update(sessionUpdate="user_message", messageId="1", content=params["prompt"])
        send(id=frame["id"], result={"messageId": "1"})
        update(sessionUpdate="state_update", state="running")
        said = [text("You said: " + words_of(params))]
        update(sessionUpdate="agent_message", messageId="2", content=said)
        update(sessionUpdate="state_update", state="idle", stopReason="end_turn")
    elif method == "session/close":
        send(id=frame["id"], result={})
    elif "id" in frame and method is not None:
        send(id=frame["id"], error={"code": -32601, "message": "Method not found"})


LINE = "echo one > out.txt && echo two >> out.txt"
CALL = {"toolCallId": "t", "title": LINE, "kind": "execute", "rawInput": {"command": LINE}}
OPTIONS = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
prompted: list[Any] = []


def shell(frame: Any) -> None:
    method, ident = frame.get("method"), frame.get("id")
    if method == "initialize":
        info = {"name": sys.argv[2], "version": "1"}
        send(id=ident, result={"protocolVersion": 1, "agentCapabilities": {}, "agentInfo": info})
    elif method == "session/new":
        send(id=ident, result={"sessionId": SESSION})
    elif method == "session/prompt":
        prompted.append(ident)
        update(sessionUpdate="tool_call", **CALL)
        ask = {"sessionId": SESSION, "toolCall": CALL, "options": OPTIONS}
        send(id="ask", method="session/request_permission", params=ask)
    elif ident == "ask":
        send(id="run", method="terminal/create", params={"sessionId": SESSION, "command": LINE})
    elif ident == "run" and "error" not in frame:
        where = {"sessionId": SESSION, "terminalId": frame["result"]["terminalId"]}
        send(id="wait", method="terminal/wait_for_exit", params=where)
    elif ident in ("run", "wait"):
        send(id=prompted.pop(), result={"stopReason": "end_turn"})


SPEAKERS = {"threads": threads, "threads-written": written, "v2": second, "shell": shell}
for line in sys.stdin:
    SPEAKERS.get(dialect, foreign)(json.loads(line))
