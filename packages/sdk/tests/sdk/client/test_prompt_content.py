"""A turn at the client: only what the agent takes is sent."""

from __future__ import annotations

import pytest

from dragoman import Agent, Turn, connect
from dragoman.errors import NotAdvertised
from dragoman.schema.v1 import (
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextResourceContents,
)
from tests.sdk.ends import raw_agent

RICHER: dict[str, ContentBlock] = {
    "image": ImageContent(data="aGk=", mime_type="image/png"),
    "audio": AudioContent(data="aGk=", mime_type="audio/wav"),
    "embeddedContext": EmbeddedResource(resource=TextResourceContents(uri="file:///x", text="x")),
}


@pytest.mark.parametrize("kind", RICHER)
async def test_content_that_the_agent_does_not_take_is_not_sent(kind: str) -> None:
    async with raw_agent() as (handle, agent):
        session = await handle.new_session(cwd="/tmp")
        with pytest.raises(NotAdvertised) as refused:
            session.prompt("look at this", RICHER[kind])
        assert refused.value.capability == f"promptCapabilities.{kind}"
    assert "session/prompt" not in [frame["method"] for frame in agent.seen]


async def test_content_that_the_agent_takes_is_sent() -> None:
    taker = Agent("a", image=True, audio=True, embedded_context=True)

    @taker.prompt
    async def count(turn: Turn) -> None:
        await turn.say(str(len(turn.prompt)))

    async with connect(taker) as handle:
        session = await handle.new_session(cwd="/tmp")
        link = ResourceLink(name="x", uri="file:///x")  # which everybody takes
        assert (await session.prompt("look", *RICHER.values(), link)).text == "5"
