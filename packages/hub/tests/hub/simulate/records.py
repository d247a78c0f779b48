"""What a client has asked, and what it was told: the oracle's view of clients."""

from __future__ import annotations

import asyncio
from typing import Any


class Attempt:
    """A request of a client, and what came back for it."""

    def __init__(self, method: str, session: str, key: str, time: float) -> None:
        self.method = method
        self.session = session
        self.key = key
        self.sent = time
        self.answers: list[dict[str, Any]] = []
        self.answered_at = 0.0
        self.is_lost = False
        """Whether its connection broke, so that no answer can come."""
        self.done = asyncio.Event()

    @property
    def answer(self) -> dict[str, Any] | None:
        return self.answers[0] if self.answers else None


class Segment:
    """What one connection was told of one session since it began to follow it."""

    def __init__(self, how: str, session: str, time: float, *, earlier: Segment | None = None) -> None:
        self.how = how
        self.session = session
        self.begun = time
        self.earlier = earlier
        """What the same connection followed of this session when it asked for all of it."""
        self.texts: list[str] = []
        self.ended_turns: list[str] = []
        self.echoes: list[str] = []
        """Blocks of prompts that it was told."""
        self.is_followed = False
        """Whether the hub has agreed, and nothing has ended it."""
