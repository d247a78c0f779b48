"""Markdown that is still being written, as lines: what is finished is drawn once, what is open again."""

from __future__ import annotations

from textual.content import Content

from dragoman.text.markdown import Block
from dragoman.text.markdown_stream import MarkdownStream
from dragoman.tui.text.markdown import draw_blocks


class Flow:
    """One text at one width."""

    def __init__(self, width: int) -> None:
        self.settled: list[Content] = []
        self._width = width
        self._stream = MarkdownStream()

    def feed(self, text: str) -> None:
        for block in self._stream.feed(text):
            self.settled += self._drawn([block])

    @property
    def lines(self) -> list[Content]:
        """All of it as it stands."""
        return [*self.settled, *self.open_lines]

    @property
    def open_lines(self) -> list[Content]:
        """What stands behind `settled` and may still become something else."""
        return self._drawn(self._stream.open)

    def _drawn(self, blocks: list[Block]) -> list[Content]:
        gap = [Content("")] if self.settled and blocks and blocks[0].gap else []
        return [*gap, *draw_blocks(blocks, self._width)]
