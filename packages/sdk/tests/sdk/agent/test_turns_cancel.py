"""A cancelled turn at the agent: answered as cancelled, whatever its handler does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dragoman import Limits, Turn
from dragoman.errors import ErrorAnswer, TurnOver
from dragoman.schema.v1 import PromptResponse
from tests.runtime.clock import virtually
from tests.runtime.raw import cancel_request, notification
from tests.sdk.agent.turn_agents import Body, agent_of, stop_reason
from tests.sdk.ends import cancel, prompt, raw_client

# What a handler may do when it is cancelled.


async def propagates(turn: Turn) -> None:
    await asyncio.Event().wait()


async def swallows(turn: Turn) -> None:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        pass


async def returns_another_reason(turn: Turn) -> Any:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        return "end_turn"


async def returns_a_whole_response(turn: Turn) -> Any:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        return PromptResponse(stop_reason="max_tokens")


async def raises(turn: Turn) -> None:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        raise RuntimeError("the HTTP client calls it so") from None


async def raises_an_answer(turn: Turn) -> None:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        raise ErrorAnswer(-32000, "no") from None


async def cleans_up(turn: Turn) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(1)
        await turn.say("bye")


async def ignores(turn: Turn) -> None:
    until = asyncio.get_running_loop().time() + 60
    while (left := until - asyncio.get_running_loop().time()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue


STUBBORN = [
    propagates,
    swallows,
    returns_another_reason,
    returns_a_whole_response,
    raises,
    raises_an_answer,
    cleans_up,
    ignores,
]


@pytest.mark.parametrize("by", ["session/cancel", "$/cancel_request"])
@pytest.mark.parametrize("when", ["in the same block", "before the loop turns", "while it waits"])
@pytest.mark.parametrize("body", STUBBORN, ids=lambda body: body.__name__)
def test_a_cancelled_turn_is_answered_cancelled_whatever_its_handler_does(
    body: Body, when: str, by: str
) -> None:
    async def play() -> None:
        async with raw_client(agent_of(body)) as client:
            session = await client.open()
            stop = cancel(session) if by == "session/cancel" else cancel_request(1)
            if when == "in the same block":
                client.send(prompt(1, session), stop)
            else:
                client.prompt(1, session)
                if when == "while it waits":
                    await asyncio.sleep(0.1)
                client.send(stop)
            start = asyncio.get_running_loop().time()
            assert await stop_reason(client, 1) == "cancelled"
            assert asyncio.get_running_loop().time() - start <= Limits().cancel_seconds + 0.1
            await asyncio.sleep(100)
            assert [frame["id"] for frame in client.answers()] == ["i", "n", 1]  # once, and nothing else

    virtually(play())


def test_a_handler_that_was_left_behind_can_say_and_ask_nothing_more() -> None:
    async def play() -> None:
        refused: list[str] = []

        async def body(turn: Turn) -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await asyncio.sleep(10)
            for attempt in (
                turn.say("too late"),
                turn.think("too late"),
                turn.plan(["too late"]),
                turn.tool("too late").announce(),
                turn.write_text_file("/tmp/late", "too late"),
                turn.read_text_file("/tmp/late"),
                turn.create_terminal("rm"),
                turn.tool("too late").ask(),
            ):
                try:
                    await attempt
                except TurnOver:
                    refused.append("refused")

        async with raw_client(agent_of(body)) as client:
            everything = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
            session = await client.open(everything)
            client.send(prompt(1, session), cancel(session))
            assert await stop_reason(client, 1) == "cancelled"
            count = len(client.seen)
            await asyncio.sleep(100)
            assert len(client.seen) == count
            assert len(refused) == 8

    virtually(play())


async def test_a_cancel_is_seen_by_code_that_polls() -> None:
    seen: list[bool] = []

    async def body(turn: Turn) -> None:
        seen.append(turn.cancelled)
        try:
            await asyncio.Event().wait()
        finally:
            seen.append(turn.cancelled)

    async with raw_client(agent_of(body)) as client:
        session = await client.open()
        client.prompt(1, session)
        client.send(cancel(session))
        await client.answer_to(1)
    assert seen == [False, True]


async def test_a_cancel_is_heard_while_the_handler_only_speaks() -> None:
    async def body(turn: Turn) -> None:
        while True:
            await turn.say("on and on")

    async with raw_client(agent_of(body)) as client:
        session = await client.open()
        client.prompt(1, session)
        await client.asks("session/update")
        client.send(cancel(session))
        assert await stop_reason(client, 1) == "cancelled"


async def test_a_cancel_without_a_turn_or_a_session_is_nothing() -> None:
    async def body(turn: Turn) -> None:
        await turn.say("fine")

    async with raw_client(agent_of(body)) as client:
        session = await client.open()
        client.send(cancel(session), cancel("nobody"), notification("session/cancel", {"sessionId": 7}))
        client.prompt(1, session)  # asked for after the cancel: not hit by it
        assert await stop_reason(client, 1) == "end_turn"
