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
| `lazy` | ends a turn only when it is cancelled |
| `second` | speaks the second version of the protocol, and no other |
| `stubborn` | lives on when its input ends |
| `strict` | refuses capabilities of the wrong type |
| `kills` | can close sessions, and kills their MCP servers then |
| `unsteady` | agrees to version 65535, once: a file in its folder remembers that |
| `unsteady and silent` | the same, and then it does not answer that version any more |
| `greets` | advertises everything, and knows no method but `initialize` |
| `boasts` | advertises loads, resumes and more folders, and refuses them |
| `remembers` | loads, resumes, closes and lists its sessions, for as long as it runs |
| `replays late` | the same, but replays after its answer |
| `resumes with history` | the same, but replays on resume, too |
| `forgives` | takes all params as they come, and repeats them |
| `shifted` | answers under the id after that of the request |
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

fault = sys.argv[1] if len(sys.argv) > 1 else ""
sessions: set[str] = set()
open_turns: list[Any] = []
servers: list[subprocess.Popen[str]] = []


ADVERTISED = {
    "loadSession": True,
    "sessionCapabilities": {
        name: {} for name in ("list", "delete", "resume", "close", "additionalDirectories")
    },
}
stored: dict[Any, Any] = {}
"""What was told in each session, and its folder."""


def send(**fields: Any) -> None:
    if fault == "shifted" and type(fields.get("id")) is int and "method" not in fields:
        fields["id"] += 1
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **fields}) + "\n")
    sys.stdout.flush()


def refuse(request_id: Any, code: int) -> None:
    send(id=request_id, error={"code": code, "message": "No"})


def tell(session: str, kind: str, **fields: Any) -> None:
    update = {"sessionUpdate": kind, **fields}
    send(method="session/update", params={"sessionId": session, "update": update})


def prompt(request_id: Any, params: Any) -> None:
    session = params.get("sessionId")
    if session not in sessions:
        return refuse(request_id, -32002)
    if fault == "second":
        send(id=request_id, result={"messageId": "m"})
        tell(session, "state_update", state="running")
    if fault == "lazy":
        return open_turns.append(request_id)
    if session in stored:
        for block in params.get("prompt") or ():
            stored[session]["told"].append(("user_message_chunk", block))
        stored[session]["told"].append(("agent_message_chunk", {"type": "text", "text": "hello"}))
    while True:
        tell(session, "agent_message_chunk", messageId="n", content={"type": "text", "text": "hello"})
        if fault == "second":
            return tell(session, "state_update", state="idle", stopReason="end_turn")
        if fault != "floods":
            return send(id=request_id, result={"stopReason": "end_turn"})


def is_first(params: Any) -> bool:
    """Whether nobody has asked for version 65535 before."""
    mark = Path("asked")
    if params.get("protocolVersion") != 65535 or mark.exists():
        return False
    mark.touch()
    return True


def mount(server: Any) -> None:
    """Start an MCP server and ask it for its tools."""
    command = [server["command"], *server["args"]]
    servers.append(
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    )
    stdin, stdout = servers[-1].stdin, servers[-1].stdout
    for number, (method, params) in enumerate([("initialize", {"protocolVersion": "1"}), ("tools/list", {})]):
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        print(json.dumps(request), file=stdin, flush=True)
        stdout.readline() if stdout else None


def kill_servers() -> None:
    while servers:
        with servers.pop() as server:
            server.kill()


def replay(session: Any) -> None:
    for kind, content in stored[session]["told"]:
        tell(session, kind, content=content)


def keep_sessions(method: str, request_id: Any, params: Any) -> bool:
    """Serve what is about stored sessions; False for every other method."""
    session = params.get("sessionId")
    if method == "session/new":
        made = f"session-{len(stored)}"
        sessions.add(made)
        stored[made] = {"told": [], "cwd": params.get("cwd")}
        send(id=request_id, result={"sessionId": made})
    elif method in ("session/load", "session/resume"):
        if session not in stored and fault != "forgives":
            refuse(request_id, -32002)
            return True
        stored.setdefault(session, {"told": [], "cwd": params.get("cwd")})
        sessions.add(session)
        is_late = fault == "replays late"
        if (method == "session/load" and not is_late) or fault == "resumes with history":
            replay(session)
        send(id=request_id, result={})
        if method == "session/load" and is_late:
            replay(session)
    elif method == "session/list":
        listed = [{"sessionId": name, "cwd": kept["cwd"]} for name, kept in stored.items()]
        cwd = params.get("cwd")
        send(id=request_id, result={"sessions": [one for one in listed if cwd in (None, one["cwd"])]})
    elif method in ("session/close", "session/delete"):
        sessions.discard(session)
        if method == "session/delete":
            stored.pop(session, None)
        send(id=request_id, result={})
    else:
        return False
    return True


KEEPS = ("remembers", "replays late", "resumes with history", "forgives")


def initialize(request_id: Any, params: Any) -> None:
    info = {"name": "raw", "version": "1"}
    if fault == "strict" and not isinstance(params.get("clientCapabilities", {}).get("fs", {}), dict):
        return refuse(request_id, -32602)
    if fault != "second":
        can: Any = {"sessionCapabilities": {"close": {}}} if fault == "kills" else {}
        if fault in ("greets", "boasts", *KEEPS):
            can = json.loads(json.dumps(ADVERTISED))
            if fault in KEEPS:
                del can["sessionCapabilities"]["additionalDirectories"]
        version = params.get("protocolVersion") if fault.startswith("unsteady") and is_first(params) else 1
        if fault == "unsteady and silent" and version == 1 and params.get("protocolVersion") == 65535:
            return None
        return send(
            id=request_id, result={"protocolVersion": version, "agentCapabilities": can, "agentInfo": info}
        )
    if params.get("protocolVersion") == 1:
        return refuse(request_id, -32022)
    return send(id=request_id, result={"protocolVersion": 2, "capabilities": {"session": {}}, "info": info})


def answer(message: dict[str, Any]) -> None:
    method, request_id, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method == "session/cancel":
        while open_turns:
            send(id=open_turns.pop(), result={"stopReason": "cancelled"})
    if "id" not in message or not isinstance(method, str):
        return None
    if method == "initialize":
        return initialize(request_id, params)
    if fault == "greets":
        return refuse(request_id, -32601)
    if fault in KEEPS and keep_sessions(method, request_id, params):
        return None
    if fault == "boasts" and params.get("additionalDirectories"):
        return refuse(request_id, -32602)
    if fault == "kills" and method == "session/new":
        for server in params["mcpServers"]:
            mount(server) if "command" in server else None
    if fault == "kills" and method == "session/close":
        kill_servers()
        sessions.discard(params.get("sessionId"))
        return send(id=request_id, result={})
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
        if fault != "forgives":
            refuse(None, -32700)
        continue
    if fault != "mute" and isinstance(frame, dict):
        answer(frame)
while fault == "stubborn":
    time.sleep(60)
