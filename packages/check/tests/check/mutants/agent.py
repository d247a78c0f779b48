"""A small good agent by hand, and one thing that can be wrong with it: `python agent.py [FAULT]`.

| fault | what it does |
|---|---|
| `twice` | answers every prompt twice |
| `late` | goes on talking after the answer |
| `stranger` | tells of a session that nobody has |
| `chatter` | writes a log line to its output |
| `reason` | ends turns with a reason of its own |
| `backwards` | a completed tool call is pending again |
| `disobedient` | does what was refused |
| `unstoppable` | ends a cancelled turn as if nothing had happened |
| `mute` | says nothing about a line that is no JSON |
| `careless` | opens sessions whose params are wrong |
| `fragile` | ends in the middle of a turn with a tool |
"""

import json
import sys
from typing import Any

FAULT = sys.argv[1] if len(sys.argv) > 1 else ""
CAN = {
    "loadSession": False,
    "promptCapabilities": {},
    "mcpCapabilities": {"http": True},
    "sessionCapabilities": {"close": {}},
}
OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]

sessions: dict[str, str] = {}
"""The folder of each."""
waiting: dict[str, dict[str, Any]] = {}
"""The turn of each session that waits for an answer."""
remembered: dict[str, str] = {}
counted = 0


class Refused(Exception):
    """An answer that is an error."""


def send(**fields: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **fields}) + "\n")
    sys.stdout.flush()


def refuse(request_id: Any, code: int, **data: Any) -> None:
    error: dict[str, Any] = {"code": code, "message": "No"}
    send(id=request_id, error={**error, "data": data} if data else error)


def update(session: str, kind: str, /, **members: Any) -> None:
    send(method="session/update", params={"sessionId": session, "update": {"sessionUpdate": kind, **members}})


def say(session: str, words: str) -> None:
    to = "ses-of-nobody" if FAULT == "stranger" else session
    update(to, "agent_message_chunk", content={"type": "text", "text": words})


def end(request_id: Any, session: str, reason: str = "end_turn") -> None:
    send(id=request_id, result={"stopReason": "finished" if FAULT == "reason" else reason})
    if FAULT == "twice":
        send(id=request_id, result={"stopReason": reason})
    if FAULT == "late":
        say(session, " And one more thing.")


def need(fits: bool) -> None:
    if not fits:
        raise Refused(-32602)


def is_server(entry: Any) -> bool:
    if not isinstance(entry, dict) or entry.get("type") not in (None, "http"):
        return False
    strings = ("name", "url") if "type" in entry else ("name", "command")
    lists = ("headers",) if "type" in entry else ("args", "env")
    right = all(isinstance(entry.get(name), str) for name in strings)
    return right and all(isinstance(entry.get(name), list) for name in lists)


def is_block(block: Any) -> bool:
    kinds = {"text": "text", "resource_link": "uri"}
    kind = block.get("type") if isinstance(block, dict) else None
    return kind in kinds and isinstance(block.get(kinds[kind]), str)


# Requests of the client.


def new(request_id: Any, params: Any) -> None:
    if FAULT != "careless":
        need(isinstance(params, dict) and isinstance(params.get("cwd"), str) and "mcpServers" in params)
        need(params["cwd"].startswith("/"))
        servers = [] if params["mcpServers"] is None else params["mcpServers"]
        need(isinstance(servers, list) and all(is_server(entry) for entry in servers))
    folder = str(params.get("cwd")) if isinstance(params, dict) else ""
    session = f"ses-{len(sessions)}"
    sessions[session] = folder
    send(id=request_id, result={"sessionId": session})


def close(request_id: Any, params: Any) -> None:
    session = known(params)
    if session in waiting:
        end(waiting.pop(session)["prompt"], session, "cancelled")
    del sessions[session]
    send(id=request_id, result={})


def known(params: Any) -> str:
    need(isinstance(params, dict) and isinstance(params.get("sessionId"), str))
    if params["sessionId"] not in sessions:
        raise Refused(-32002, ("sessionId", params["sessionId"]))
    return str(params["sessionId"])


def prompt(request_id: Any, params: Any) -> None:
    need(isinstance(params, dict) and isinstance(params.get("sessionId"), str))
    need(isinstance(params.get("prompt"), list) and all(map(is_block, params["prompt"])))
    session = known(params)
    if session in waiting:
        raise Refused(-32600)
    words = " ".join(str(block.get("text", "")) for block in params["prompt"])
    trigger = words.partition(" ")[0]
    if trigger in ("ask", "slow"):
        ask(request_id, session)
        return
    if trigger == "tool":
        tool(session)
        if FAULT == "fragile":
            sys.exit("no such model")
    if trigger == "remember":
        remembered[session] = words
    if trigger == "plan":
        for status in ("in_progress", "completed"):
            update(session, "plan", entries=[{"content": "Look", "priority": "low", "status": status}])
    say(session, remembered.get(session, "Hello.") if trigger == "recall" else "Here I am.")
    end(request_id, session)


def tool(session: str) -> str:
    """A tool call from its beginning to its end."""
    call = begin_call(session)
    update(session, "tool_call_update", toolCallId=call, status="in_progress")
    end_call(session, call, "completed")
    return call


def begin_call(session: str) -> str:
    global counted
    counted += 1
    update(session, "tool_call", toolCallId=f"call-{counted}", title="Look", kind="read", status="pending")
    return f"call-{counted}"


def end_call(session: str, call: str, status: str) -> None:
    update(session, "tool_call_update", toolCallId=call, status=status)
    if FAULT == "backwards":
        update(session, "tool_call_update", toolCallId=call, status="pending")


def ask(request_id: Any, session: str) -> None:
    call = begin_call(session)
    question = f"question-{counted}"
    waiting[session] = {"prompt": request_id, "question": question, "call": call}
    params = {"sessionId": session, "toolCall": {"toolCallId": call}, "options": OPTIONS}
    send(id=question, method="session/request_permission", params=params)


# What else the client says.


def answered(message: dict[str, Any]) -> None:
    for session, turn in list(waiting.items()):
        if turn["question"] == message.get("id"):
            del waiting[session]
            outcome = (message.get("result") or {}).get("outcome") or {}
            allowed = outcome == {"outcome": "selected", "optionId": "yes"} or FAULT == "disobedient"
            if allowed:
                update(session, "tool_call_update", toolCallId=turn["call"], status="in_progress")
            end_call(session, turn["call"], "completed" if allowed else "failed")
            say(session, "Done." if allowed else "Then not.")
            end(turn["prompt"], session)


def noted(method: str, params: Any) -> None:
    chosen = params if isinstance(params, dict) else {}
    for session, turn in list(waiting.items()):
        if method == "session/cancel" and chosen.get("sessionId") == session:
            del waiting[session]
            end_call(session, turn["call"], "failed")
            end(turn["prompt"], session, "end_turn" if FAULT == "unstoppable" else "cancelled")
        elif method == "$/cancel_request" and chosen.get("requestId") is turn["prompt"]:
            del waiting[session]
            end_call(session, turn["call"], "failed")
            refuse(turn["prompt"], -32800)


def initialize(request_id: Any, params: Any) -> None:
    version = params.get("protocolVersion") if isinstance(params, dict) else None
    need(type(version) is int and 0 <= version < 65536)
    global is_open
    is_open = True
    info = {"name": "mutable", "version": "1"}
    send(id=request_id, result={"protocolVersion": 1, "agentCapabilities": CAN, "agentInfo": info})


is_open = False
METHODS = {"initialize": initialize, "session/new": new, "session/prompt": prompt, "session/close": close}


def read(line: bytes) -> None:
    try:
        message = json.loads(line)
    except ValueError:
        return None if FAULT == "mute" else refuse(None, -32700)
    if not isinstance(message, dict) or not ("method" in message or "id" in message):
        return refuse(None, -32600)
    method, request_id = message.get("method"), message.get("id")
    if "method" not in message:
        return answered(message)
    if message.get("jsonrpc") != "2.0" or not isinstance(method, str):
        return refuse(None, -32600)
    if "id" not in message:
        return noted(method, message.get("params"))
    try:
        if not is_open and method != "initialize":
            raise Refused(-32600)
        if method not in METHODS:
            raise Refused(-32601)
        METHODS[method](request_id, message.get("params"))
    except Refused as refusal:
        code, *data = refusal.args
        refuse(request_id, code, **dict(data))


if FAULT == "chatter":
    print("INFO ready", flush=True)
for line in sys.stdin.buffer:
    if line.strip():
        read(line)
