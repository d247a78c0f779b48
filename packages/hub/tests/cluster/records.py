"""What everybody writes down in a storm: clients, agents, and whoever kills. One JSON object a line.

Every line has the time at which it was written, in seconds of the one clock that all processes of a machine
share and that counts while it sleeps (`now`). Only the journal's own times are those of the wall clock:
`Storm.wall` says what to add. A file may end in the middle of a line: its writer was killed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct

from dragoman_local.journal import StoredEntry

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def now() -> float:
    return time.clock_gettime(_CLOCK)


class Line(Struct, frozen=True, kw_only=True, tag_field="what"):
    """`t` is when it was written."""

    t: float


# Of clients.


class Joined(Line, frozen=True, kw_only=True, tag="joined"):
    """From here on it follows a session, behind `after`; the empty cursor is the beginning."""

    session: str
    after: str


class Left(Line, frozen=True, kw_only=True, tag="left"):
    session: str


class Told(Line, frozen=True, kw_only=True, tag="told"):
    """A message about a session. `kind` is `update`, `echo`, `asked`, or the name of an event."""

    session: str
    cursor: str
    kind: str
    text: str = ""


class Prompted(Line, frozen=True, kw_only=True, tag="prompted"):
    session: str
    key: str


class Ended(Line, frozen=True, kw_only=True, tag="ended"):
    """A prompt of its own was answered, with a stop reason or `error: …`."""

    session: str
    key: str
    outcome: str


class Cancelled(Line, frozen=True, kw_only=True, tag="cancelled"):
    """It has asked for the end of whatever turn runs."""

    session: str


class Answered(Line, frozen=True, kw_only=True, tag="answered"):
    """It has answered an approval; `settled` if the hub has said that this answer counted."""

    session: str
    request: str
    option: str
    settled: bool = False


class Away(Line, frozen=True, kw_only=True, tag="away"):
    """It has no connection."""

    why: str = ""


class Back(Line, frozen=True, kw_only=True, tag="back"):
    away: float = 0.0


# Of agents.


class Started(Line, frozen=True, kw_only=True, tag="start"):
    pid: int
    node: str


class Begun(Line, frozen=True, kw_only=True, tag="begin"):
    session: str
    key: str


class Sent(Line, frozen=True, kw_only=True, tag="sent"):
    session: str
    key: str
    n: int


class Asked(Line, frozen=True, kw_only=True, tag="asks"):
    """It asks for an approval, which it calls `name`."""

    session: str
    key: str
    name: str


class Heard(Line, frozen=True, kw_only=True, tag="heard"):
    """The answer to one of its approvals; the option, or `cancelled` or `error`."""

    session: str
    key: str
    name: str
    option: str


class Finished(Line, frozen=True, kw_only=True, tag="end"):
    session: str
    key: str
    outcome: str


class Beat(Line, frozen=True, kw_only=True, tag="beat"):
    """It runs, and works on something."""


# Of whoever makes the storm.


class Blow(Line, frozen=True, kw_only=True, tag="blow"):
    """`how`: kill, stop, pause, cut. `over`: when it was undone; -1 if it never was."""

    how: str
    target: str
    over: float = -1.0


ClientLine: TypeAlias = Joined | Left | Told | Prompted | Ended | Cancelled | Answered | Away | Back
AgentLine: TypeAlias = Started | Begun | Sent | Asked | Heard | Finished | Beat


class Storm(Struct, kw_only=True):
    """All that is known of one."""

    sessions: dict[str, list[StoredEntry]]
    """The stream of each session, from its beginning."""
    clients: dict[str, list[ClientLine]]
    agents: dict[str, list[AgentLine]]
    """A list for each process."""
    blows: list[Blow]
    wall: float
    """What a time of the journal has more than one of `now`."""
    stalls: list[tuple[float, float]] = []
    """When the machine let us wait, and for how many seconds: nobody can be blamed for those."""
    calm: float
    """When the last session was asked for something new; from here on silence is not a fault."""


_write = msgspec.json.Encoder().encode
_read_client = msgspec.json.Decoder(ClientLine)
_read_agent = msgspec.json.Decoder(AgentLine)


def written(line: Line) -> bytes:
    return _write(line) + b"\n"


def read_client(path: Path) -> list[ClientLine]:
    return [_read_client.decode(line) for line in _whole_lines(path)]


def read_agent(path: Path) -> list[AgentLine]:
    return [_read_agent.decode(line) for line in _whole_lines(path)]


def save(storm: Storm, path: Path) -> None:
    """For whoever wants to judge it again."""
    path.write_bytes(msgspec.msgpack.encode(storm))


def load(path: Path) -> Storm:
    return msgspec.msgpack.decode(path.read_bytes(), type=Storm)


def _whole_lines(path: Path) -> Iterator[bytes]:
    *whole, _ = path.read_bytes().split(b"\n")
    return (line for line in whole if line)
