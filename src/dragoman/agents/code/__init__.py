"""The agent `code`: a coding agent that works with the model of whoever runs it.

`config` says which model and how it is reached; `agent` declares the agent and `turns` runs its prompts;
`loop` is the conversation with the model; `models` is the edge to pydantic-ai, and everything that imports it
does so only after `initialize` was answered; `tools` is what the model can do.
"""
