"""A proxy with rules: it puts them before every prompt, and keeps the agent's thoughts to itself.

Give an editor `python3 examples/rules_proxy.py some-agent --acp` in place of `some-agent --acp`.
"""

import sys

from msgspec.structs import replace

from dragoman import Proxy, serve
from dragoman.schema.v1 import AgentThoughtChunk, PromptRequest, SessionNotification, TextContent

proxy = Proxy(sys.argv[1:] or [sys.executable, "examples/echo_agent.py"])


@proxy.on("session/prompt")
def add_rules(request: PromptRequest) -> PromptRequest:
    rules = TextContent(text="Never touch main. ")
    return replace(request, prompt=[rules, *request.prompt])


@proxy.on("session/update")
def hide_thoughts(note: SessionNotification) -> SessionNotification | None:
    return None if isinstance(note.update, AgentThoughtChunk) else note


if __name__ == "__main__":
    serve(proxy)
