"""Search in a conversation: from one match to the next, loading earlier pages on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from dragoman_app.tui.model.transcript import Transcript
from dragoman_app.tui.text.find import Hit, find_words
from dragoman_app.tui.widgets.find_bar import FindBar
from dragoman_app.tui.widgets.transcript_view import TranscriptView

PAUSE = 0.1
"""The seconds without a key before a search begins."""

PAGES = 50
"""The most earlier pages to load for one step back; another step loads more."""


class TranscriptSearch:
    """The search in one conversation. It begins at the end, where the reader is."""

    def __init__(
        self,
        transcript: Transcript,
        view: TranscriptView,
        bar: FindBar,
        fetch_earlier: Callable[[], Awaitable[bool]],
    ) -> None:
        """`fetch_earlier` loads an earlier page, and returns whether there was one."""
        self._transcript = transcript
        self._view = view
        self._bar = bar
        self._fetch_earlier = fetch_earlier
        self._words = ""
        self._hit: Hit | None = None

    async def move(self, words: str, step: int) -> None:
        """Move to the next match (1), to the previous (-1), or to the last for new words."""
        if step == 0:
            await asyncio.sleep(PAUSE)
        words = words.strip()
        if words != self._words:
            self._words, self._hit, step = words, None, -1
        if not words:
            self.end()
            return
        hits = find_words(self._transcript.entries, words)
        at = self._place_in(hits) + step
        if at < 0:
            hits = await self._look_earlier(len(hits))
            at = self._place_in(hits) - 1
        if not hits:
            self._view.mark_words("")
            self._bar.say("nothing")
            return
        at = max(0, min(at, len(hits) - 1))
        self._hit = hits[at]
        is_seen = self._view.show_hit(self._hit, words)
        hint = "" if is_seen else " · in hidden text: press Tab, then o to open it"
        self._bar.say(f"{at + 1} of {len(hits)}{hint}")

    def _place_in(self, hits: list[Hit]) -> int:
        """Of the hit that is shown; behind the last if there is none."""
        return hits.index(self._hit) if self._hit in hits else len(hits)

    async def _look_earlier(self, count: int) -> list[Hit]:
        """Fetch pages until one has the words, or there are no more."""
        for _ in range(PAGES):
            if not await self._fetch_earlier():
                break
            self._view.look()
            hits = find_words(self._transcript.entries, self._words)
            if len(hits) > count:
                return hits
        return find_words(self._transcript.entries, self._words)

    def end(self) -> None:
        """Remove all marks."""
        self._words, self._hit = "", None
        self._view.mark_words("")
        self._bar.say("")
