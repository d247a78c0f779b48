"""The `dragoman` command: run, chat, agents, and servers for MCP and the OpenAI API."""
