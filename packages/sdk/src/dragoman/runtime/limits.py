"""The limits of a link, each with its reason."""

from __future__ import annotations

from math import isnan
from typing import Any

from msgspec import Struct

from dragoman.errors import InvalidValue

MEBIBYTE = 1024 * 1024

HANDSHAKE_SECONDS = 45.0
"""The most seconds from an agent's start to its `initialize` answer, unless configured. Long, because some
agents first install themselves or load a model's settings over the network.
"""


class Limits(Struct, frozen=True, kw_only=True):
    """Bytes and seconds. None means no deadline.

        limits = Limits(call_seconds=30, silence_seconds=120)
        async with connect("some-agent --acp", limits=limits) as agent:
            ...

    What each limit protects stands beside it.
    """

    work_bytes: int = 256 * MEBIBYTE
    """The most bytes of params of all requests in progress. Further requests are refused, because a pause
    would also stop cancels.
    """

    work_requests: int = 20_000
    """The most requests in progress: each costs some three kilobytes, even an empty one."""

    backlog_bytes: int = 8 * MEBIBYTE
    """The most bytes of updates that a session's reader has not taken; above this limit the link stops
    reading, so that the agent slows down.
    """

    backlog_hard_bytes: int = 64 * MEBIBYTE
    """The same limit while a call is open, whose answer the reader may need. Also limits the answers that the
    peer has not read.
    """

    spawn_seconds: float | None = 10.0
    handshake_seconds: float | None = HANDSHAKE_SECONDS
    call_seconds: float | None = 120.0
    """The most seconds of a call that a machine answers. Turns, commands and requests that a person may
    answer have no deadline: permissions, questions, lent files, new terminals, logins, extensions of clients
    (`schema.waits` has the table). The clock is paused while the peer waits for a person here. A call's own
    `deadline` is never changed.
    """

    silence_seconds: float | None = None
    """The most seconds without a frame within a turn. Off by default: only the caller knows how slow the
    model is.
    """

    cancel_seconds: float = 1.5
    """The seconds that a handler has for cleaning up after a cancel, before the turn is
    answered without it.
    """

    end_seconds: float = 2.0
    """The seconds that running work has to end by itself when a conversation is over: our own work after the
    end of its input; an agent that we started after the end of its input, and again after a request to end.
    """

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if name.endswith("_seconds"):
                check_seconds(value, name)
            elif type(value) is not int:
                raise InvalidValue(name, value, "must be a whole number")


def check_seconds(value: Any, argument: str) -> float | None:
    """Return the value if it is a valid time. A timer would find the mistake too late, while it watches other
    calls.
    """
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
