"""A small MCP server written by hand, which starts at once: it speaks the stdio form and nothing else.

python plain_mcp_server.py NAME
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

NAME = sys.argv[1]
ADD = {"type": "object", "properties": {"left": {"type": "integer"}, "right": {"type": "integer"}}}
TOOLS = {
    "add": ADD,
    "whoami": {"type": "object"},
    "start_child": {"type": "object"},
    "hang": {"type": "object"},
}


def answered(method: str, params: dict[str, Any]) -> Any:
    if method == "initialize":
        version = params["protocolVersion"]
        return {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": NAME, "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": schema} for name, schema in TOOLS.items()]}
    if method == "tools/call":
        text = run(params["name"], params.get("arguments", {}))
        return {"content": [{"type": "text", "text": text}], "isError": False}
    return None


def run(tool: str, arguments: dict[str, Any]) -> str:
    if tool == "add":
        return str(arguments["left"] + arguments["right"])
    if tool == "start_child":
        return str(subprocess.Popen(["sleep", "600"]).pid)
    return f"{NAME} {os.getpid()} {os.environ.get('GIVEN', '')} {os.getcwd()}"


for line in sys.stdin:
    message = json.loads(line)
    if message.get("params", {}).get("name") == "hang":
        open(os.environ["GIVEN"], "w").close()  # it was asked for, and is never answered
    elif "id" in message:
        result = answered(message["method"], message.get("params", {}))
        answer = {"result": result} if result else {"error": {"code": -32601, "message": "Method not found"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
