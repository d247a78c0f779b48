"""An agent of the thread protocol as its document has the directions: it asks for threads and posts messages.

`first` as an argument makes it ask for threads before anybody has said anything. Lines of JSON, nothing else.
"""

from __future__ import annotations

import json
import sys
from typing import Any

asked = 100


def send(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)


def ask(method: str, params: Any) -> None:
    global asked
    asked += 1
    send(id=asked, method=method, params=params)


if "first" in sys.argv:
    ask("getThreads", None)
for line in sys.stdin:
    frame = json.loads(line)
    method = frame.get("method")
    if method == "streamMessageChunk":
        thread = frame["params"]["threadId"]
        send(id=frame["id"], result=None)
        said = [{"type": "text", "chunk": "You said: " + frame["params"]["chunk"]["chunk"]}]
        ask("sendMessage", {"threadId": thread, "message": {"role": "assistant", "chunks": said}})
    elif method is not None:
        send(id=frame["id"], error={"code": -32601, "message": f"Method not found - '{method}'"})
