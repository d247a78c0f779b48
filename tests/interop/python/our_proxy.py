"""Stands before the agent whose command is given, looks at prompts and hides thoughts."""

from __future__ import annotations

import sys

from dragoman import Proxy, serve
from dragoman.schema.v1 import AgentThoughtChunk, PromptRequest, SessionNotification

proxy = Proxy(sys.argv[1:])


@proxy.on("session/prompt")
def look(request: PromptRequest) -> PromptRequest:
    assert request.prompt
    return request


@proxy.on("session/update")
def hide_thoughts(note: SessionNotification) -> SessionNotification | None:
    return None if isinstance(note.update, AgentThoughtChunk) else note


if __name__ == "__main__":
    serve(proxy)
