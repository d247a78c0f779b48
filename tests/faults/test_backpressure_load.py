"""Much of everything, for long: memory, descriptors and time stay where they were."""

from __future__ import annotations

import asyncio
import signal

import pytest

from tests.faults.cases import fault
from tests.faults.talk import (
    INTERNAL,
    UNKNOWN,
    Talk,
    code,
    line,
    notification,
    opening,
    prompt,
    request,
    starting,
)
from tests.faults.trial_agents import Command
from tests.faults.watch import cpu, descriptors, forget_peak, limit_memory, memory, peak, settled
from tests.together import SideBySide

pytestmark = pytest.mark.bound(60)
together = SideBySide()

COUNT = 50_000
FEWER = 10_000
WAITING = 20_000
"""Enough to be told from the ten thousand and more that an agent may have open."""
SECONDS_IDLE = 1.2


async def open_many(talk: Talk, count: int) -> list[str]:
    """New sessions, all asked for in one breath."""
    ids = [talk.fresh_id() for _ in range(count)]
    await talk.peer.send(*(request(name, "session/new", {"cwd": "/tmp", "mcpServers": []}) for name in ids))
    opened = [str(answer["result"]["sessionId"]) for answer in await talk.answers_to(ids)]
    await talk.replies()  # what an agent says about new sessions
    return opened


async def close(talk: Talk, sessions: list[str]) -> None:
    ids = [talk.fresh_id() for _ in sessions]
    frames = [request(name, "session/close", {"sessionId": s}) for name, s in zip(ids, sessions, strict=True)]
    await talk.peer.send(*frames)
    assert {code(answer) for answer in await talk.answers_to(ids)} == {None}


@fault("BPR-05")
async def test_unknown_notifications_cost_nothing(agent: Command) -> None:
    async with opening(agent) as talk:
        before = forget_peak(talk.peer.pid)
        await talk.peer.send(line(notification("_unknown", {"n": 1})) * COUNT, seconds=20)
        assert code(await talk.ask("_ping", seconds=10)) == UNKNOWN
        assert peak(talk.peer.pid) - before <= 64


@fault("BPR-X9")
async def test_requests_before_initialize_cost_nothing(agent: Command) -> None:
    async with starting(agent) as talk:
        await talk.peer.send(line(request(0, "_early")))
        await talk.answer_to(0)
        before = forget_peak(talk.peer.pid)
        talk.peer.send_soon(b"".join(line(request(n, "_early", {"pad": "x" * 100})) for n in range(FEWER)))
        await talk.peer.read_lines(FEWER, seconds=30)
        assert peak(talk.peer.pid) - before <= 4
        await talk.initialize()


@fault("BPR-X10", stage="slow")
async def test_notifications_to_a_slow_handler_wait_outside(agent: Command) -> None:
    async with opening(agent) as talk:
        before = forget_peak(talk.peer.pid)
        talk.peer.send_soon(line(notification("_tell")) * (4 * COUNT))
        await settled(lambda: cpu(talk.peer.pid))
        assert peak(talk.peer.pid) - before <= 64
        talk.peer.send_signal(signal.SIGKILL)  # the word that would let it go on is behind all the others


@fault("BPR-X11", stage="slow")
async def test_requests_to_a_slow_handler_are_bounded_and_answered(agent: Command) -> None:
    async with opening(agent) as talk:
        before = forget_peak(talk.peer.pid)
        talk.peer.send_soon(b"".join(line(request(n, "_work", {"n": n})) for n in range(WAITING)))
        await settled(lambda: cpu(talk.peer.pid))
        assert peak(talk.peer.pid) - before <= 40
        talk.peer.send_soon(line(notification("_go")))
        codes = {code(answer) for answer in await talk.answers_to(range(WAITING), seconds=30)}
        assert codes <= {None, INTERNAL}
        assert None in codes


@fault("BPR-07")
async def test_sessions_that_were_left_hold_no_descriptors(agent: Command) -> None:
    async with opening(agent) as talk:
        await talk.echoes()
        before = descriptors(talk.peer.pid)
        sessions = await open_many(talk, 200)
        assert descriptors(talk.peer.pid) <= before + 10
        await talk.echoes(session=sessions[0])


@fault("BPR-X12")
async def test_sessions_that_were_closed_hold_no_memory(agent: Command) -> None:
    async with opening(agent) as talk:
        figures = []
        for _ in range(4):
            for _ in range(30):
                await close(talk, await open_many(talk, 10))
            figures.append(memory(talk.peer.pid))
        assert figures[-1] - figures[0] <= 4


@fault("BPR-X13")
async def test_thousands_of_turns_leave_nothing_behind(agent: Command) -> None:
    async with opening(agent) as talk:
        figures = []
        for _ in range(6):
            for _ in range(10):
                block = b"".join(line(prompt(n, talk.session, "/stream 3")) for n in range(50))
                await talk.peer.send(block)
                await talk.peer.read_lines(50 * 4)
            figures.append((memory(talk.peer.pid), descriptors(talk.peer.pid)))
        assert figures[-1][0] - figures[1][0] <= 3
        assert figures[-1][1] <= figures[1][1]
        await talk.echoes()


@fault("BPR-X14")
async def test_a_thousand_turns_at_once_are_all_answered(agent: Command) -> None:
    async with opening(agent) as talk:
        sessions = await open_many(talk, 1000)
        before = forget_peak(talk.peer.pid)
        frames = [prompt(n, session, "/wait 0.2") for n, session in enumerate(sessions)]
        talk.peer.send_soon(b"".join(map(line, frames)))
        assert {code(answer) for answer in await talk.answers_to(range(1000))} == {None}
        assert peak(talk.peer.pid) - before <= 64


@fault("BPR-X15")
async def test_cancels_without_end_cost_nothing(agent: Command) -> None:
    async with opening(agent) as talk:
        before = forget_peak(talk.peer.pid)
        await talk.peer.send(prompt("turn", talk.session, "/wait 60"))
        frames = line(notification("session/cancel", {"sessionId": talk.session}))
        await talk.peer.send(frames * FEWER, seconds=20)
        assert (await talk.answer_to("turn"))["result"] == {"stopReason": "cancelled"}
        await talk.echoes()
        assert peak(talk.peer.pid) - before <= 4


@fault("BPR-X16")
async def test_answers_that_nobody_asked_for_cost_nothing(agent: Command) -> None:
    async with opening(agent) as talk:
        before = forget_peak(talk.peer.pid)
        frames = b"".join(line({"jsonrpc": "2.0", "id": n, "result": {}}) for n in range(FEWER))
        await talk.peer.send(frames, seconds=20)
        assert await talk.replies() == []
        assert peak(talk.peer.pid) - before <= 4


@fault("BPR-08")
@together
async def test_an_idle_agent_sleeps(agent: Command) -> None:
    async with opening(agent) as talk:
        await talk.echoes()
        before = cpu(talk.peer.pid)
        await asyncio.sleep(SECONDS_IDLE)  # this is what is measured
        assert cpu(talk.peer.pid) - before <= 0.05 * SECONDS_IDLE


@fault("BPR-X17")
@together
async def test_an_agent_with_a_waiting_turn_sleeps(agent: Command) -> None:
    async with opening(agent) as talk:
        await talk.peer.send(prompt("turn", talk.session, "/wait 60"))
        await talk.peer.send(b'{"jsonrpc":"2.0","half":')
        before = cpu(talk.peer.pid)
        await asyncio.sleep(SECONDS_IDLE)  # this is what is measured
        assert cpu(talk.peer.pid) - before <= 0.05 * SECONDS_IDLE


@fault("BPR-X18")
@pytest.mark.parametrize("spare", [16, 40, 110])
async def test_a_large_message_and_little_memory_end_nobody(agent: Command, spare: int) -> None:
    """Its encoder ends the process where a large buffer cannot grow; which sizes are such is not known."""
    async with opening(agent) as talk:
        await talk.turn("hello")
        limit_memory(talk.peer.pid, spare)
        talk.peer.send_soon(line(prompt("large", talk.session, "x" * (12 << 20))))
        await talk.until(lambda message: message.get("id") == "large" or "error" in message)
        await talk.turn("hello again")
