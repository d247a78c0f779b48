"""Background work of a journal that is not being written: it updates the word index, so that searches are
fast, and rewrites the file after deletions, so that no deleted data is left.

It works in small steps with pauses between them, because a step holds the one thread that writes, and stops
when somebody appends. Where somebody always does, the index follows all the same, but for what a search makes
up for in a moment. What another process appends meanwhile is left to the search, which looks again.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

from dragoman.errors import JournalClosed, JournalError

log = logging.getLogger(__name__)

QUIET_SECONDS = 2.0
"""The seconds without an append before the work begins."""

STEP_ENTRIES = 500
"""The entries of one step: an append at that moment waits some milliseconds."""

PAUSE_SECONDS = 0.05

RESTLESS_ROUNDS = 5
"""The multiples of `QUIET_SECONDS` with appends, after which the work no longer waits for a pause."""

RESTLESS_PAUSES = 5
"""The pauses between two steps then: the steps use 4% of a processor, for two thousand entries a second."""

SPARE_ENTRIES = 10_000
"""The entries that may be missing in the index meanwhile: a search reads so many in a fifth of a second."""

SCRUBBED_BYTES = 1024 * 1024 * 1024
"""The size above which a file is rewritten only on a user's request: appends wait for ten seconds."""


class WordJournal(Protocol):
    """A journal whose word index can be built in steps."""

    appends: int
    has_residue: bool

    @property
    def size(self) -> int: ...
    async def scrub(self) -> bool: ...

    async def index_words(self, *, most: int, spare: int = 0) -> bool: ...


async def index_while_idle(
    journal: WordJournal, *, quiet: float = QUIET_SECONDS, pause: float = PAUSE_SECONDS
) -> None:
    """Index words between appends, until the task is cancelled or the journal is closed."""
    before = indexed_appends = -1
    restless = 0
    while True:
        await asyncio.sleep(quiet)
        now = journal.appends
        is_scrubbed = not journal.has_residue or journal.size > SCRUBBED_BYTES
        restless = 0 if now == before else restless + 1
        before = now
        if 0 < restless <= RESTLESS_ROUNDS or (now == indexed_appends and is_scrubbed):
            continue
        try:
            if not (is_scrubbed or restless):
                await journal.scrub()
            while restless or journal.appends == now:
                if not await journal.index_words(most=STEP_ENTRIES, spare=SPARE_ENTRIES if restless else 0):
                    indexed_appends = -1 if restless else now
                    break
                await asyncio.sleep(pause * RESTLESS_PAUSES if restless else pause)
        except JournalClosed:
            return
        except JournalError as error:
            # A damaged index is made again by the next search; until something is appended, leave it alone.
            log.info("journal: words were not indexed ahead of a search: %s", error)
            indexed_appends = now
