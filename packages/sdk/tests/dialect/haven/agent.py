"""An agent written from the bridge's reference alone: lines of JSON on its pipes, and no SDK.

With the argument `legacy` it speaks the older form: `type` tells updates apart, and it asks for permission in
a notification, after which it goes on unless somebody stops it.
"""

from __future__ import annotations

import json
import sys
from typing import Any

LEGACY = sys.argv[1:] == ["legacy"]
DIFF = {"type": "diff", "path": "/srv/garden/beds.txt", "oldText": "dry\n", "newText": "wet\n"}
NOTE = {"uri": "file:///srv/garden/notes.txt", "text": "Beans in May."}
OPTIONS = [
    {"optionId": "yes", "name": "Go on", "kind": "allow_once"},
    {"optionId": "no", "name": "Leave it", "kind": "reject_once"},
]
sessions: set[str] = set()


def send(**members: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
    sys.stdout.flush()


def tell(session: str, update_kind: str, **fields: Any) -> None:
    update = {"type" if LEGACY else "sessionUpdate": update_kind, **fields}
    send(method="session/update", params={"sessionId": session, "update": update})


def say(session: str, text: str) -> None:
    tell(session, "agent_message_chunk", content={"type": "text", "text": text})


def listen() -> Any:
    line = sys.stdin.readline()
    return json.loads(line) if line else sys.exit(0)


def may_mend(session: str) -> str | None:
    """What was chosen; None if nothing was, or if it was stopped."""
    call = {"id": "call-1", "name": "Mend (allow)", "status": "pending"}
    params = {"sessionId": session, "toolCall": call, "options": OPTIONS}
    if LEGACY:
        send(method="session/request_permission", params=params)
        return "stopped" if listen().get("method") == "session/cancel" else "yes"
    send(id="perm-1", method="session/request_permission", params=params)
    while (frame := listen()).get("id") != "perm-1":
        pass
    chosen: str | None = frame["result"]["outcome"].get("optionId")
    return chosen


def tour(session: str) -> str:
    """Everything that the reference lets an agent say. Why the turn ended."""
    tell(session, "agent_thought_chunk", content={"type": "text", "text": "It is dry."})
    tell(session, "plan", entries=[{"content": "Water", "priority": "high", "status": "pending"}])
    tell(session, "tool_call", id="call-1", name="Mend (allow)", status="pending", kind="file")
    chosen = may_mend(session)
    if chosen != "yes":
        tell(session, "tool_call_update", id="call-1", status="failed")
        say(session, f"{chosen} was chosen")
        return "cancelled" if chosen == "stopped" else "end_turn"
    tell(session, "tool_call_update", id="call-1", status="in_progress", content=[DIFF])
    tell(session, "tool_call_update", id="call-1", status="completed")
    tell(session, "agent_message_chunk", content={"type": "embedded_resource", "resource": NOTE})
    say(session, "yes was chosen")
    return "end_turn"


def wait(session: str) -> str:
    say(session, "waiting")
    while listen().get("method") != "session/cancel":
        pass
    return "cancelled"


def prompt(params: Any) -> Any:
    if params["sessionId"] not in sessions:
        return {"error": {"code": -32002, "message": "no such session"}}
    kinds = [block["type"] for block in params["prompt"]]
    if set(kinds) != {"text"}:
        say(params["sessionId"], " ".join(kinds))
        return {"result": {"stopReason": "end_turn"}}
    waits = any("wait" in block["text"] for block in params["prompt"])
    return {"result": {"stopReason": (wait if waits else tour)(params["sessionId"])}}


def answer(method: str, params: Any) -> Any:
    if method == "initialize":
        assert "clientCapabilities" not in params
        info = {"name": "gardener", "version": "1"}
        capabilities = {"promptCapabilities": {"embeddedContext": True, "image": True}}
        known = type(params["capabilities"]) is dict
        return {
            "result": {
                "protocolVersion": 1,
                "capabilities": capabilities if known else None,
                "agentInfo": info,
            }
        }
    if method == "session/new":
        sessions.add(f"s-{len(sessions)}")
        return {"result": {"sessionId": f"s-{len(sessions) - 1}"}}
    if method == "session/prompt":
        return prompt(params)
    return {"error": {"code": -32601, "message": "no such method"}}


if __name__ == "__main__":
    while True:
        asked = listen()
        if "id" in asked and "method" in asked:
            send(id=asked["id"], **answer(asked["method"], asked["params"]))
