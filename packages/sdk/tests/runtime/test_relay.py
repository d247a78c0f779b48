"""Two transports joined: nothing is changed, lost or kept, and both ends end in order."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.runtime.relay import Direction, Relay
from dragoman.testing.transports import SinkRecorder
from dragoman.transport.contract import Grace, Transport, TransportLimits
from dragoman.transport.memory import MemoryTransport, memory_pair
from dragoman.transport.pipe import PipeTransport
from dragoman.transport.process import spawn
from dragoman.wire.glance import Glance, glance_block
from tests.transport.programs import python
from tests.wire.strategies import frames

REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{}}\n'
UPDATE = b'{"jsonrpc":"2.0","method":"session/update","params":{"n": 1}}\n'
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{}}\n'


class Ends:
    """A client and an agent with a relay between them; each end records what it hears."""

    def __init__(self, *, limits: TransportLimits | None = None) -> None:
        self.client, client = memory_pair(limits=limits or TransportLimits())
        self.agent, agent = memory_pair(limits=limits or TransportLimits())
        self.joined: tuple[MemoryTransport, MemoryTransport] = (client, agent)
        self.client_hears, self.agent_hears = SinkRecorder(), SinkRecorder()
        self.client.start(self.client_hears)
        self.agent.start(self.agent_hears)

    async def aclose(self) -> None:
        await asyncio.gather(self.client.aclose(), self.agent.aclose())


@given(st.lists(frames.filter(lambda frame: bool(frame.strip())), min_size=1, max_size=8))
async def test_every_frame_passes_byte_for_byte_both_ways(sent: list[bytes]) -> None:
    ends = Ends()
    stream = b"".join(frame + b"\n" for frame in sent)
    async with Relay(*ends.joined, watch=lambda direction, glances, block: None):
        ends.client.write(stream)
        ends.agent.write(stream)
        # A byte order mark at the very start belongs to the stream, not to its first frame.
        expected = stream.removeprefix(b"\xef\xbb\xbf")
        await ends.agent_hears.until_size(len(expected))
        await ends.client_hears.until_size(len(expected))
    assert ends.agent_hears.stream == ends.client_hears.stream == expected
    await ends.aclose()


async def test_the_watcher_sees_each_block_with_one_glance_a_frame() -> None:
    seen: list[tuple[Direction, list[Glance], bytes]] = []
    ends = Ends()
    async with Relay(*ends.joined, watch=lambda *block: seen.append(block)):
        ends.client.write(REQUEST)
        await ends.agent_hears.until_size(len(REQUEST))
        ends.agent.write(UPDATE + ANSWER)
        await ends.client_hears.until_size(len(UPDATE + ANSWER))
    assert seen == [
        ("to_agent", glance_block(REQUEST), REQUEST),
        ("to_client", glance_block(UPDATE + ANSWER), UPDATE + ANSWER),
    ]
    await ends.aclose()


async def test_a_watcher_that_fails_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail(*_: object) -> None:
        raise ValueError("watching went wrong")

    ends = Ends()
    async with Relay(*ends.joined, watch=fail):
        ends.client.write(REQUEST)
        await ends.agent_hears.until_size(len(REQUEST))
    assert "the watcher failed" in caplog.text
    await ends.aclose()


async def test_what_the_agent_said_last_reaches_the_client_before_the_end() -> None:
    ends = Ends()
    async with Relay(*ends.joined) as relay:
        ends.agent.write(UPDATE * 5000 + ANSWER)
        await ends.agent.aclose()
        await relay.wait_ended()
    await ends.client_hears.until_ended()
    assert ends.client_hears.stream == UPDATE * 5000 + ANSWER
    await ends.aclose()


async def test_a_last_frame_gets_the_newline_that_it_lacks() -> None:
    ends = Ends()
    async with Relay(*ends.joined) as relay:
        ends.agent.write(ANSWER[:-1])
        await ends.agent.aclose()
        await relay.wait_ended()
    await ends.client_hears.until_ended()
    assert ends.client_hears.stream == ANSWER
    await ends.aclose()


async def test_the_sender_of_an_oversized_frame_is_told_and_the_next_frame_passes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ends = Ends(limits=TransportLimits(frame=300))
    with caplog.at_level(logging.WARNING):
        async with Relay(*ends.joined):
            ends.client.write(b'{"x":"%s"}\n' % (b"y" * 400) + REQUEST)
            await ends.agent_hears.until_size(len(REQUEST))
            await ends.client_hears.until_size(1)
    assert ends.agent_hears.stream == REQUEST
    assert b'"error":{"code":-32600' in ends.client_hears.stream
    assert "skipped a message of 408 bytes" in caplog.text
    await ends.aclose()


async def test_a_reader_that_stops_stops_the_writer_and_loses_nothing() -> None:
    limits = TransportLimits(high=20_000, low=5_000)
    ends = Ends(limits=limits)
    ends.client.pause()
    block, sent = UPDATE * 50, 0
    async with Relay(*ends.joined) as relay:
        for _ in range(200):
            while ends.agent.pending <= limits.high and sent < 200:
                ends.agent.write(block)
                sent += 1
            await asyncio.sleep(0)
        assert sent < 200, "the writer never felt it"
        # One block may pass each mark before it is looked at.
        assert relay.to_client.target.pending <= limits.high + len(block)
        ends.client.resume()
        await ends.client_hears.until_size(sent * len(block))
    assert ends.client_hears.stream == block * sent
    await ends.aclose()


async def test_one_slow_direction_does_not_slow_the_other() -> None:
    ends = Ends(limits=TransportLimits(high=1000, low=100))
    ends.client.pause()
    async with Relay(*ends.joined):
        ends.agent.write(UPDATE * 1000)
        for _ in range(3):
            ends.client.write(REQUEST)
            await asyncio.sleep(0)
        await ends.agent_hears.until_size(3 * len(REQUEST))
    await ends.aclose()


# Real pipes and processes.


def joined_by_pipes() -> tuple[Transport, Transport]:
    left_read, right_write = os.pipe()
    right_read, left_write = os.pipe()
    return PipeTransport(left_read, left_write), PipeTransport(right_read, right_write)


async def test_over_pipes_an_agent_may_answer_after_the_end_of_its_input() -> None:
    (near_client, far_client), (near_agent, far_agent) = joined_by_pipes(), joined_by_pipes()
    client_hears, agent_hears = SinkRecorder(), SinkRecorder()
    far_client.start(client_hears)
    far_agent.start(agent_hears)
    relay = Relay(near_client, near_agent)
    relay.start()
    far_client.write(REQUEST)
    assert isinstance(far_client, PipeTransport)
    await far_client.finish_writing()
    await relay.wait_ended()
    closing = asyncio.create_task(relay.aclose())
    await agent_hears.until_ended()
    far_agent.write(ANSWER)
    await far_agent.aclose()
    await closing
    await client_hears.until_ended()
    assert (agent_hears.stream, client_hears.stream) == (REQUEST, ANSWER)
    far_client.release()


LAST_WORDS = """
import sys
said = sys.stdin.buffer.read()
sys.stdout.buffer.write(said * 3)
sys.stdout.buffer.flush()
"""


async def test_a_program_hears_the_end_of_its_input_and_is_heard_to_its_own_end() -> None:
    far, near = memory_pair()
    hears = SinkRecorder()
    far.start(hears)
    relay = Relay(near, spawn(python(LAST_WORDS)))
    relay.start()
    far.write(REQUEST)
    await asyncio.sleep(0)
    relay.to_agent.on_end(None)  # memory has no half-close: the client's input ends, its output stays open
    await relay.wait_ended()
    await relay.aclose()
    await hears.until_ended()
    assert hears.stream == REQUEST * 3
    await far.aclose()


async def test_a_program_that_dies_ends_the_relay_with_the_reason() -> None:
    far, near = memory_pair()
    hears = SinkRecorder()
    far.start(hears)
    async with Relay(near, spawn(python("import sys; print('{}'); sys.exit('no model')"))) as relay:
        await relay.wait_ended()
        assert "exit status 1; its last output was:\nno model" in str(relay.to_client.reason)
    await hears.until_ended()
    assert hears.stream == b"{}\n"
    await far.aclose()


STREAM = """
import os, hashlib, sys
line = b'{"jsonrpc":"2.0","method":"session/update","params":{"text":"%s"}}' + b"\\n"
whole = hashlib.sha256()
for n in range(400):
    block = b"".join(line % (b"%d " % n * (n % 97)) for _ in range(20))
    whole.update(block)
    while block:
        block = block[os.write(1, block):]
sys.stderr.write(whole.hexdigest())
"""


@pytest.mark.bound(20)
async def test_a_fast_program_and_a_slow_reader_lose_no_byte() -> None:
    said: list[bytes] = []
    far, near = memory_pair(limits=TransportLimits(high=10_000, low=1_000))
    hears = SinkRecorder()
    far.start(hears)
    async with Relay(near, spawn(python(STREAM), on_stderr=said.append, grace=Grace())) as relay:
        while not relay.end_event.is_set():
            far.pause()
            for _ in range(20):
                await asyncio.sleep(0)
            far.resume()
            await asyncio.sleep(0.001)  # the program's turn: it is another process
    await hears.until_ended()
    assert hashlib.sha256(hears.stream).hexdigest() == b"".join(said).decode()
    await far.aclose()


async def test_closing_twice_and_at_once_is_one_end() -> None:
    ends = Ends()
    relay = Relay(*ends.joined)
    relay.start()
    await asyncio.gather(relay.aclose(), relay.aclose())
    await relay.aclose()
    await ends.client_hears.until_ended()
    await ends.agent_hears.until_ended()
    assert ends.client_hears.endings == ends.agent_hears.endings == [None]
    await ends.aclose()
