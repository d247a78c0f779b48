"""A message into a running turn through the hub: passed on, journalled, and replayed as the user's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from dragoman import Agent, Turn
from tests.hub.sessions.stage import Talker, staged, text

IDLE = {"steering": {"idleBehavior": "promptRequired"}}


def steerable(gate: asyncio.Event) -> Callable[[], Agent]:
    """An agent whose turns last until the gate is open, and then say what they were told."""

    def make() -> Agent:
        agent = Agent("steerable", steering=True)

        @agent.prompt
        async def reply(turn: Turn) -> None:
            await turn.say("begun")
            while not gate.is_set():
                await asyncio.sleep(0)
                for message in turn.take_steering():
                    await turn.say(f"also: {message.text}")

        return agent

    return make


async def steer(talker: Talker, session: str, words: str) -> str:
    params = {"sessionId": session, "prompt": text(words), "_meta": IDLE}
    return str((await talker.call("_session/steering", params))["outcome"])


async def test_a_message_into_a_running_turn_is_replayed_as_the_users() -> None:
    gate = asyncio.Event()
    async with staged({"one": steerable(gate)}) as stage:
        ann = await stage.client().begin()
        session = await ann.new()
        prompt = ann.prompt(session, "go")
        await ann.until(lambda message: "begun" in str(message))
        assert await steer(ann, session, "left") == "injected"
        gate.set()
        assert (await ann.answer(prompt))["result"]["stopReason"] == "end_turn"
        bob = await stage.client().begin()
        await bob.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        assert bob.texts("user_message_chunk") == ["go", "left"]
        assert bob.texts() == ["begun", "also: left"]


async def test_a_message_that_no_turn_takes_is_not_in_the_stream() -> None:
    gate = asyncio.Event()
    gate.set()
    async with staged({"one": steerable(gate)}) as stage:
        ann = await stage.client().begin()
        session = await ann.new()
        assert await steer(ann, session, "left") == "promptRequired"
        assert (await ann.answer(ann.prompt(session, "left")))["result"]["stopReason"] == "end_turn"
        bob = await stage.client().begin()
        await bob.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        assert bob.texts("user_message_chunk") == ["left"]
        error = await ann.refusal("_session/steering", {"sessionId": session})
        assert error["code"] == -32602
