"""An agent as a program of its own that says much at once: `SIZE COUNT` are so many updates of so many bytes,
each with its number. It makes a file `said` in the session's folder when its pipe has taken all of them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

folders: dict[str, str] = {}


def say(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def flood(session: str, size: int, count: int) -> None:
    for number in range(count):
        content = {"type": "text", "text": f"{number} ".ljust(size, "x")}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        say(method="session/update", params={"sessionId": session, "update": update})
    sys.stdout.flush()
    Path(folders[session], "said").touch()


for line in sys.stdin:
    request = json.loads(line)
    params = request.get("params", {})
    match request.get("method"):
        case "initialize":
            say(id=request["id"], result={"protocolVersion": 1})
        case "session/new":
            folders[f"flood-{request['id']}"] = params["cwd"]
            say(id=request["id"], result={"sessionId": f"flood-{request['id']}"})
        case "session/prompt":
            flood(params["sessionId"], *map(int, params["prompt"][0]["text"].split()))
            say(id=request["id"], result={"stopReason": "end_turn"})
    sys.stdout.flush()
