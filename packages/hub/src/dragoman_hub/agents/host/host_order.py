"""What an agent host is told when it starts, and its reply on standard output: that it is ready, or why it
can't start. Whoever starts one and the host itself read this; neither loads the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from dragoman.transport.contract import READ_SIZE

READY = b"ready\n"

FAILED = b"failed "
"""Stands before a reason. A host that says neither had no time for one: then its last line is the reason."""

READY_WITHIN = 60.0
"""Seconds. An ordinary start takes a tenth of one; a machine that swaps takes its time."""


class HostOrder(Struct, frozen=True, kw_only=True):
    """What an agent host has to run, the path of its socket, and its time limits."""

    command: Sequence[str]
    socket: Path
    cwd: str | None = None
    env: Mapping[str, str] | None = None
    """The agent's whole environment; None hands on that of the host."""
    linger: float = 60.0
    buffer: int = 64 << 20
    batch: int = READ_SIZE
    """Bytes of frames that go as one record, about: a record that is cut goes again as a whole."""
    lease: float | None = None
    """When the first lease ends, on the clock of `lease.now`; None for an agent that may act without one."""

    lease_linger: float = 20.0
    """Seconds that it stands still without a lease before it is ended."""
    sandbox: str = "auto"
    """The wall that the host itself builds, and not whoever started it: on another machine."""


def reason_of(reply: bytes) -> str:
    """The reason why a host is not ready, from its output."""
    if reply.startswith(FAILED):
        return reply.removeprefix(FAILED).decode(errors="replace").strip()
    lines = reply.decode(errors="replace").strip().splitlines()
    return f"cannot start an agent host for the agent: {lines[-1] if lines else 'it said nothing'}"
