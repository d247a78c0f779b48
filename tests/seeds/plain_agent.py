"""An agent of v1 written from the specification alone: lines of JSON on its pipes, and nothing of ours.

A prompt's first word says what it does. What it was sent stands in its answers, so that a test can read what
came through.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import count
from typing import Any

numbers = count(1)
greeting: dict[str, Any] = {}
sessions: dict[str, dict[str, Any]] = {}


def send(**members: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
    sys.stdout.flush()


def listen() -> Any:
    line = sys.stdin.readline()
    return json.loads(line) if line else sys.exit(0)


def update(session: str, name: str, /, **members: Any) -> None:
    told = {"sessionId": session, "update": {"sessionUpdate": name, **members}}
    send(method="session/update", params=told)


def say(session: str, words: str, kind: str = "agent_message_chunk") -> None:
    update(session, kind, content={"type": "text", "text": words})


def ask(session: str, method: str, **params: Any) -> Any:
    number = f"a-{next(numbers)}"
    send(id=number, method=method, params={"sessionId": session, **params})
    while (frame := listen()).get("id") != number or "method" in frame:
        pass
    return frame


def flow(session: str, path: str) -> None:
    """A turn as documents draw it: thought, words, a file, a tool, the last words."""
    say(session, "Let me see.", "agent_thought_chunk")
    say(session, "I look at it. ")
    say(session, "One moment. ")
    read = ask(session, "fs/read_text_file", path=path)["result"]["content"]
    update(session, "tool_call", toolCallId="t-1", title="Count", kind="read", status="in_progress")
    done = [{"type": "content", "content": {"type": "text", "text": str(len(read))}}]
    update(session, "tool_call_update", toolCallId="t-1", status="completed", content=done)
    say(session, f"It has {len(read)} characters.")


def prompted(number: Any, params: dict[str, Any]) -> None:
    session = params["sessionId"]
    word, _, rest = str(params["prompt"][0].get("text")).partition(" ")
    if word == "die":
        os._exit(3)
    if word == "flow":
        flow(session, rest)
    elif word == "call":  # methods with their parameters, as JSON; says what came back
        answers = [ask(session, method, **members) for method, members in json.loads(rest)]
        say(session, json.dumps(answers))
    elif word == "fail":  # with the error that the client gave
        send(id=number, error=ask(session, "fs/read_text_file", path=rest)["error"])
        return
    elif word == "wrong":  # an answer that the specification does not know
        send(id=number, result={"stopReason": 5})
        return
    else:
        say(session, json.dumps({"greeting": greeting, "session": sessions[session], "prompt": params}))
    send(id=number, result={"stopReason": "end_turn"})


def main() -> None:
    while True:
        frame = listen()
        method, params, number = frame.get("method"), frame.get("params") or {}, frame.get("id")
        if method == "initialize":
            greeting.update(params)
            capabilities = {"promptCapabilities": {"embeddedContext": True}}
            info = {"name": "plain", "version": "1.0"}
            send(
                id=number,
                result={"protocolVersion": 1, "agentCapabilities": capabilities, "agentInfo": info},
            )
        elif method == "session/new" and os.path.isabs(str(params.get("cwd"))) and "mcpServers" in params:
            session = f"s-{os.getpid()}-{next(numbers)}"
            sessions[session] = params
            send(id=number, result={"sessionId": session})
        elif method == "session/prompt" and params.get("sessionId") in sessions and params.get("prompt"):
            prompted(number, params)
        elif number is not None and method is not None:
            known = method.startswith("session/")
            code, words = (-32602, "Invalid params") if known else (-32601, "Method not found")
            send(id=number, error={"code": code, "message": words})


main()
