"""Turns of a kit: cancel, and tasks and commands of their own."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dragoman import KitTurn, Limits
from dragoman.errors import CallFailed, ErrorAnswer, TurnOver
from dragoman.schema import v1
from dragoman.testing.pace import patience
from dragoman_local.journal import Entry, MemoryJournal
from tests.kit.kit_agents import alive, eventually, handled_by, listening
from tests.runtime.raw import request, result, until
from tests.sdk.ends import EVERYTHING, cancel, raw_client


async def test_a_cancelled_turn_is_answered_cancelled_with_its_last_words_before_the_answer() -> None:
    async def work(turn: KitTurn[None]) -> None:
        async with turn.tool("Wait", kind="execute"):
            await turn.say("begun")
            try:
                await asyncio.sleep(60)
            finally:
                await turn.say("stopped")

    agent = handled_by(work)
    async with raw_client(agent) as client:
        session_id = await client.open()
        client.prompt(1, session_id)
        await until(lambda: "begun" in client.texts(session_id))
        client.send(cancel(session_id))
        answer = await client.answer_to(1)
        assert answer["result"]["stopReason"] == "cancelled"
        assert client.seen[-1] is answer
        said = [update.get("status") or update["content"]["text"] for update in client.updates(session_id)]
        assert said == ["in_progress", "begun", "stopped", "failed"]


async def test_an_error_of_an_aborted_library_is_no_error_after_a_cancel() -> None:
    async def work(turn: KitTurn[None]) -> None:
        await turn.say("begun")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise ConnectionError("the stream was cut") from None

    agent = handled_by(work)
    async with raw_client(agent) as client:
        session_id = await client.open()
        client.prompt(1, session_id)
        await until(lambda: client.texts(session_id))
        client.send(cancel(session_id))
        assert (await client.answer_to(1))["result"]["stopReason"] == "cancelled"


@pytest.mark.bound(20)
async def test_commands_die_as_trees_and_the_answer_comes_right_after_that(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    ended: list[float] = []

    async def work(turn: KitTurn[None]) -> None:
        try:
            await turn.run("sh", "-c", f"sleep 600 & echo $! > {pids}; echo $$ >> {pids}; wait")
        finally:
            ended.append(time.monotonic())

    agent = handled_by(work)
    async with raw_client(agent) as client:
        session_id = await client.open()
        client.prompt(1, session_id)
        await eventually(lambda: pids.exists() and len(pids.read_text().split()) == 2)
        client.send(cancel(session_id))
        answer = await client.answer_to(1)
        assert answer["result"]["stopReason"] == "cancelled"
        assert time.monotonic() - ended[0] < patience(4)
        assert not any(alive(int(pid)) for pid in pids.read_text().split())


async def test_tasks_of_a_turn_end_with_a_cancel() -> None:
    ended: list[str] = []

    async def beside() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("beside")

    async def work(turn: KitTurn[None]) -> None:
        turn.start(beside())
        await turn.say("begun")
        await asyncio.sleep(60)

    agent = handled_by(work)
    async with raw_client(agent) as client:
        session_id = await client.open()
        client.prompt(1, session_id)
        await until(lambda: client.texts(session_id))
        client.send(cancel(session_id))
        await client.answer_to(1)
        assert ended == ["beside"]


async def test_tasks_of_a_turn_are_waited_for_and_their_failure_is_the_turns() -> None:
    async def beside(turn: KitTurn[None]) -> None:
        await asyncio.sleep(0.01)
        await turn.say("beside")
        if turn.text == "fail":
            raise ErrorAnswer(-32000, "Authentication required")

    async def work(turn: KitTurn[None]) -> None:
        turn.start(beside(turn))

    agent = handled_by(work)
    async with listening(agent) as (handle, _):
        session = await handle.new_session(cwd="/tmp")
        assert (await session.prompt("go")).text == "beside"
        with pytest.raises(CallFailed) as caught:
            await session.prompt("fail")
        assert caught.value.code == -32000
        assert (await session.prompt("again")).text == "beside"


async def test_a_late_cancel_does_not_hit_the_next_turn() -> None:
    async def work(turn: KitTurn[None]) -> None:
        await turn.say(turn.text)

    agent = handled_by(work)
    async with raw_client(agent) as client:
        session_id = await client.open()
        for number in range(20):
            client.prompt(number, session_id, str(number))
            await client.answer_to(number)
            client.send(cancel(session_id))
            client.prompt(f"n{number}", session_id, "next")
            assert (await client.answer_to(f"n{number}"))["result"]["stopReason"] == "end_turn"


async def test_a_handler_that_does_not_stop_is_left_behind_and_the_session_goes_on() -> None:
    release = asyncio.Event()

    async def work(turn: KitTurn[None]) -> None:
        await turn.say(turn.text)
        while turn.text == "stubborn" and not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await release.wait()

    agent = handled_by(work)
    async with raw_client(agent, limits=Limits(cancel_seconds=0.05)) as client:
        session_id = await client.open()
        client.prompt(1, session_id, "stubborn")
        await until(lambda: client.texts(session_id))
        client.send(cancel(session_id))
        assert (await client.answer_to(1))["result"]["stopReason"] == "cancelled"
        client.prompt(2, session_id, "next")
        assert (await client.answer_to(2))["result"]["stopReason"] == "end_turn"
        release.set()


class Slow(MemoryJournal):
    """Turns the loop before it stores anything, as a disk would."""

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        for _ in range(20):
            await asyncio.sleep(0)
        return await super().append(stream, entries, after=after)


async def test_nothing_that_an_agent_asks_or_tells_overtakes_what_it_said() -> None:
    async def work(turn: KitTurn[None]) -> None:
        await turn.say("one")
        await turn.ask(v1.ToolCallUpdate(tool_call_id="t"))
        await turn.say("two")
        await turn.read_text_file("/x")
        await turn.say("three")
        await turn.create_terminal("ls")
        await turn.session.say("four")
        await turn.client.notify("_note", {})
        await turn.say("five")

    async with raw_client(handled_by(work, journal=Slow())) as client:
        session_id = await client.open(EVERYTHING)
        client.prompt(1, session_id)
        results = [
            {"outcome": {"outcome": "cancelled"}},
            {"content": "x"},
            {"terminalId": "t"},
        ]
        for method, answer in zip(
            ("session/request_permission", "fs/read_text_file", "terminal/create"), results, strict=True
        ):
            client.send(result((await client.asks(method))["id"], answer))
        answered = await client.answer_to(1)
    seen = client.seen[client.seen.index(next(one for one in client.seen if one.get("id") == "n")) + 1 :]
    order = [texts_or_method(frame) for frame in seen]
    assert [one for one in order if one] == [
        *("one", "session/request_permission", "two", "fs/read_text_file", "three", "terminal/create"),
        *("four", "_note", "five"),
    ]
    assert seen[-1] is answered


def texts_or_method(frame: dict[str, Any]) -> str:
    update = frame.get("params", {}).get("update", {})
    if update:
        return str(update["content"]["text"]) if "content" in update else ""
    return str(frame.get("method", ""))


async def test_the_last_words_of_a_handler_that_is_left_behind_come_before_the_answer() -> None:
    async def stubborn(turn: KitTurn[None]) -> None:
        await turn.say("begun")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            with contextlib.suppress(TurnOver):
                while True:
                    await turn.say("more")
                    await asyncio.sleep(0)
            await asyncio.Event().wait()

    agent = handled_by(stubborn, journal=Slow())
    async with raw_client(agent, limits=Limits(cancel_seconds=0.1)) as client:
        session_id = await client.open()
        client.prompt(1, session_id)
        await until(lambda: "begun" in client.texts(session_id))
        client.send(cancel(session_id))
        assert (await client.answer_to(1))["result"]["stopReason"] == "cancelled"
        client.send(request(2, "session/close", {"sessionId": session_id}))
        await client.answer_to(2)
    assert [frame.get("id") for frame in client.seen[-2:]] == [1, 2]
