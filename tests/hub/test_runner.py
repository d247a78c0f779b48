"""What a hub does because its environment says so."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from dragoman.hub.runner import run_hub
from dragoman.hub.settings import HubSettings
from dragoman.runtime.loop_watch import SWITCH


def watches() -> int:
    return sum(thread.name == "loop watch" for thread in threading.enumerate())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody looks on")
@pytest.mark.parametrize("switch", ["", "1"])
async def test_a_hub_watches_its_loop_if_it_is_told_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, switch: str
) -> None:
    monkeypatch.setenv(SWITCH, switch)
    before = watches()
    settings = HubSettings(listen="127.0.0.1:0", journal=str(tmp_path / "hub.db"), known_agents=False)
    async with run_hub(settings):
        assert watches() - before == bool(switch)
    assert watches() == before
