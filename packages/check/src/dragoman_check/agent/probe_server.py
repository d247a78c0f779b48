"""A minimal MCP server on standard streams: one harmless tool, and a log of all requests.

python probe_server.py LOG
"""

import json
import sys
from pathlib import Path
from typing import Any

log = Path(sys.argv[1])


def note(word: str) -> None:
    with log.open("a") as file:
        file.write(word + "\n")


TOOL = {"name": "look", "description": "Looks.", "inputSchema": {"type": "object", "properties": {}}}
SEEN = [{"type": "text", "text": "nothing to see"}]


def result(method: str, params: Any) -> Any:
    if method == "initialize":
        info = {"name": "probe", "version": "1"}
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": info,
        }
    return {"tools/list": {"tools": [TOOL]}, "tools/call": {"content": SEEN}, "ping": {}}.get(method)


note("started")
for line in sys.stdin:
    request = json.loads(line)
    note(request.get("method", "?"))
    if "id" in request and "method" in request:
        body_result = result(request["method"], request.get("params"))
        error = {"code": -32601, "message": "Method not found"}
        body = {"error": error} if body_result is None else {"result": body_result}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **body}) + "\n")
        sys.stdout.flush()
note("ended")
