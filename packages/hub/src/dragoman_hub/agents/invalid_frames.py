"""Lines of an agent that are not messages: dropped, counted, and logged at a limited rate.

An agent may print a thousand lines a second that make no sense. The first is logged at once; after that the
log has at most one line in `LOG_SECONDS`, which says how many came since. What was sent is never logged.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

LOG_SECONDS = 10.0


class InvalidFrames:
    """Counts the invalid frames of one agent, over all its processes."""

    def __init__(self, agent: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.count = 0
        """Since the hub was started."""
        self._agent = agent
        self._clock = clock
        self._logged_count = 0  # how many of them the log tells of
        self._bytes = 0  # of those that it does not
        self._next_log = float("-inf")

    def add(self, size: int, why: str) -> None:
        """Count a frame; `why` describes the mistake in our own words."""
        self.count += 1
        self._bytes += size
        if self._clock() >= self._next_log:
            self.flush(f"; {why}")

    def flush(self, why: str = "") -> None:
        """Log the counts that are not logged yet."""
        count = self.count - self._logged_count
        if not count:
            return
        log.warning(
            "agent %s sent %d invalid message%s (%d bytes), dropped; %d since the hub was started%s",
            self._agent,
            count,
            "" if count == 1 else "s",
            self._bytes,
            self.count,
            why,
        )
        self._logged_count, self._bytes = self.count, 0
        self._next_log = self._clock() + LOG_SECONDS
