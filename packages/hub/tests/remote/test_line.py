"""The line to an agent behind a real sshd: nothing is lost or doubled, whatever is cut."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.remote.other_side import SshServer, needs_sshd
from tests.remote.run_cuts import PARTS, run_cuts

CUTS = int(os.environ.get("DRAGOMAN_CUTS", "4"))

pytestmark = needs_sshd


@pytest.mark.bound(60)  # each cut costs a handshake of ssh and a start of Python
async def test_cuts_at_random_bytes_lose_nothing_and_double_nothing(
    server: SshServer, cache_here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_here))
    report = await run_cuts(server, cuts=CUTS, seed=7)
    assert report.mistakes == []
    assert report.heard == PARTS * report.written
    assert report.cuts >= CUTS
    assert report.attached > 0
