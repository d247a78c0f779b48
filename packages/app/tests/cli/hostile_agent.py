"""An agent whose every text tries to act on the terminal of whoever reads it."""

from __future__ import annotations

import json
import sys
from typing import Any

EVIL = "\x1b]0;evil\x07\x1b[2J\x9b2Ja\u202eb\u2066c\u200bd\U000e0041e\xadf\u2028g\rh\x7f"
"""With words around it that a test can look for."""


def evil(name: str) -> str:
    return f"{name}<{EVIL}>"


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(name: str, /, **fields: Any) -> None:
    params = {"sessionId": "s1", "update": {"sessionUpdate": name, **fields}}
    send({"method": "session/update", "params": params})


def turn() -> None:
    text = {"type": "text", "text": evil("words")}
    call = {"toolCallId": "t1", "title": evil("tool"), "kind": "execute"}
    update("session_info_update", title=evil("session"))
    update("agent_thought_chunk", content={**text, "text": evil("thought")})
    update("agent_message_chunk", content=text)
    update(evil("kind"))
    update("plan", entries=[{"content": evil("step"), "priority": "low", "status": "pending"}])
    update("tool_call", **call, status="pending", locations=[{"path": f"/tmp/{evil('place')}"}])
    done = {"type": "content", "content": {**text, "text": evil("output")}}
    update("tool_call_update", toolCallId="t1", status="failed", content=[done])
    update("agent_message_chunk", content={"type": evil("block")})
    update("agent_message_chunk", content={"type": "resource_link", "name": evil("link"), "uri": evil("uri")})
    update("notice", severity=evil("severity"), title=evil("notice"), description=evil("about"))
    sys.stderr.write(evil("complaint") + "\n")
    sys.stderr.flush()
    options = [
        {"optionId": "a", "name": evil("option"), "kind": "allow_once"},
        {"optionId": "r", "name": "No", "kind": "reject_once"},
    ]
    asked = {**call, "rawInput": {"command": f"ls {EVIL}", evil("field"): evil("value")}}
    send(
        {
            "id": "p1",
            "method": "session/request_permission",
            "params": {"sessionId": "s1", "toolCall": asked, "options": options},
        }
    )


def main() -> None:
    prompt: Any = None
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                info = {"name": evil("agent"), "title": evil("title"), "version": evil("version")}
                result = {"protocolVersion": 1, "agentInfo": info, "agentCapabilities": {}}
                send({"id": message["id"], "result": result})
            case "session/new":
                send({"id": message["id"], "result": {"sessionId": "s1"}})
            case "session/prompt":
                prompt = message["id"]
                turn()
            case None if message.get("id") == "p1":
                error = {"code": -32603, "message": evil("failure")}
                send(
                    {"id": prompt, "error": error} if "fail" in sys.argv else {"id": prompt, "result": ENDED}
                )


ENDED = {"stopReason": "end_turn"}

if __name__ == "__main__":
    main()
