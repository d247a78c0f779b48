"""An interpreter on a transport: it keeps the transport's promises, and never speaks from inside a write."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dragoman.errors import LinkClosed
from dragoman.testing import check_transport
from dragoman.testing.transports import SinkRecorder
from dragoman.transport.contract import Transport
from dragoman.transport.memory import MemoryTransport, memory_pair
from dragoman.transport.translated_transport import TranslatedTransport


class Said:
    """What came of a block."""

    def __init__(
        self, *, inside: bytes = b"", peer: bytes = b"", host: list[tuple[int, Any]] | None = None
    ) -> None:
        self.inside = inside
        self.peer = peer
        self.host = host or []


class Silent:
    """Changes nothing."""

    def from_peer(self, block: bytes) -> Said:
        return Said(inside=block)

    def from_inside(self, block: bytes) -> Said:
        return Said(peer=block)

    def from_host(self, position: int, message: Any) -> Said:
        return Said()

    def peer_ended(self) -> Said:
        return Said()


class Parrot(Silent):
    """Answers everything itself, asks the host now and then, and has a last word."""

    def from_peer(self, block: bytes) -> Said:
        return Said(inside=block, peer=b"heard " + block)

    def from_inside(self, block: bytes) -> Said:
        if block == b"ask\n":
            return Said(host=[(0, "what?")])
        return Said(inside=b"said " + block)

    def from_host(self, position: int, message: Any) -> Said:
        return Said(inside=f"{position} {message}\n".encode(), peer=b"asked\n")

    def peer_ended(self) -> Said:
        return Said(inside=b"gone\n", peer=b"to nobody\n")


class Ends:
    """A parrot between us and a peer."""

    def __init__(self, ours: TranslatedTransport, peer: MemoryTransport) -> None:
        self.ours = ours
        self.peer = peer
        self.heard, self.peer_heard = SinkRecorder(), SinkRecorder()
        ours.start(self.heard)
        peer.start(self.peer_heard)

    def pause(self) -> None:
        self.ours.pause()
        self.heard.is_paused = True

    def resume(self) -> None:
        self.heard.is_paused = False
        self.ours.resume()


@asynccontextmanager
async def parrot(host: list[Any] | None = None) -> AsyncIterator[Ends]:
    left, right = memory_pair()
    asked = (lambda position, message: host.append((position, message))) if host is not None else None
    ends = Ends(TranslatedTransport(left, Parrot(), host=asked), right)
    try:
        yield ends
    finally:
        await ends.ours.aclose()
        await ends.peer.aclose()
    assert ends.heard.faults == []
    assert len(ends.heard.endings) == 1


async def turns_of_the_loop() -> None:
    """Enough for everything that is on its way in memory to arrive."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_with_an_interpreter_that_changes_nothing_all_promises_are_kept() -> None:
    async def pair() -> tuple[Transport, Transport]:
        left, right = memory_pair()
        return TranslatedTransport(left, Silent()), TranslatedTransport(right, Silent())

    await check_transport(pair)


async def test_what_the_interpreter_answers_goes_back_and_the_rest_goes_on() -> None:
    async with parrot() as ends:
        ends.peer.write(b"1\n2\n")
        await ends.peer_heard.until_size(len(b"heard 1\n2\n"))
        assert ends.heard.stream == b"1\n2\n"
        assert ends.peer_heard.stream == b"heard 1\n2\n"


async def test_our_side_is_never_fed_from_inside_its_own_write() -> None:
    async with parrot() as ends:
        ends.ours.write(b"1\n")
        ends.ours.write(bytearray(b"2\n"))
        assert ends.heard.blocks == []
        await ends.heard.until_size(len(b"said 1\nsaid 2\n"))
        assert ends.heard.stream == b"said 1\nsaid 2\n"


async def test_a_pause_holds_what_is_held_and_keeps_its_order() -> None:
    async with parrot() as ends:
        ends.pause()
        ends.ours.write(b"1\n")
        ends.peer.write(b"2\n")
        ends.ours.write(b"3\n")
        await turns_of_the_loop()
        assert ends.heard.blocks == []
        ends.resume()
        await ends.heard.until_size(len(b"said 1\nsaid 3\n2\n"))
        assert ends.heard.stream == b"said 1\nsaid 3\n2\n"


async def test_the_host_is_asked_and_its_answer_goes_where_the_interpreter_says() -> None:
    host: list[Any] = []
    async with parrot(host) as ends:
        ends.ours.write(b"ask\n")
        assert host == [(0, "what?")]
        ends.ours.answer(0, "this")
        await ends.heard.until_size(len(b"0 this\n"))
        await ends.peer_heard.until_size(len(b"asked\n"))
        assert ends.peer_heard.stream == b"asked\n"


async def test_without_a_host_a_question_to_it_harms_nobody() -> None:
    async with parrot() as ends:
        ends.ours.write(b"ask\n")
        ends.ours.write(b"1\n")
        await ends.heard.until_size(len(b"said 1\n"))


async def test_when_the_peer_ends_the_interpreter_has_the_last_word() -> None:
    async with parrot() as ends:
        ends.peer.write(b"1\n")
        await ends.peer.aclose()
        await ends.heard.until_ended()
        assert ends.heard.stream == b"1\ngone\n"
        assert ends.heard.endings == [None]


async def test_an_end_that_comes_during_a_pause_waits_for_what_is_held() -> None:
    left = EndsAtWill()
    ours = TranslatedTransport(left, Parrot())
    heard = SinkRecorder()
    ours.start(heard)
    heard.is_paused = True
    ours.pause()
    ours.write(b"1\n")
    left.sink.on_end(None)
    await turns_of_the_loop()
    assert (heard.blocks, heard.endings) == ([], [])
    heard.is_paused = False
    ours.resume()
    assert heard.stream == b"said 1\ngone\n"
    assert heard.endings == [None]
    assert heard.faults == []


async def test_closing_during_a_pause_ends_it_without_another_word() -> None:
    async with parrot() as ends:
        ends.pause()
        ends.ours.write(b"1\n")
        await ends.ours.aclose()
        assert ends.heard.blocks == []
        assert ends.heard.endings == [None]


async def test_nothing_is_written_or_answered_after_the_end() -> None:
    host: list[Any] = []
    async with parrot(host) as ends:
        await ends.peer.aclose()
        await ends.heard.until_ended()
        with pytest.raises(LinkClosed):  # the interpreter could answer this, but to whom would it speak
            ends.ours.write(b"1\n")
        ends.ours.answer(0, "late")
        await turns_of_the_loop()
        assert ends.heard.stream == b"gone\n"


async def test_an_answer_that_comes_too_late_for_the_peer_does_not_keep_us_from_hearing_it() -> None:
    left = EndsAtWill(closed=True)
    ours = TranslatedTransport(left, Parrot())
    heard = SinkRecorder()
    ours.start(heard)
    left.sink.feed(b"1\n")
    assert heard.stream == b"1\n"
    left.sink.on_end(None)
    assert heard.stream == b"1\ngone\n"


class EndsAtWill(MemoryTransport):
    """One whose end and whose deafness a test decides."""

    def __init__(self, *, closed: bool = False) -> None:
        left, _ = memory_pair()
        super().__init__(limits=left.limits)
        self._deaf = closed

    def start(self, sink: Any) -> None:
        self.sink = sink

    def write(self, block: bytes | bytearray | memoryview) -> None:
        if self._deaf:
            raise LinkClosed("nobody reads this")
