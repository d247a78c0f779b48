"""A small agent by hand, and what can be wrong with it: `python raw_agent.py [FAULT]`.

| fault | what it does |
|---|---|
| `exits` | complains and ends at once |
| `mute` | reads, and never says anything |
| `login` | opens no session before a login |
| `paid` | opens sessions, but prompts need a login |
| `dies` | ends when a line is no JSON |
| `hangs` | says nothing any more once a line was no JSON |
| `deaf` | does not answer methods that it does not know |
| `floods` | never stops to talk once it is prompted |
| `stubborn` | lives on when its input ends |
"""

import json
import sys
import time
from typing import Any

fault = sys.argv[1] if len(sys.argv) > 1 else ""
sessions: set[str] = set()


def send(**fields: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **fields}) + "\n")
    sys.stdout.flush()


def refuse(request_id: Any, code: int) -> None:
    send(id=request_id, error={"code": code, "message": "No"})


def prompt(request_id: Any, params: Any) -> None:
    if params.get("sessionId") not in sessions:
        return refuse(request_id, -32002)
    said = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hello"}}
    while True:
        send(method="session/update", params={"sessionId": params["sessionId"], "update": said})
        if fault != "floods":
            return send(id=request_id, result={"stopReason": "end_turn"})


def answer(message: dict[str, Any]) -> None:
    method, request_id, params = message.get("method"), message.get("id"), message.get("params") or {}
    if "id" not in message or not isinstance(method, str):
        return None
    if method == "initialize":
        info = {"name": "raw", "version": "1"}
        return send(id=request_id, result={"protocolVersion": 1, "agentCapabilities": {}, "agentInfo": info})
    if method == "session/new" and fault != "login":
        sessions.add(f"session-{len(sessions)}")
        return send(id=request_id, result={"sessionId": f"session-{len(sessions) - 1}"})
    if (fault, method) in (("login", "session/new"), ("paid", "session/prompt")):
        return refuse(request_id, -32000)
    if method == "session/prompt":
        return prompt(request_id, params)
    return None if fault == "deaf" else refuse(request_id, -32601)


if fault == "exits":
    sys.exit("there is no model")
for line in sys.stdin.buffer:
    try:
        frame = json.loads(line)
    except ValueError:
        if fault == "dies":
            sys.exit(3)
        while fault == "hangs":
            time.sleep(60)
        refuse(None, -32700)
        continue
    if fault != "mute" and isinstance(frame, dict):
        answer(frame)
while fault == "stubborn":
    time.sleep(60)
