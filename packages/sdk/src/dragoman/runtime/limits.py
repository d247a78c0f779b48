"""The limits of a link, each with its reason."""

from __future__ import annotations

from math import isnan
from typing import Any

from msgspec import Struct

from dragoman.errors import InvalidValue

MEBIBYTE = 1024 * 1024

HANDSHAKE_SECONDS = 45.0
"""From an agent's start to its answer to `initialize`, wherever nobody says otherwise. Long, because some
agents install themselves first, or load a model's settings over the network.
"""


class Limits(Struct, frozen=True, kw_only=True):
    """Bytes and seconds. None means no deadline.

        limits = Limits(call_seconds=30, silence_seconds=120)
        async with connect("some-agent --acp", limits=limits) as agent:
            ...

    What each limit protects stands beside it.
    """

    work_bytes: int = 256 * MEBIBYTE
    """The params of all requests that are being worked on; more is refused, because a pause would also stop
    the cancels.
    """

    work_requests: int = 20_000
    """Their number, because each costs some three kilobytes even when it says nothing."""

    backlog_bytes: int = 8 * MEBIBYTE
    """Updates that a session's reader has not taken yet; above it we stop reading, so that the agent feels
    it.
    """

    backlog_hard_bytes: int = 64 * MEBIBYTE
    """The same while a call is open, whose answer the reader may be waiting for; and then also for answers
    that the peer does not take.
    """

    spawn_seconds: float | None = 10.0
    handshake_seconds: float | None = HANDSHAKE_SECONDS
    call_seconds: float | None = 120.0
    """Any call that a machine answers. Turns, commands, and whatever a person may answer have no deadline:
    permissions, questions, lent files, new terminals, logins, extensions of clients (`schema.waits` has the
    table). The clock stands still while the peer waits for a person at our side. A `deadline` that is given
    with a call holds as it is.
    """

    silence_seconds: float | None = None
    """Within a turn, since the last frame of any kind. Off by default: only the caller knows how slow its
    model is.
    """

    cancel_seconds: float = 1.5
    """What a handler gets to clean up after a cancel before the turn is answered without it."""

    end_seconds: float = 2.0
    """What still runs when a conversation is over gets to end by itself: our own work after the end of its
    input; an agent that we started after the end of its input, and once more after being asked to end.
    """

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if name.endswith("_seconds"):
                check_seconds(value, name)
            elif type(value) is not int:
                raise InvalidValue(name, value, "must be a whole number")


def check_seconds(value: Any, argument: str) -> float | None:
    """Return the value if it is a valid time. A timer would notice too late, while it watches other calls."""
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and not isnan(value):
        return value
    raise InvalidValue(argument, value, "must be a number of seconds, or None")


def check_kind(value: object, kind: type, argument: str) -> None:
    """Raise an error unless the value is of this type or omitted."""
    if value is not None and not isinstance(value, kind):
        raise InvalidValue(argument, value, f"must be of the class {kind.__name__}")


DEFAULT_LIMITS = Limits()
