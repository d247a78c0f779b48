"""An agent written from the guide alone: lines of JSON on its pipes, and no SDK."""

from __future__ import annotations

import json
import sys
from typing import Any

TOOLS = [{"name": "countLines", "description": "Counts", "inputSchema": {"type": "object"}}]
OPTIONS = [
    {"optionId": "go", "name": "Count", "kind": "allow_once"},
    {"optionId": "stay", "name": "Do not", "kind": "reject_once"},
]
sessions: set[str] = set()


def send(**members: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
    sys.stdout.flush()


def tell(session: str, update_kind: str, **fields: Any) -> None:
    update = {"sessionUpdate": update_kind, **fields}
    send(method="session/update", params={"sessionId": session, "update": update})


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def message(session: str, *words: str) -> None:
    tell(session, "message", role="assistant", content=[text(one) for one in words])


def listen() -> Any:
    line = sys.stdin.readline()
    return json.loads(line) if line else sys.exit(0)


def tour(session: str) -> Any:
    """The life of a turn as the guide tells it, and the mistake that it warns of."""
    entries = [{"content": "Count", "priority": "high", "status": "pending"}]
    tell(session, "plan", entries=entries)
    message(session, "Let me ", "count. ")
    tell(session, "tool_call", toolCallId="call-1", title="Count (allow)", kind="read", status="pending")
    params = {"sessionId": session, "toolCall": {"toolCallId": "call-1", "title": "Count (allow)"}}
    send(id="ask", method="session/request_permission", params={**params, "options": OPTIONS})
    while (frame := listen()).get("id") != "ask":
        pass
    chosen = frame["result"]["outcome"].get("optionId")
    tell(session, "tool_call_update", toolCallId="call-1", status="in_progress")
    status = "completed" if chosen == "go" else "failed"
    tell(session, "tool_call_update", toolCallId="call-1", status=status)
    tell(session, "agent_message_chunk", content=text("I would say: "))
    send(method="session/update", params={"sessionId": session, "type": "message", "content": text(chosen)})
    return {"stopReason": "end_turn", "content": [text("I have said it.")]}


def wait(session: str) -> Any:
    tell(session, "agent_message_chunk", content=text("waiting"))
    while listen().get("method") != "session/cancel":
        pass
    return {"stopReason": "cancelled"}


def prompt(params: Any) -> Any:
    if params["sessionId"] not in sessions:
        return {"error": {"code": -32002, "message": "no such session"}}
    wanted = "".join(block["text"] for block in params["prompt"])
    if wanted == "quietly":
        return {"result": {"stopReason": "end_turn", "content": [text("In a word: no.")]}}
    return {"result": (wait if wanted == "wait" else tour)(params["sessionId"])}


def answer(method: str, params: Any) -> Any:
    if method == "initialize":
        server = {"name": "counter", "version": "1.0"}
        return {"result": {"protocolVersion": 1, "capabilities": {"tools": TOOLS}, "serverInfo": server}}
    if method == "session/new":
        sessions.add(f"sess_{len(sessions)}")
        return {"result": {"sessionId": f"sess_{len(sessions) - 1}"}}
    if method == "session/prompt":
        return prompt(params)
    return {"error": {"code": -32601, "message": "no such method"}}


if __name__ == "__main__":
    while True:
        asked = listen()
        if "id" in asked and "method" in asked:
            send(id=asked["id"], **answer(asked["method"], asked["params"]))
