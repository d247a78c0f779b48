"""A program is looked for without holding up the loop."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from dragoman.errors import SpawnTimeout
from dragoman.sdk.supervision.life import reachable


async def test_a_file_system_that_hangs_is_a_deadline_of_its_own() -> None:
    wake = threading.Event()
    try:
        with pytest.raises(SpawnTimeout) as late:
            await reachable(sys.executable, cwd=None, env=None, seconds=0.05, look=lambda _: wake.wait())
        assert late.value.seconds == 0.05
    finally:
        wake.set()


async def test_what_is_there_and_what_is_not_are_both_no_reason_to_wait(tmp_path: Path) -> None:
    await reachable(sys.executable, cwd=tmp_path, env=None, seconds=2)
    await reachable("no-such-program", cwd=tmp_path / "none", env={"PATH": "/bin"}, seconds=2)
