"""An agent of v1 that needs a key: in its environment, or typed to its login command. Lines of JSON, nothing
of ours.

    python login_agent.py FILE            the agent; FILE is where its login command keeps the key
    python login_agent.py FILE login      the login command, which reads the key from its standard input
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

KEY = "owl-secret"
KEPT = Path(sys.argv[1])
METHODS = [
    {"id": "variable", "name": "A variable", "type": "env_var", "vars": [{"name": "OWL_API_KEY"}]},
    {"id": "terminal", "name": "A terminal", "type": "terminal", "args": ["login"]},
]


def send(**fields: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **fields}), flush=True)


def is_logged_in() -> bool:
    return KEY in (os.environ.get("OWL_API_KEY"), KEPT.read_text() if KEPT.exists() else None)


def answer(method: str, params: Any) -> Any:
    if method == "initialize":
        info = {"name": "owl", "version": "1"}
        return {
            "result": {
                "protocolVersion": 1,
                "agentCapabilities": {},
                "agentInfo": info,
                "authMethods": METHODS,
            }
        }
    if method == "session/new" and is_logged_in():
        return {"result": {"sessionId": f"of-{os.getpid()}"}}
    if method == "session/new":
        return {"error": {"code": -32000, "message": "Authentication required"}}
    return {"error": {"code": -32601, "message": f"Method not found: {sorted(params)}"}}


if sys.argv[2:] == ["login"]:
    typed = sys.stdin.readline().rstrip("\n")
    print("you typed", typed)  # careless, as real ones are
    if typed != KEY:
        sys.exit(3)
    KEPT.write_text(typed)
    sys.exit(0)

for line in sys.stdin:
    frame = json.loads(line)
    if "id" in frame and "method" in frame:
        send(id=frame["id"], **answer(frame["method"], frame.get("params") or {}))
