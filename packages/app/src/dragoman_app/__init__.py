"""The `dragoman` command: run, chat, agents, and the doors for MCP and the OpenAI API."""
