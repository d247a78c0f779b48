"""Ends a turn from anywhere inside it, with the stop reason that the protocol has for it.

    if model.stopped == "length":
        raise StopTurn("max_tokens")

Returning the reason from the prompt handler does the same. `cancelled` may be raised as well, by an agent
that was cancelled in a way of its own.
"""

from __future__ import annotations

from dragoman.core import STOP_REASONS
from dragoman.schema import v1


class StopTurn(Exception):
    """The turn is over, for this reason."""

    def __init__(self, reason: v1.StopReason) -> None:
        if reason not in STOP_REASONS:
            raise ValueError(f"{reason!r} is no stop reason")
        super().__init__(reason)
        self.reason: v1.StopReason = reason
