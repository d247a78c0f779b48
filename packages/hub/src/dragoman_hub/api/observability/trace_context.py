"""W3C Trace Context, level 1, in the `_meta` of a message: reads it strictly and writes it.

What does not follow the recommendation to the letter is not there: a context that is half understood would
put spans into somebody else's trace. Pure, and without a word of OpenTelemetry.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import Struct

Meta: TypeAlias = Mapping[str, Any] | None
"""The `_meta` of a message."""

PARENT = "traceparent"
STATE = "tracestate"

MOST_MEMBERS = 32
LONGEST_STATE = 2048
"""The most characters of a `tracestate`; the recommendation requires at least 512."""

_PARENT = re.compile(
    r"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})(?P<more>-.*)?"
)
_KEY = r"(?:[a-z0-9][_0-9a-z*/-]{0,255}|[a-z0-9][_0-9a-z*/-]{0,240}@[a-z][_0-9a-z*/-]{0,13})"
_MEMBER = re.compile(
    rf"(?P<key>{_KEY})=(?P<value>[\x20-\x2b\x2d-\x3c\x3e-\x7e]{{0,255}}[\x21-\x2b\x2d-\x3c\x3e-\x7e])"
)


class TraceContext(Struct, frozen=True):
    """A position in a trace."""

    trace: int
    span: int
    flags: int = 0
    state: tuple[tuple[str, str], ...] = ()

    @property
    def traceparent(self) -> str:
        return f"00-{self.trace:032x}-{self.span:016x}-{self.flags:02x}"

    @property
    def tracestate(self) -> str:
        return ",".join(f"{key}={value}" for key, value in self.state)


def read_meta(meta: Meta) -> TraceContext | None:
    """Return the context in a message; None if there is no valid one."""
    parent = _read_parent((meta or {}).get(PARENT))
    if parent is None:
        return None
    trace, span, flags = parent
    return TraceContext(trace, span, flags, read_state((meta or {}).get(STATE)))


def _read_parent(text: object) -> tuple[int, int, int] | None:
    parent = _PARENT.fullmatch(text) if isinstance(text, str) and len(text) <= 512 else None
    if parent is None or parent["version"] == "ff":
        return None
    if parent["version"] == "00" and parent["more"]:
        return None  # later versions may say more; this one does not
    trace, span = int(parent["trace"], 16), int(parent["span"], 16)
    if not trace or not span:
        return None
    # Of the flags, `sampled` is the one that is defined; the others must not be passed on.
    return trace, span, int(parent["flags"], 16) & 1


def read_state(text: object) -> tuple[tuple[str, str], ...]:
    """Return the members in order; none if one of them is invalid."""
    if not isinstance(text, str) or len(text) > LONGEST_STATE:
        return ()
    members: dict[str, str] = {}
    for piece in text.split(","):
        entry = piece.strip(" \t")
        if not entry:
            continue  # an empty one is allowed
        member = _MEMBER.fullmatch(entry)
        if member is None or member["key"] in members:
            return ()
        members[member["key"]] = member["value"]
    return tuple(members.items()) if len(members) <= MOST_MEMBERS else ()


def with_context(meta: Meta, context: TraceContext) -> dict[str, Any]:
    """Return the same `_meta` with another context."""
    members = {name: value for name, value in (meta or {}).items() if name not in (PARENT, STATE)}
    state = {STATE: context.tracestate} if context.state else {}
    return {**members, PARENT: context.traceparent, **state}
