"""The limits of a model in one review: requests, tokens and seconds. All requests are counted here.

A part of each is kept for the second look at what the model found: findings that nobody has tried to refute
are worth less than fewer findings that stood the trial.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec import Struct

from dragoman.schema import v1

LOOK = 2 / 3
"""The share of a budget that may be used before findings are verified."""


class ReviewBudget(Struct, frozen=True, kw_only=True):
    """The limits of one review."""

    requests: int = 40
    tokens: int = 400_000
    """Input and output tokens of all requests together, as the server counts them."""
    seconds: float = 600.0


class BudgetExhausted(Exception):
    """A limit is reached. `reason` is the protocol's stop reason, `words` name the limit."""

    def __init__(self, reason: v1.StopReason, words: str) -> None:
        super().__init__(words)
        self.reason = reason
        self.words = words


class BudgetMeter:
    """The used part of a review's budget."""

    def __init__(self, limits: ReviewBudget, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._begin = clock()
        self.requests = 0
        self.tokens = 0

    def check(self, *, share: float = 1.0) -> None:
        """Raise `BudgetExhausted` if this share of any limit is used up."""
        limits = self._limits
        if self.requests >= max(1, round(limits.requests * share)):
            raise BudgetExhausted("max_turn_requests", f"the budget of {limits.requests} requests is used up")
        if self.tokens >= limits.tokens * share:
            raise BudgetExhausted("max_tokens", f"the budget of {limits.tokens} tokens is used up")
        if self.seconds_left(share=share) <= 0:
            raise self.out_of_time()

    def out_of_time(self) -> BudgetExhausted:
        # The protocol has no reason for time; this one also says that there will be no more requests.
        words = f"the budget of {self._limits.seconds:g} seconds is used up"
        return BudgetExhausted("max_turn_requests", words)

    def seconds_left(self, *, share: float = 1.0) -> float:
        return self._begin + self._limits.seconds * share - self._clock()
