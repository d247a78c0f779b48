"""A client that does not read: the agent waits, stays small, still hears, and loses nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess

import pytest

from dragoman.testing.pace import patience
from tests.faults.cases import cases, fault
from tests.faults.talk import PARSE, Talk, cancel, code, line, opening, prompt, read, request
from tests.faults.trial_agents import Command
from tests.faults.watch import MEBIBYTE, cpu, forget_peak, peak, settled
from tests.together import SideBySide

pytestmark = pytest.mark.bound(60)
together = SideBySide()

COUNT = 20_000
GARBAGE = 15_000
LARGE = 32
TURNS = 800
IN_TIME = 12.0
"""Seconds; it should be five, but the machine may be busy."""
SIZE = 16 * 1024
PIECES = 64 * MEBIBYTE // SIZE


async def stalled(talk: Talk) -> None:
    """A turn of 64 MiB whose client stopped reading; returns when nothing moves any more."""
    talk.peer.pause()
    await talk.peer.send(prompt("turn", talk.session, f"/stream {PIECES} {SIZE}"))
    await settled(lambda: cpu(talk.peer.pid))


@fault("BPR-01")
async def test_a_stream_waits_for_its_reader_and_then_arrives_whole(agent: Command) -> None:
    async with opening(agent) as talk:
        before = forget_peak(talk.peer.pid)
        await stalled(talk)
        assert peak(talk.peer.pid) - before <= 32
        talk.peer.resume()
        lines = await talk.peer.read_lines(PIECES + 1, seconds=30)
        assert peak(talk.peer.pid) - before <= 32
        for number, text in enumerate(lines[:-1]):
            words = read(text)["params"]["update"]["content"]["text"]
            assert len(words) == SIZE
            assert words.startswith(f"{number} ")
        assert read(lines[-1])["result"] == {"stopReason": "end_turn"}


@cases({"BPR-02": signal.SIGTERM, "BPR-X1": None, "BPR-X2": signal.SIGINT})
@together
async def test_a_client_that_never_reads_again_cannot_keep_the_agent(
    agent: Command, case: int | None
) -> None:
    async with opening(agent) as talk:
        await stalled(talk)
        if case is None:
            talk.peer.close_stdin()
        else:
            talk.peer.send_signal(case)
        await talk.peer.wait(seconds=IN_TIME)


@fault("BPR-X3")
@together
async def test_a_cancel_is_heard_while_nobody_reads(agent: Command) -> None:
    async with opening(agent) as talk:
        await stalled(talk)
        await talk.peer.send(cancel(talk.session))
        await settled(lambda: cpu(talk.peer.pid))
        talk.peer.resume()
        answer = await talk.answer_to("turn", seconds=20)
        assert answer["result"] == {"stopReason": "cancelled"}
        assert len(talk.heard) < PIECES
        await talk.echoes()


@fault("BPR-X4")
@together
async def test_an_agent_that_waits_for_its_reader_does_not_spin(agent: Command) -> None:
    async with opening(agent) as talk:
        await stalled(talk)
        before = cpu(talk.peer.pid)
        await asyncio.sleep(1)  # this is what is measured
        assert cpu(talk.peer.pid) - before <= 0.05


@fault("BPR-04")
async def test_requests_that_nobody_reads_the_answers_of_are_all_answered_in_the_end(agent: Command) -> None:
    async with opening(agent) as talk:
        talk.peer.pause()
        before = forget_peak(talk.peer.pid)
        talk.peer.send_soon(b"".join(line(request(n, "_unread")) for n in range(COUNT)))
        await settled(lambda: cpu(talk.peer.pid))
        assert peak(talk.peer.pid) - before <= 16
        talk.peer.resume()
        lines = await talk.peer.read_lines(COUNT, seconds=30)
        assert [read(text)["id"] for text in lines] == list(range(COUNT))
        assert peak(talk.peer.pid) - before <= 16


@fault("BPR-X5")
async def test_garbage_that_nobody_reads_the_refusals_of_takes_no_memory(agent: Command) -> None:
    async with opening(agent) as talk:
        talk.peer.pause()
        before = forget_peak(talk.peer.pid)
        talk.peer.send_soon(b"garbage\n" * GARBAGE)
        await settled(lambda: cpu(talk.peer.pid))
        assert peak(talk.peer.pid) - before <= 5
        talk.peer.resume()
        lines = await talk.peer.read_lines(GARBAGE, seconds=40)
        assert {code(read(text)) for text in lines} == {PARSE}
        await talk.echoes()


@fault("BPR-X6")
async def test_turns_that_nobody_reads_are_all_answered_in_the_end(agent: Command) -> None:
    async with opening(agent) as talk:
        sessions = [await talk.new_session() for _ in range(20)]
        talk.peer.pause()
        before = forget_peak(talk.peer.pid)
        for number in range(TURNS):
            talk.peer.send_soon(line(prompt(number, sessions[number % 20], f"/stream 20 {SIZE // 8}")))
        await settled(lambda: cpu(talk.peer.pid))
        assert peak(talk.peer.pid) - before <= 24
        talk.peer.resume()
        assert len(await talk.answers_to(range(TURNS), seconds=30)) == TURNS


@fault("BPR-X7")
async def test_large_answers_that_nobody_reads_take_no_more_than_they_must(agent: Command) -> None:
    async with opening(agent) as talk:
        talk.peer.pause()
        before = forget_peak(talk.peer.pid)
        name = "i" * MEBIBYTE  # an id is echoed, so every answer is this large
        for number in range(LARGE):
            talk.peer.send_soon(line(request(f"{number}{name}", "_large")))
        await settled(lambda: cpu(talk.peer.pid))
        assert peak(talk.peer.pid) - before <= 16
        talk.peer.resume()
        lines = await talk.peer.read_lines(LARGE, seconds=30)
        assert [read(text)["id"] for text in lines] == [f"{number}{name}" for number in range(LARGE)]


@fault("BPR-X8")
def test_a_reader_of_single_bytes_gets_everything(agent: Command) -> None:
    with subprocess.Popen(agent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(
            line(request("i", "initialize", {"protocolVersion": 1, "clientCapabilities": {}}))
        )
        process.stdin.write(b"".join(line(request(n, "_x")) for n in range(500)))
        said, ends = bytearray(), 0
        while ends < 501:
            byte = os.read(process.stdout.fileno(), 1)
            said += byte
            ends += byte == b"\n"
        process.stdin.close()
        assert process.wait(timeout=patience(IN_TIME)) == 0
    assert [read(text)["id"] for text in bytes(said).splitlines()] == ["i", *range(500)]
