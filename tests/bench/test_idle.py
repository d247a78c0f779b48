"""An open, idle session costs a hub little memory: what it needs only while something happens is gone."""

from __future__ import annotations

import pytest

from hub.measure_idle import traced_lines

SESSIONS = 30
MOST_BYTES = 2400
"""Of each session, in the hub's own lines; 2100 when this was written. Lines of the journal and of the event
loop are left out: they hold as much however many sessions there are.
"""


@pytest.mark.bound(30)
async def test_an_idle_session_takes_two_kilobytes() -> None:
    lines = await traced_lines(SESSIONS, warm=10)
    held = {str(line.traceback): line.size_diff / SESSIONS for line in lines}
    own = {place: size for place, size in held.items() if "/dragoman/hub/" in place}
    assert sum(own.values()) < MOST_BYTES, "\n".join(
        f"{size:6.0f} {place}" for place, size in own.items() if size > 8
    )
