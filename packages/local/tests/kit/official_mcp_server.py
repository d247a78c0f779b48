"""A small MCP server for the tests: over its standard streams, or over HTTP on a port that it prints.

python official_mcp_server.py stdio NAME
python official_mcp_server.py http|sse NAME
"""

from __future__ import annotations

import socket
import sys

import uvicorn
from mcp.server.mcpserver import MCPServer

how, name = sys.argv[1:3]
server = MCPServer(name)


@server.tool()
def add(left: int, right: int) -> int:
    """Adds two numbers."""
    return left + right


@server.tool()
def fail() -> str:
    """Fails."""
    raise RuntimeError("it did not work")


if how == "stdio":
    server.run("stdio")
else:
    app = server.streamable_http_app() if how == "http" else server.sse_app()
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listener])
