"""Turns at the agent: one at a time in a session, exactly one stop reason each, whatever the handler does."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from dragoman import Turn
from dragoman.errors import ErrorAnswer, TurnOver
from dragoman.schema.v1 import PromptResponse, Usage
from tests.runtime.raw import cancel_request, request
from tests.sdk.agent.turn_agents import agent_of, stop_reason
from tests.sdk.ends import cancel, prompt, raw_client


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (None, "end_turn"),
        ("max_tokens", "max_tokens"),
        ("max_turn_requests", "max_turn_requests"),
        ("refusal", "refusal"),
        ("cancelled", "cancelled"),
        (PromptResponse(stop_reason="refusal"), "refusal"),
    ],
)
async def test_what_the_handler_returns_is_the_stop_reason(outcome: Any, reason: str) -> None:
    async def body(turn: Turn) -> Any:
        return outcome

    async with raw_client(agent_of(body)) as client:
        client.prompt(1, await client.open())
        assert await stop_reason(client, 1) == reason


async def test_a_whole_response_is_sent_as_it_is() -> None:
    usage = Usage(total_tokens=5, input_tokens=3, output_tokens=2)

    async def body(turn: Turn) -> Any:
        return PromptResponse(stop_reason="end_turn", usage=usage, meta={"k": 1})

    async with raw_client(agent_of(body)) as client:
        client.prompt(1, await client.open({"_meta": {"dragoman": {"usage": True}}}))
        answer = (await client.answer_to(1))["result"]
    assert answer["_meta"] == {"k": 1}
    assert answer["usage"]["totalTokens"] == 5


@pytest.mark.parametrize("outcome", ["tired", 7, {"stopReason": "end_turn"}, ["end_turn"]])
async def test_what_is_no_stop_reason_is_an_internal_error(
    outcome: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(turn: Turn) -> Any:
        return outcome

    async with raw_client(agent_of(body)) as client:
        session = await client.open()
        with caplog.at_level(logging.CRITICAL):
            client.prompt(1, session)
            assert (await client.answer_to(1))["error"] == {"code": -32603, "message": "Internal error"}
            client.prompt(2, session)  # and the session is not blocked by it
            await client.answer_to(2)


async def test_a_failing_handler_is_an_internal_error_and_the_next_turn_runs() -> None:
    async def body(turn: Turn) -> Any:
        if turn.text == "fail":
            await turn.say("before")
            raise RuntimeError("secret")
        if turn.text == "refuse":
            raise ErrorAnswer(-32000, "log in first")

    async with raw_client(agent_of(body)) as client:
        session = await client.open()
        client.send(prompt(1, session, "fail"), prompt(2, session, "refuse"), prompt(3, session, "fine"))
        assert (await client.answer_to(1))["error"] == {"code": -32603, "message": "Internal error"}
        assert (await client.answer_to(2))["error"] == {"code": -32000, "message": "log in first"}
        assert await stop_reason(client, 3) == "end_turn"


async def test_prompts_of_one_session_run_one_after_another_in_order() -> None:
    log: list[str] = []

    async def body(turn: Turn) -> None:
        log.append(f"{turn.text} begins")
        await asyncio.sleep(0)
        await turn.say(turn.text)
        log.append(f"{turn.text} ends")

    async with raw_client(agent_of(body)) as client:
        session = await client.open()
        client.send(*(prompt(n, session, str(n)) for n in range(5)))
        assert [await stop_reason(client, n) for n in range(5)] == ["end_turn"] * 5
        assert client.texts(session) == [str(n) for n in range(5)]
    assert log == [f"{n} {what}" for n in range(5) for what in ("begins", "ends")]


async def test_prompts_of_two_sessions_run_at_the_same_time() -> None:
    barrier = asyncio.Barrier(2)

    async def body(turn: Turn) -> None:
        await barrier.wait()

    async with raw_client(agent_of(body)) as client:
        first = await client.open()
        client.send(request("n2", "session/new", {"cwd": "/tmp", "mcpServers": []}))
        second = (await client.answer_to("n2"))["result"]["sessionId"]
        client.send(prompt(1, first), prompt(2, second))
        answers = [await client.next(), await client.next()]
        assert sorted(frame["id"] for frame in answers) == [1, 2]


async def test_an_agent_may_refuse_a_second_prompt_instead() -> None:
    gate = asyncio.Event()

    async def body(turn: Turn) -> None:
        await gate.wait()

    async with raw_client(agent_of(body, busy="refuse")) as client:
        session = await client.open()
        client.send(prompt(1, session), prompt(2, session))
        refused = (await client.answer_to(2))["error"]
        assert refused["code"] == -32600
        assert "a turn is running" in refused["message"]
        gate.set()
        assert await stop_reason(client, 1) == "end_turn"
        client.prompt(3, session)
        assert await stop_reason(client, 3) == "end_turn"


async def test_even_then_a_prompt_right_behind_a_cancel_is_taken() -> None:
    cleaning, clean = asyncio.Event(), asyncio.Event()

    async def body(turn: Turn) -> None:
        if turn.text == "again":
            return
        try:
            await asyncio.Event().wait()
        finally:
            cleaning.set()
            await clean.wait()

    async with raw_client(agent_of(body, busy="refuse")) as client:
        session = await client.open()
        client.prompt(1, session)
        client.send(cancel(session), prompt(2, session, "again"))
        await cleaning.wait()
        clean.set()
        assert await stop_reason(client, 1) == "cancelled"
        assert await stop_reason(client, 2) == "end_turn"


@pytest.mark.parametrize("same_block", [True, False])
async def test_a_cancel_hits_the_prompts_that_wait_but_not_those_that_come_later(same_block: bool) -> None:
    begun: list[str] = []

    async def body(turn: Turn) -> None:
        begun.append(turn.text)
        if turn.text != "later":
            await asyncio.Event().wait()

    async with raw_client(agent_of(body)) as client:
        session = await client.open()
        frames = [*(prompt(n, session, str(n)) for n in range(4)), cancel(session)]
        frames.append(prompt(9, session, "later"))
        if same_block:
            client.send(*frames)
        else:
            for frame in frames:
                client.send(frame)
                await asyncio.sleep(0)
                await asyncio.sleep(0)
        assert [await stop_reason(client, n) for n in range(4)] == ["cancelled"] * 4
        assert await stop_reason(client, 9) == "end_turn"
        assert begun == ["0", "later"]
        assert not client.link.connection.incoming_requests


async def test_cancelling_one_waiting_prompt_leaves_the_others_alone() -> None:
    gate = asyncio.Event()
    begun: list[str] = []

    async def body(turn: Turn) -> None:
        begun.append(turn.text)
        await gate.wait()

    async with raw_client(agent_of(body)) as client:
        session = await client.open()
        client.send(*(prompt(n, session, str(n)) for n in range(3)), cancel_request(1))
        assert await stop_reason(client, 1) == "cancelled"
        gate.set()
        assert await stop_reason(client, 0) == "end_turn"
        assert await stop_reason(client, 2) == "end_turn"
    assert begun == ["0", "2"]


async def test_the_answer_leaves_after_everything_that_was_said() -> None:
    async def body(turn: Turn) -> None:
        for n in range(500):
            await turn.say(str(n))

    async with raw_client(agent_of(body)) as client:
        session = await client.open()
        client.prompt(1, session)
        await client.answer_to(1)
        assert client.texts(session) == [str(n) for n in range(500)]
        assert client.seen[-1]["id"] == 1


async def test_a_turn_that_was_answered_can_say_nothing_more() -> None:
    turns: list[Turn] = []

    async def body(turn: Turn) -> None:
        turns.append(turn)
        await turn.say("in time")

    async with raw_client(agent_of(body)) as client:
        session = await client.open()
        client.prompt(1, session)
        await client.answer_to(1)
        count = len(client.seen)
        with pytest.raises(TurnOver):
            await turns[0].say("too late")
        with pytest.raises(TurnOver):
            await turns[0].think("too late")
        with pytest.raises(TurnOver):
            await turns[0].tool("too late").announce()
        await turns[0].session.say("a session goes on")
        await client.asks("session/update")
        assert client.texts(session)[-1] == "a session goes on"
        assert len(client.seen) == count + 1


async def test_the_end_of_the_connection_ends_the_turn() -> None:
    ended = asyncio.Event()

    async def body(turn: Turn) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with raw_client(agent_of(body)) as client:
        client.prompt(1, await client.open())
        await asyncio.sleep(0)
        await client.aclose()
    assert ended.is_set()


async def test_more_prompts_than_may_wait_are_refused() -> None:
    async def body(turn: Turn) -> None:
        await asyncio.Event().wait()

    async with raw_client(agent_of(body)) as client:
        session = await client.open()
        client.send(*(prompt(n, session) for n in range(70)))
        assert (await client.answer_to(65))["error"]["code"] == -32600
        client.send(cancel(session))
        for n in (0, 1, 64):
            assert await stop_reason(client, n) == "cancelled"
