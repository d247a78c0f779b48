"""Contract checks for transports, ours and yours.

Give `check_transport` a function that makes a connected pair. Every promise of
`dragoman.transport.contract` is tried on a fresh pair, and the first one that is broken is named in an
`AssertionError`. It looks at a transport from outside only: what its sink sees, what `write`, `pending` and
`drain` say, and what is left when both ends are closed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress

from dragoman.errors import LinkClosed
from dragoman.testing.pace import deadline
from dragoman.transport.contract import Transport

Pair = tuple[Transport, Transport]
MakePair = Callable[[], Awaitable[Pair]]

BOUND = 20.0
"""The most seconds for one promise; more than any grace time at closing."""

BIG = 5_000_000


class SinkRecorder:
    """A sink that records everything, and notices when its transport breaks a promise."""

    def __init__(self) -> None:
        self.blocks: list[bytes] = []
        self.size = 0
        self.skipped_sizes: list[int] = []
        self.endings: list[BaseException | None] = []
        self.faults: list[str] = []
        self.is_paused = False
        self._change_event = asyncio.Event()

    def feed(self, block: bytes) -> None:
        if self.endings:
            self.faults.append("fed after it had ended")
        if self.is_paused:
            self.faults.append("fed while paused")
        if not block:
            self.faults.append("fed an empty block")
        self.blocks.append(block)
        self.size += len(block)
        self._change_event.set()

    def on_oversized(self, size: int) -> None:
        self.skipped_sizes.append(size)
        self._change_event.set()

    def on_end(self, reason: BaseException | None) -> None:
        self.endings.append(reason)
        self._change_event.set()

    @property
    def stream(self) -> bytes:
        """All received bytes, in order."""
        return b"".join(self.blocks)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the recording fulfils `condition`."""
        while not condition():
            self._change_event.clear()
            await self._change_event.wait()

    async def until_size(self, size: int) -> None:
        await self.until(lambda: self.size >= size or bool(self.endings))

    async def until_ended(self) -> None:
        await self.until(lambda: bool(self.endings))


class TransportPair:
    """A started pair with a recorder at each end."""

    def __init__(self, pair: Pair) -> None:
        self.left, self.right = pair
        self.left_sink, self.right_sink = SinkRecorder(), SinkRecorder()
        self.left.start(self.left_sink)
        self.right.start(self.right_sink)

    def pause_right(self) -> None:
        self.right.pause()
        self.right_sink.is_paused = True

    def resume_right(self) -> None:
        self.right_sink.is_paused = False
        self.right.resume()

    async def aclose(self) -> None:
        await self.left.aclose()
        await self.right.aclose()

    def faults(self) -> list[str]:
        faults = self.left_sink.faults + self.right_sink.faults
        for sink in (self.left_sink, self.right_sink):
            if len(sink.endings) != 1:
                faults.append(f"ended was called {len(sink.endings)} times, not once")
        return faults


async def check_transport(make_pair: MakePair) -> None:
    """Try every promise of the contract on pairs from `make_pair`; raise `AssertionError` for the first
    broken one.

        async def make_pair():
            return memory_pair()  # yours, connected to each other

        await check_transport(make_pair)

    A task or a descriptor that is left behind breaks a promise, too.
    """
    for promise in PROMISES:
        name = (promise.__doc__ or promise.__name__).splitlines()[0]
        before = _descriptors(), asyncio.all_tasks()
        try:
            async with deadline(BOUND):
                conversation = TransportPair(await make_pair())
                try:
                    await promise(conversation)
                finally:
                    await conversation.aclose()
        except TimeoutError:
            raise AssertionError(f"{name}: not within {BOUND:g} seconds") from None
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
        if faults := conversation.faults() + await _left_behind(*before):
            raise AssertionError(f"{name}: {'; '.join(faults)}")


async def _order(talk: TransportPair) -> None:
    """Frames arrive once, whole and in order, in both directions."""
    frames = [b'{"n":%d,"pad":"%s"}\n' % (n, b"x" * (n * 7 % 300)) for n in range(2_000)]
    for frame in frames:
        talk.left.write(frame)
        talk.right.write(frame)
    for sink in (talk.left_sink, talk.right_sink):
        await sink.until_size(len(b"".join(frames)))
        assert sink.stream == b"".join(frames), "what arrived is not what was written"
        assert all(block.endswith(b"\n") for block in sink.blocks), "a block was cut inside a frame"


async def _reuse(talk: TransportPair) -> None:
    """A block may be changed by its owner as soon as it was written."""
    block = bytearray(b"a" * 400_000 + b"\n")
    stream = b""
    talk.pause_right()
    for _ in range(3):
        talk.left.write(block)
        stream += block
        block[:-1] = bytes([block[0] + 1]) * (len(block) - 1)
    talk.resume_right()
    await talk.right_sink.until_size(len(stream))
    assert talk.right_sink.stream == stream, "a later change of the buffer was sent"


async def _big(talk: TransportPair) -> None:
    """A frame of five megabytes arrives in one piece."""
    frame = b'{"text":"' + os.urandom(BIG // 2).hex().encode() + b'"}\n'
    talk.left.write(frame)
    await talk.right_sink.until_size(len(frame))
    assert talk.right_sink.blocks == [frame], "it arrived in pieces, or changed"


async def _back_pressure(talk: TransportPair) -> None:
    """A reader that pauses is felt by the writer, and nothing is lost by it."""
    talk.pause_right()
    block, byte_count = b"y" * 9_999 + b"\n", 0
    while talk.left.pending <= talk.left.limits.high:
        assert byte_count < 64 * 1024 * 1024, "64 MiB were taken in while the reader was paused"
        talk.left.write(block)
        byte_count += len(block)
        await asyncio.sleep(0)
    drain_task = asyncio.ensure_future(talk.left.drain())
    for _ in range(100):
        await asyncio.sleep(0)
    if talk.left.pending > talk.left.limits.low:
        assert not drain_task.done(), "drain returned above the low-water mark"
    talk.resume_right()
    await drain_task
    assert talk.left.pending <= talk.left.limits.low, "drain returned above the low-water mark"
    await talk.right_sink.until_size(byte_count)
    assert talk.right_sink.stream == block * (byte_count // len(block)), "frames were lost or changed"


async def _pause_twice(talk: TransportPair) -> None:
    """Pausing and resuming may be said more than once."""
    talk.pause_right()
    talk.pause_right()
    talk.left.write(b"1\n")
    talk.resume_right()
    talk.resume_right()
    await talk.right_sink.until_size(2)
    assert talk.right_sink.stream == b"1\n", "the frame was lost"


async def _flush(talk: TransportPair) -> None:
    """What was written before aclose still arrives, and then the end."""
    frame = b"z" * 1_999_999 + b"\n"
    talk.left.write(frame)
    await talk.left.aclose()
    await talk.right_sink.until_ended()
    assert talk.right_sink.stream == frame, (
        f"{len(frame) - talk.right_sink.size} bytes were dropped at closing"
    )


async def _close_twice(talk: TransportPair) -> None:
    """Closing again, even at the same time, does no harm, and the sink was told when it returns."""
    await asyncio.gather(talk.left.aclose(), talk.left.aclose())
    assert talk.left_sink.endings == [None], "our own close is not an orderly end"
    await talk.left.aclose()


async def _write_after_close(talk: TransportPair) -> None:
    """Nothing can be written after closing."""
    await talk.left.aclose()
    for attempt in ("write", "drain"):
        try:
            if attempt == "write":
                talk.left.write(b"late\n")
            else:
                await talk.left.drain()
        except LinkClosed:
            continue
        raise AssertionError(f"{attempt} did not raise LinkClosed")
    assert talk.left.pending == 0, "bytes are pending in a closed transport"


async def _peer_gone(talk: TransportPair) -> None:
    """A peer that has gone is noticed: the sink hears the end, and writing raises."""
    await talk.right.aclose()
    with suppress(LinkClosed):
        talk.left.write(b"is anybody there?\n")
    await talk.left_sink.until_ended()
    with suppress(LinkClosed):
        while True:
            talk.left.write(b"still there?\n")
            await asyncio.sleep(0)


async def _unread(talk: TransportPair) -> None:
    """A peer that never reads again cannot keep us from closing."""
    talk.pause_right()
    talk.left.write(b"w" * BIG + b"\n")
    waiting = asyncio.ensure_future(talk.left.drain())
    await asyncio.sleep(0)
    await talk.left.aclose()
    with suppress(LinkClosed):
        await waiting


async def _size_limit(talk: TransportPair) -> None:
    """A frame above the limit is skipped and reported once, and the next one arrives."""
    limit = talk.right.limits.frame
    if limit > 2 * BIG:  # it would take memory, not insight
        return
    talk.left.write(b"v" * (limit + 1) + b"\n" + b"next\n")
    await talk.right_sink.until(lambda: talk.right_sink.size > 0 and bool(talk.right_sink.skipped_sizes))
    assert talk.right_sink.stream == b"next\n", "the frame behind an oversized one was lost"
    assert len(talk.right_sink.skipped_sizes) == 1, "not reported once"
    assert talk.right_sink.skipped_sizes[0] > limit, "reported with a size below the limit"


PROMISES: tuple[Callable[[TransportPair], Awaitable[None]], ...] = (
    _order,
    _reuse,
    _big,
    _back_pressure,
    _pause_twice,
    _flush,
    _close_twice,
    _write_after_close,
    _peer_gone,
    _unread,
    _size_limit,
)


def _descriptors() -> int:
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:  # not this system: then it is not checked
        return 0


async def _left_behind(descriptors: int, tasks: set[asyncio.Task[object]]) -> list[str]:
    """Name what is still there; a reading thread gets a moment to close what it read."""
    for _ in range(100):
        if _descriptors() <= descriptors:
            break
        await asyncio.sleep(0.01)
    leftovers = [f"{count} descriptors left open"] if (count := _descriptors() - descriptors) > 0 else []
    return leftovers + [f"a task left behind: {task.get_name()}" for task in asyncio.all_tasks() - tasks]
