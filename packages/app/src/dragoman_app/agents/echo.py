"""The agent `echo`: repeats the prompt, and shows every feature of an agent with slash commands.

Text comes back code point for code point. Everything else that an agent can do in this protocol hangs on a
slash command (see `echo_commands`), which makes it the bench on which clients and hubs are tested. Sessions
live in memory and end with the connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from uuid import uuid4

from dragoman import Agent, ClientHandle, Turn
from dragoman.errors import LinkClosed
from dragoman.schema.codec import write
from dragoman.schema.v1 import (
    AudioContent,
    BlobResourceContents,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    NewSessionRequest,
    NewSessionResponse,
    ResourceLink,
    SessionNotification,
    SetSessionModeRequest,
    TextResourceContents,
)
from dragoman.version import VERSION
from dragoman_app.agents.echo_commands import (
    AT_FIRST,
    COMMANDS,
    Outcome,
    announcement,
    say_steering,
    switch,
)

PIECES = 4
"""The chunks of an echoed text: more than one, so that its reader must join them."""


def echo_agent() -> Agent:
    """Return a new echo agent."""
    agent = Agent(
        "echo", version=VERSION, title="Echo", image=True, audio=True, embedded_context=True, steering=True
    )

    @agent.new_session
    async def new_session(request: NewSessionRequest, client: ClientHandle) -> NewSessionResponse:
        session_id = str(uuid4())
        note = write(SessionNotification(session_id=session_id, update=announcement()))
        # The answer leaves when this function returns, and it returns without waiting: this comes after it.
        asyncio.get_running_loop().call_soon(_tell, client, note)
        return NewSessionResponse(session_id=session_id, modes=AT_FIRST)

    @agent.set_mode
    async def set_mode(request: SetSessionModeRequest, client: ClientHandle) -> None:
        switch(client.sessions[request.session_id], request.mode_id)

    @agent.prompt
    async def reply(turn: Turn) -> Outcome:
        text = turn.text
        name, _, argument = text[1:].partition(" ")
        if text.startswith("/") and name in COMMANDS:
            outcome = await COMMANDS[name].run(turn, argument.strip())
        else:
            outcome = None
            await echo(turn, text)
        while await say_steering(turn):
            pass
        return outcome

    return agent


async def echo(turn: Turn, text: str) -> None:
    """Return the text in a few pieces, and name every attachment."""
    await turn.say("You said: ")
    size = max(1, -(-len(text) // PIECES))
    for start in range(0, len(text), size):
        await turn.say(text[start : start + size])
    for line in describe(turn.prompt):
        await turn.say(f"\n{line}")


def describe(blocks: Sequence[ContentBlock]) -> Iterator[str]:
    """Describe each block that is not text in one line."""
    for block in blocks:
        match block:
            case ImageContent(data=data, mime_type=kind):
                yield f"[image {kind}, {len(data)} characters of base64]"
            case AudioContent(data=data, mime_type=kind):
                yield f"[audio {kind}, {len(data)} characters of base64]"
            case ResourceLink(name=name, uri=uri):
                yield f"[link {name}: {uri}]"
            case EmbeddedResource(resource=BlobResourceContents(uri=uri, blob=blob)):
                yield f"[resource {uri}, {len(blob)} characters of base64]"
            case EmbeddedResource(resource=TextResourceContents(uri=uri, text=text)):
                yield f"[resource {uri}, {len(text)} characters]"
            case _:
                pass  # text, which was said already


def _tell(client: ClientHandle, note: bytes) -> None:
    try:
        client.link.notify("session/update", note)
    except LinkClosed:
        pass  # the client left before it could hear
