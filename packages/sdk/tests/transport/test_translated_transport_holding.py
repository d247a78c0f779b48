"""What is said to a peer that said its last word, and what is kept until a peer has spoken."""

import asyncio
from typing import Any

from dragoman.testing.transports import SinkRecorder
from dragoman.transport.memory import MemoryTransport, memory_pair
from dragoman.transport.translated_transport import TranslatedTransport
from tests.transport.test_translated_transport import Said


class Listens(MemoryTransport):
    """Its peer ends when a test says so, and listens on."""

    def __init__(self) -> None:
        super().__init__(limits=memory_pair()[0].limits)
        self.written = b""

    def start(self, sink: Any) -> None:
        self.sink = sink

    def write(self, block: bytes | bytearray | memoryview) -> None:
        self.written += bytes(block)

    async def aclose(self) -> None:
        self.written += b"(closed)"


class Waits:
    """Keeps everything for the peer until the peer has said something."""

    def __init__(self) -> None:
        self._held = b""

    @property
    def holding(self) -> bool:
        return bool(self._held)

    def from_inside(self, block: bytes) -> Said:
        self._held += block
        return Said()

    def from_peer(self, block: bytes) -> Said:
        held, self._held = self._held, b""
        return Said(inside=block, peer=held)

    def from_host(self, position: int, message: Any) -> Said:
        return Said()

    def peer_ended(self) -> Said:
        return Said()


class Passes(Waits):
    def from_inside(self, block: bytes) -> Said:
        return Said(peer=block)


async def test_a_peer_whose_input_ended_still_hears_its_answers() -> None:
    inner = Listens()
    ours = TranslatedTransport(inner, Passes())
    ours.start(SinkRecorder())
    inner.sink.on_end(None)
    ours.write(b"an answer\n")
    assert inner.written == b"an answer\n"


async def test_a_close_waits_until_the_peer_has_been_given_what_was_kept_for_it() -> None:
    inner = Listens()
    ours = TranslatedTransport(inner, Waits())
    heard = SinkRecorder()
    ours.start(heard)
    ours.write(b"kept\n")

    closing = asyncio.create_task(ours.aclose())
    await asyncio.sleep(0)
    assert inner.written == b""
    inner.sink.feed(b"I am here\n")
    await closing
    assert inner.written == b"kept\n(closed)"
    assert heard.stream == b"I am here\n"


async def test_a_close_does_not_wait_for_a_peer_that_is_gone() -> None:
    inner = Listens()
    ours = TranslatedTransport(inner, Waits())
    ours.start(SinkRecorder())
    ours.write(b"kept\n")
    inner.sink.on_end(None)
    await ours.aclose()
    assert inner.written == b"(closed)"
