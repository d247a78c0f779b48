"""An agent that asks for many files at once, without an SDK. A prompt's text orders it:

    {"do": "reads", "path": "/project/file", "count": 600, "take": false}

It writes all requests before it reads anything. With `take` it then takes the answers and ends its turn; else
it never reads again, and its turn stays open. With `"do": "writes"` it writes the file, `size` bytes each.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any


def say(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def hear() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    heard: dict[str, Any] = json.loads(line)
    return heard


def obey(session: str, order: dict[str, Any]) -> None:
    writes = order["do"] == "writes"
    params: dict[str, Any] = {"sessionId": session, "path": order["path"]}
    if writes:
        params["content"] = "x" * order["size"]
    for number in range(order["count"]):
        say(id=f"r{number}", method="fs/write_text_file" if writes else "fs/read_text_file", params=params)
    if not order["take"]:
        threading.Event().wait()
    left = {f"r{number}" for number in range(order["count"])}
    while left:
        answer = hear()
        if answer.get("id") in left:
            left.discard(answer["id"])
            if "error" in answer:
                raise RuntimeError(answer["error"])


while True:
    request = hear()
    match request.get("method"):
        case "initialize":
            say(id=request["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
        case "session/new":
            say(id=request["id"], result={"sessionId": f"greedy-{request['id']}"})
        case "session/prompt":
            params = request["params"]
            obey(params["sessionId"], json.loads(params["prompt"][0]["text"]))
            say(id=request["id"], result={"stopReason": "end_turn"})
