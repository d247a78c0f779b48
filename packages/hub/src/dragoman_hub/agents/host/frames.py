"""The frames of an agent that no hub has acknowledged yet: numbered, in order, sent or waiting.

What is kept is the queue to the hub at the same time: nothing is held twice, and a hub that comes back gets
all of it again from the first frame that was not acknowledged. A frame that was too large is kept as a notice
with a number of its own. Pure: it knows newlines, numbers and sizes.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from dragoman.wire.decode import count_lines

ENTRY = 256
"""The overhead of an entry: many small ones must not cost more than the limit allows."""

TOGETHER = 64
"""The most blocks in one record: as many pieces as any system accepts in one call, with a reserve."""


class KeptBlock(NamedTuple):
    """A block of frames `first` … `last`; without a block, a frame of `size` bytes that was skipped."""

    first: int
    last: int
    block: bytes | None
    size: int


class Record(NamedTuple):
    """The next record for the hub. `size` is that of the blocks, or of the skipped frame."""

    first: int
    blocks: list[bytes]
    size: int


class KeptFrames:
    """A queue of frames: `add` at one end, `take` to send, `acknowledge` to forget,
    `rewind` for a new hub.
    """

    __slots__ = ("_sent_blocks", "_unsent_blocks", "charge", "last", "last_acknowledged")

    def __init__(self) -> None:
        self.last = 0
        """The number of the newest frame."""
        self.last_acknowledged = 0
        self.charge = 0
        """What everything kept costs, in bytes."""
        self._sent_blocks: deque[KeptBlock] = deque()
        self._unsent_blocks: deque[KeptBlock] = deque()

    def __bool__(self) -> bool:
        """Whether there is data to send."""
        return bool(self._unsent_blocks)

    def add(self, block: bytes) -> None:
        """Add whole frames. Only the very last one of a stream may lack its newline, which is added."""
        if block[-1:] != b"\n":
            block += b"\n"
        first, self.last = self.last + 1, self.last + count_lines(block)
        self._unsent_blocks.append(KeptBlock(first, self.last, block, len(block)))
        self.charge += len(block) + ENTRY

    def add_oversized(self, size: int) -> None:
        """Add the notice that a frame was skipped."""
        self.last += 1
        self._unsent_blocks.append(KeptBlock(self.last, self.last, None, size))
        self.charge += ENTRY

    def take(self, size: int) -> Record | None:
        """Return the next data to send: adjacent blocks up to about `size` bytes, a notice, or nothing."""
        if not self._unsent_blocks:
            return None
        head = self._forward()
        if head.block is None:
            return Record(head.first, [], head.size)
        blocks, total = [head.block], head.size
        while total < size and len(blocks) < TOGETHER and self._unsent_blocks:
            block = self._unsent_blocks[0].block
            if block is None or total + len(block) > size:
                break
            blocks.append(block)
            total += len(block)
            self._forward()
        return Record(head.first, blocks, total)

    def acknowledge(self, number: int) -> None:
        """Forget frames up to this one, which are safe elsewhere. Unsent frames can't be safe."""
        self.last_acknowledged = max(self.last_acknowledged, min(number, self.last))
        self._forget(self._sent_blocks)
        if not self._sent_blocks:
            self._forget(self._unsent_blocks)
            self._cut()

    def rewind(self) -> None:
        """Send everything in the queue again."""
        self._unsent_blocks.extendleft(reversed(self._sent_blocks))
        self._sent_blocks.clear()
        self._cut()

    def _forward(self) -> KeptBlock:
        block = self._unsent_blocks.popleft()
        self._sent_blocks.append(block)
        return block

    def _forget(self, queue: deque[KeptBlock]) -> None:
        while queue and queue[0].last <= self.last_acknowledged:
            kept = queue.popleft()
            self.charge -= ENTRY + (0 if kept.block is None else kept.size)

    def _cut(self) -> None:
        """The block that is sent next begins behind the last acknowledged frame."""
        if not self._unsent_blocks or self._unsent_blocks[0].first > self.last_acknowledged:
            return
        old = self._unsent_blocks.popleft()
        assert old.block is not None  # a notice is one frame: acknowledged as a whole, or not at all
        count = self.last_acknowledged - old.first + 1
        rest = old.block.split(b"\n", count)[count]
        self._unsent_blocks.appendleft(KeptBlock(self.last_acknowledged + 1, old.last, rest, len(rest)))
        self.charge -= len(old.block) - len(rest)
