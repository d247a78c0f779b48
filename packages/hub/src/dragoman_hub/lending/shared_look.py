"""A snapshot of a folder that several turns share, and the pause after a slow one."""

from __future__ import annotations

import asyncio

from dragoman.errors import DragomanError
from dragoman_hub.lending.folder_turn import FolderLook, FolderTurn
from dragoman_local.workspace.snapshot_entries import TurnStart

FIRST_PAUSE = 30.0
LONGEST_PAUSE = 3600.0
"""The longest pause in seconds after a snapshot that took too long; each further one doubles the pause."""


class LookFailed(DragomanError):
    """No snapshot of a folder could be taken, with the reason."""


class LookPause:
    """No snapshots of a folder until a certain time."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.until = 0.0

    def extend(self, now: float) -> None:
        self.seconds = min(LONGEST_PAUSE, max(FIRST_PAUSE, 2 * self.seconds))
        self.until = now + self.seconds


class SharedLook:
    """One snapshot of a folder, for all turns that requested it before it began."""

    def __init__(self, key: tuple[str, object], why: str = "") -> None:
        self.key = key
        self.task: asyncio.Future[FolderLook] | None = None
        """None if there is no look."""
        self.why = why
        self.start = TurnStart()
        """When the first of the turns began; for a look before turns."""
        self.bases: list[FolderLook] = []
        """The looks before the turns; for a look after turns."""
        self.turns: dict[FolderTurn, None] = {}
        """Those that wait for it."""
        self.is_taken = False
        """Whether nothing is missing but its place in the store."""


async def close_result(looking: asyncio.Future[FolderLook]) -> None:
    try:
        await (await looking).aclose()
    except (DragomanError, OSError):
        pass  # whoever waited for it has been told that nothing is known
