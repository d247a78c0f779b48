"""What hubs of old versions have left, for every test that opens it, and a watch over the loop of tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dragoman.runtime.loop_watch import LONGEST, LoopWatch, SlowCallback
from dragoman.testing.pace import patience
from tests.nats_servers import Servers, started

if TYPE_CHECKING:
    from tests.hub.fixtures.scenes import OldScene


@pytest.fixture(scope="module")
def old_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with started(tmp_path_factory.mktemp("nats")) as servers:
        yield servers


@pytest.fixture(params=["sqlite", "sealed", "nats"])
async def old_scene(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> OldScene:
    """A fresh copy, one for each kind of journal."""
    from tests.hub.fixtures.scenes import OldScene  # most tests of the hub do without it

    url = request.getfixturevalue("old_server").url if request.param == "nats" else ""
    scene = OldScene(request.param, tmp_path, server=url)
    scene.set_environment(monkeypatch)
    await scene.unpack()
    return scene


@pytest.fixture
def patient_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has much else to do may take its time to look at a folder."""
    monkeypatch.setattr("dragoman.hub.lending.turn_changes.LOOK_SECONDS", 60.0)


@pytest.fixture(autouse=True, scope="module")
def watched_loop() -> Iterator[None]:
    """Nothing of ours may hold up the loop: whoever does is named, with the test."""
    slow_callbacks: list[str] = []

    def note(slow: SlowCallback) -> None:
        slow_callbacks.append(f"{slow} in {os.environ.get('PYTEST_CURRENT_TEST', 'no test')}")

    with LoopWatch(note, seconds=patience(LONGEST)):
        yield
    if slow_callbacks:
        pytest.fail("\n".join(slow_callbacks), pytrace=False)
