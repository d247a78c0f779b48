"""A message into a running turn: three kinds of agents, three outcomes, and no text lost or doubled."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, get_args

import pytest

from dragoman import Agent, Session, Turn, connect
from dragoman.errors import CallFailed, LocalMistake
from dragoman.schema.steering import SteerOutcome
from dragoman.transport.memory import memory_pair
from tests.runtime.clock import virtually
from tests.runtime.raw import RawEnd, until
from tests.steerable_agent import Kind, SteerableAgent

KINDS = get_args(Kind)


class SteerableEnd(RawEnd):
    """An agent of some kind behind a pair of transports in memory."""

    def __init__(self, transport: Any, kind: Kind, seed: int | None = None) -> None:
        numbers = random.Random(seed)

        async def pause() -> None:
            for _ in range(0 if seed is None else numbers.randrange(6)):
                await asyncio.sleep(0)

        self.agent = SteerableAgent(kind, self.send, pause)
        super().__init__(transport)

    def feed(self, block: bytes) -> None:
        super().feed(block)
        for line in block.splitlines():
            self.agent.receive(json.loads(line))


@asynccontextmanager
async def steerable(kind: Kind, seed: int | None = None) -> AsyncIterator[tuple[Session, SteerableAgent]]:
    ours, theirs = memory_pair()
    end = SteerableEnd(theirs, kind, seed)
    try:
        async with connect(ours) as handle:
            yield await handle.new_session(cwd="/tmp"), end.agent
    finally:
        await end.aclose()


async def steered(kind: Kind, **options: Any) -> tuple[SteerOutcome, str, SteerableAgent]:
    """The outcome of a message into a turn that waits for one, and all that was said in that turn."""
    async with steerable(kind) as (session, agent):
        turn = session.prompt("hold on")
        reading = asyncio.ensure_future(turn)
        await until(lambda: agent.prompts)
        outcome = await session.steer("turn left", **options)
        return outcome, (await reading).text, agent


async def test_an_agent_with_steering_takes_the_message_into_the_turn() -> None:
    outcome, text, agent = await steered("steering")
    assert (outcome, text, agent.prompts) == ("delivered", "hold on | turn left", ["hold on"])


async def test_an_agent_with_inject_takes_the_message_into_the_turn() -> None:
    outcome, text, agent = await steered("inject")
    assert (outcome, text, agent.prompts) == ("delivered", "hold on | turn left", ["hold on"])


async def test_a_turn_of_any_other_agent_begins_again_with_what_was_said() -> None:
    outcome, _, agent = await steered_to_restart()
    assert outcome == "will_restart"
    assert agent.prompts == ["wait", "wait\n\nturn left"]


async def steered_to_restart() -> tuple[SteerOutcome, str, SteerableAgent]:
    async with steerable("restart") as (session, agent):
        gate = asyncio.Event()
        agent._pause = gate.wait  # type: ignore[assignment]  # it lasts until the agent is cancelled
        turn = session.prompt("wait")
        reading = asyncio.ensure_future(turn)
        await until(lambda: agent.prompts)
        steering = asyncio.ensure_future(session.steer("turn left"))
        await until(lambda: agent._is_cancelled)
        gate.set()
        return await steering, (await reading).text, agent


async def test_a_message_that_comes_when_the_turn_has_ended_is_said_to_follow_it() -> None:
    async with steerable("restart") as (session, agent):
        gate = asyncio.Event()
        agent._pause = gate.wait  # type: ignore[assignment]
        agent.ignores_cancel = True
        reading = asyncio.ensure_future(session.prompt("one"))
        await until(lambda: agent.prompts)
        steering = asyncio.ensure_future(session.steer("two"))
        await until(lambda: session.cancelling)
        gate.set()  # it had come to its end before the cancel
        assert await steering == "queued"
        assert (await reading).text == "onetwo"
        assert agent.prompts == ["one", "two"]


async def test_a_message_for_a_turn_that_fails_was_not_sent() -> None:
    async with steerable("restart") as (session, agent):
        gate = asyncio.Event()
        agent._pause = gate.wait  # type: ignore[assignment]
        agent.fails = True
        turn = session.prompt("one")
        reading = asyncio.ensure_future(turn)
        await until(lambda: agent.prompts)
        steering = asyncio.ensure_future(session.steer("two"))
        await until(lambda: session.cancelling)
        gate.set()
        with pytest.raises(CallFailed, match="out of quota"):
            await steering
        with pytest.raises(CallFailed, match="out of quota"):
            await reading
        assert [block.text for (block,) in turn.unsent] == ["two"]  # type: ignore[union-attr]


async def test_a_message_can_wait_for_the_end_of_the_turn() -> None:
    async with steerable("restart") as (session, agent):
        gate = asyncio.Event()
        agent._pause = gate.wait  # type: ignore[assignment]
        reading = asyncio.ensure_future(session.prompt("one"))
        await until(lambda: agent.prompts)
        assert await session.steer("two", otherwise="queue") == "queued"
        assert await session.steer("three", otherwise="queue") == "queued"
        gate.set()
        assert (await reading).text == "onetwothree"
        assert agent.prompts == ["one", "two", "three"]


async def test_messages_that_wait_are_not_sent_after_a_cancel() -> None:
    async with steerable("restart") as (session, agent):
        turn = session.prompt("hold on")
        reading = asyncio.ensure_future(turn)
        await until(lambda: agent.prompts)
        await session.steer("later", otherwise="queue")
        await session.cancel()
        assert (await reading).stop_reason == "cancelled"
        assert agent.prompts == ["hold on"]
        assert [block.text for (block,) in turn.unsent] == ["later"]  # type: ignore[union-attr]


async def test_nothing_is_steered_where_no_turn_runs() -> None:
    async with steerable("steering") as (session, agent):
        with pytest.raises(LocalMistake, match="no turn is running"):
            await session.steer("hello")
        turn = session.prompt("go")
        await turn
        with pytest.raises(LocalMistake, match="no turn is running"):
            await turn.steer("hello")
        assert agent.heard == ["go"]


async def race(session: Session, agent: SteerableAgent, number: int, numbers: random.Random) -> set[str]:
    """One turn, steered at any time; the outcomes. Raises if a text was lost or doubled."""
    agent.heard.clear()
    turn = session.prompt("go")
    reading = asyncio.ensure_future(turn)
    sent: dict[str, str] = {}
    for text in [f"<{number}.{place}>" for place in range(numbers.randrange(1, 4))]:
        for _ in range(numbers.randrange(12)):
            await asyncio.sleep(0)
        try:
            sent[text] = await turn.steer(text)
        except LocalMistake:
            pass  # before the prompt was sent, or after the end of the turn: nobody believes that it was sent
    await reading
    for text in sent:
        with_text = [heard for heard in agent.heard if text in heard]
        assert with_text, f"{text} is lost: {agent.heard}"
        # A turn that begins again says its prompt again, and what was said since.
        assert agent.kind == "restart" or len(with_text) == 1, f"{text} is doubled: {agent.heard}"
        assert not [heard for heard in agent.heard if heard.count(text) > 1], agent.heard
    return set(sent.values())


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_is_lost_or_doubled_in_a_race_with_the_end_of_the_turn(kind: Kind) -> None:
    async def races() -> set[str]:
        numbers, outcomes = random.Random(kind), set[str]()
        async with steerable(kind, 1) as (session, agent):
            for number in range(334):
                outcomes |= await race(session, agent, number, numbers)
        return outcomes

    assert virtually(races()) == (
        {"will_restart", "queued"} if kind == "restart" else {"delivered", "queued"}
    )


async def test_an_agent_of_ours_says_that_it_can_be_steered_only_if_it_can() -> None:
    for agent, way in ((Agent("plain"), "restart"), (Agent("open", steering=True), "steering")):
        async with connect(agent) as handle:
            assert handle.steering_way == way


async def test_a_handler_for_steering_gets_each_message() -> None:
    agent, messages = Agent("listening"), asyncio.Queue[str]()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(f"{turn.text}, {await messages.get()}")

    @agent.steer
    async def hear(message: Any) -> bool:
        messages.put_nowait(message.text)
        return "no" not in message.text

    async with connect(agent) as handle:
        session = await handle.new_session(cwd="/tmp")
        turn = session.prompt("go")
        reading = asyncio.ensure_future(turn)
        await until(lambda: turn.is_open)
        assert await session.steer("left") == "delivered"
        assert (await reading).text == "go, left"


async def test_what_a_turn_of_ours_does_not_take_follows_it_as_a_prompt() -> None:
    agent, gate = Agent("deaf", steering=True), asyncio.Event()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(f"<{turn.text}>")
        await gate.wait()

    async with connect(agent) as handle:
        session = await handle.new_session(cwd="/tmp")
        reading = asyncio.ensure_future(session.prompt("one"))
        await until(lambda: session.turn is not None and session.turn.is_open)
        steering = asyncio.ensure_future(session.steer("two"))
        await asyncio.sleep(0)
        gate.set()
        assert (await reading).text == "<one><two>"
        assert await steering == "queued"
