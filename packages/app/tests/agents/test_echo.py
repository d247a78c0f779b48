"""The echo agent over memory: what it says about what it was told."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import CallFailed
from dragoman.schema.v1 import (
    AgentMessageChunk,
    AudioContent,
    AvailableCommandsUpdate,
    BlobResourceContents,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from dragoman.testing import ScriptedClient, Transcript, talking_to
from dragoman.testing.plugin import GoldenFixture
from dragoman_app.agents.echo import echo_agent

GOLDEN = Path(__file__).parents[4] / "tests/golden/echo"


async def test_text_comes_back_in_several_pieces() -> None:
    async with talking_to(echo_agent()) as handle:
        session = await handle.new_session(cwd="/tmp")
        pieces = [
            update.content.text
            async for update in session.prompt("Hello, world")
            if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent)
        ]
    assert len(pieces) > 2
    assert "".join(pieces) == "You said: Hello, world"


async def test_text_comes_back_code_point_for_code_point() -> None:
    odd = '👩‍👩‍👧 \u202eRTL\u202c e\u0301 \U0001d11e \u2028\u2029\u0085\x0b\x0c \\ " \x7f \ufeff'
    async with talking_to(echo_agent()) as handle:
        session = await handle.new_session(cwd="/tmp")
        assert (await session.prompt(odd)).text == f"You said: {odd}"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
async def test_any_text_survives(texts: list[str]) -> None:
    async with talking_to(echo_agent()) as handle:
        session = await handle.new_session(cwd="/tmp")
        result = await session.prompt("x", *texts)  # the x keeps it from being a slash command
    assert result.text == f"You said: x{''.join(texts)}"


async def test_what_is_no_text_is_described() -> None:
    async with talking_to(echo_agent()) as handle:
        session = await handle.new_session(cwd="/tmp")
        result = await session.prompt(
            "Look",
            ImageContent(data="aGk=", mime_type="image/png"),
            AudioContent(data="aGkh", mime_type="audio/wav"),
            ResourceLink(name="notes", uri="file:///notes"),
            EmbeddedResource(resource=TextResourceContents(text="abc", uri="file:///abc")),
            EmbeddedResource(resource=BlobResourceContents(blob="aGk=", uri="file:///blob")),
        )
    assert result.text.splitlines() == [
        "You said: Look",
        "[image image/png, 4 characters of base64]",
        "[audio audio/wav, 4 characters of base64]",
        "[link notes: file:///notes]",
        "[resource file:///abc, 3 characters]",
        "[resource file:///blob, 4 characters of base64]",
    ]


@pytest.mark.parametrize("text", ["/nonsense", "/", "/ stream 3", "say /plan", "/Plan", ""])
async def test_what_is_no_command_is_echoed(text: str) -> None:
    async with talking_to(echo_agent()) as handle:
        session = await handle.new_session(cwd="/tmp")
        assert (await session.prompt(text)).text == f"You said: {text}"


async def test_commands_are_announced_after_the_session_was_answered() -> None:
    transcript: Transcript = []
    async with talking_to(echo_agent(), transcript=transcript) as handle:
        session = await handle.new_session(cwd="/tmp")
        await session.prompt("Hello")
    kinds = ["commands" if b"available_commands_update" in frame else "" for _, frame in transcript]
    created = next(at for at, (_, frame) in enumerate(transcript) if b'"modes"' in frame)
    assert kinds.index("commands") == created + 1
    announced = [update for update in session.late if isinstance(update, AvailableCommandsUpdate)]
    assert {command.name for command in announced[0].available_commands} == {
        *("stream", "wait", "ask", "plan", "think", "read", "write", "run"),
        *("child", "fail", "stop", "usage", "notice", "mode"),
    }


async def test_sessions_have_ids_that_cannot_be_guessed() -> None:
    async with talking_to(echo_agent()) as handle:
        ids = {(await handle.new_session(cwd="/tmp")).id for _ in range(20)}
    assert len(ids) == 20
    assert len({one[:8] for one in ids}) == 20


async def test_two_sessions_do_not_mix() -> None:
    async with talking_to(echo_agent()) as handle:
        one, two = [await handle.new_session(cwd="/tmp") for _ in range(2)]
        results = await asyncio.gather(one.prompt("/stream 200"), two.prompt("/stream 300"))
    assert [len(result.text.split()) for result in results] == [200, 300]


async def test_a_mode_can_be_set_from_both_sides_and_is_kept_by_session() -> None:
    async with talking_to(echo_agent()) as handle:
        one, two = [await handle.new_session(cwd="/tmp") for _ in range(2)]
        assert one.modes is not None
        assert one.modes.current_mode_id == "plain"
        await one.set_mode("bench")
        assert (await one.prompt("/mode")).text == "The mode is bench."
        assert (await two.prompt("/mode")).text == "The mode is plain."
        assert (await two.prompt("/mode bench")).text == "The mode is bench."
        with pytest.raises(CallFailed, match="-32602"):
            await one.set_mode("nonsense")


async def test_a_closed_session_is_forgotten() -> None:
    async with talking_to(echo_agent()) as handle:
        session = await handle.new_session(cwd="/tmp")
        await session.set_mode("bench")
        await session.close()
        prompt = {"sessionId": session.id, "prompt": [{"type": "text", "text": "Hello"}]}
        with pytest.raises(CallFailed, match="-32002"):
            await handle.call("session/prompt", prompt)


async def test_a_conversation_looks_as_it_did(golden: GoldenFixture) -> None:
    story = """
    client
      initialize
      new
      expect update available_commands_update
      prompt "Hello, world"
      expect turn "You said: Hello, world"
      prompt "/plan"
      await turn "The plan is done."
      prompt "/think about it"
      expect update agent_thought_chunk "about it"
      expect turn
      prompt "/usage 100"
      expect update usage_update
      expect turn
      prompt "/stop refusal"
      expect stop refusal
      prompt "/fail"
      expect error -32603 "Internal error"
    """
    golden(await ScriptedClient(story).talk_to(echo_agent()), str(GOLDEN / "conversation"))
