import pytest

from dragoman import Agent, Client, Limits, Turn
from dragoman.errors import HandshakeTimeout
from dragoman.testing import ScriptedAgent, Transcript, talking_to


async def test_an_agent_is_connected_initialized_and_left() -> None:
    agent = Agent("counter", version="1.2")

    @agent.prompt
    async def count(turn: Turn) -> None:
        for n in range(100):
            await turn.say(f"{n} ")

    async with talking_to(agent) as handle:
        assert handle.info is not None
        assert (handle.info.name, handle.info.version) == ("counter", "1.2")
        session = await handle.new_session(cwd="/tmp")
        assert (await session.prompt("go")).text == "".join(f"{n} " for n in range(100))
    assert handle.link.close_reason is not None


async def test_a_scripted_agent_is_talked_to_in_the_same_way() -> None:
    async with talking_to(ScriptedAgent('agent s\non prompt\n  say "Hi $text"')) as handle:
        session = await handle.new_session(cwd="/tmp")
        assert (await session.prompt("you")).text == "Hi you"


async def test_client_limits_and_transcript_are_handed_on() -> None:
    transcript: Transcript = []
    with pytest.raises(HandshakeTimeout):
        async with talking_to(
            ScriptedAgent("on initialize\n  unanswered"),
            client=Client("somebody"),
            limits=Limits(handshake_seconds=0.05),
            transcript=transcript,
        ):
            pass
    assert b'"name":"somebody"' in transcript[0].frame
