"""A client's files and terminals as tools of an MCP server. See `host`."""
