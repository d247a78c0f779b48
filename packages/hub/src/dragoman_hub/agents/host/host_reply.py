"""The reply of an agent host on its standard output when it starts: that it is ready, or why it can't
start.
"""

from __future__ import annotations

READY = b"ready\n"

FAILED = b"failed "
"""The prefix of a reason. A host that sends neither had no time for one: then its last line is the reason."""

READY_WITHIN = 60.0
"""The seconds for a start. An ordinary one takes a tenth of a second; a machine that swaps takes longer."""


def reason_of(reply: bytes) -> str:
    """Return the reason why a host is not ready, from its output."""
    if reply.startswith(FAILED):
        return reply.removeprefix(FAILED).decode(errors="replace").strip()
    lines = reply.decode(errors="replace").strip().splitlines()
    return f"cannot start an agent host for the agent: {lines[-1] if lines else 'it said nothing'}"
