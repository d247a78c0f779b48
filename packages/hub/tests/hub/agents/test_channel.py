"""Lines to agents that nobody keeps."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.errors import LinkClosed
from dragoman.testing.transports import SinkRecorder
from dragoman.transport.memory import memory_pair
from dragoman_hub.agents.channel import LEASE_OVER, DirectChannel
from dragoman_hub.agents.host.lease import now


class Hearing:
    def __init__(self) -> None:
        self.heard: list[tuple[int, bytes]] = []
        self.ends: list[str] = []
        self.event = asyncio.Event()

    def feed(self, first: int, block: bytes) -> None:
        self.heard.append((first, block))
        self.event.set()

    def stderr(self, line: bytes) -> None: ...

    def on_oversized(self, number: int, size: int) -> None: ...

    def on_end(self, reason: str, exit_status: int | None) -> None:
        self.ends.append(reason)
        self.event.set()


async def test_a_line_is_closed_when_its_lease_runs_out() -> None:
    ours, theirs = memory_pair()
    theirs.start(peer := SinkRecorder())
    line = DirectChannel(ours)
    line.start(hearing := Hearing())
    line.lease(0.05)
    await hearing.event.wait()
    assert hearing.ends == [LEASE_OVER]
    await peer.until_ended()
    line.lease(60.0)
    with pytest.raises(LinkClosed):
        line.write(b"too late\n")
    await line.aclose()
    await theirs.aclose()


async def test_nothing_is_written_after_the_end_of_the_lease_even_before_a_timer_tells() -> None:
    ours, theirs = memory_pair()
    theirs.start(peer := SinkRecorder())
    line = DirectChannel(ours)
    line.start(hearing := Hearing())
    line.lease(60.0)
    line.write(b"in time\n")
    line.lease(60.0, since=now() - 61.0)
    with pytest.raises(LinkClosed, match="lease"):
        line.write(b"too late\n")
    await line.leave()
    await peer.until_ended()
    assert peer.stream == b"in time\n"
    assert hearing.ends == [LEASE_OVER]
    await theirs.aclose()


async def test_an_end_without_a_lease_is_a_hang_up() -> None:
    ours, theirs = memory_pair()
    line = DirectChannel(ours)
    line.start(hearing := Hearing())
    theirs.start(SinkRecorder())
    theirs.write(b"one\ntwo\n")
    await hearing.event.wait()
    theirs.write(b"three\n")
    await theirs.aclose()
    while not hearing.ends:
        hearing.event.clear()
        await hearing.event.wait()
    assert hearing.heard == [(1, b"one\ntwo\n"), (3, b"three\n")]
    assert hearing.ends == ["it closed the connection"]
    await line.aclose()
