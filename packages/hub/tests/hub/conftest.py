"""A watch over the loop of tests, and patience with slow machines."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from dragoman.runtime.loop_watch import LONGEST, LoopWatch, SlowCallback
from dragoman.testing.pace import patience


@pytest.fixture
def patient_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has much else to do may take its time to look at a folder."""
    monkeypatch.setattr("dragoman_hub.lending.turn_changes.LOOK_SECONDS", 60.0)


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
