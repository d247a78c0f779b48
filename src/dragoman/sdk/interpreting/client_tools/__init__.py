"""A client's files and terminals as the tools of an MCP server, for agents that do not ask the client.

The agent starts a program that carries bytes to a socket of ours (`pipe`); behind the socket is the server
(`server`), whose tools (`tools`) ask the client. `host` brings both together.
"""

from dragoman.sdk.interpreting.client_tools.host import ClientTools

__all__ = ["ClientTools"]
