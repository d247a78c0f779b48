"""A watch over the loop of tests and over mistakes of ours, and patience with slow machines."""

from __future__ import annotations

import logging
import os
import traceback
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


SLIPS = (AssertionError, AttributeError, LookupError, NameError, TypeError)
"""What is raised by a mistake in our code, and by nothing that happens to it."""


class SlipHandler(logging.Handler):
    """Keeps what the hub logs of mistakes that were made in its sources, not in a test."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.slips: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, SLIPS):
            frames = traceback.extract_tb(error.__traceback__)
            if frames and "/src/dragoman" in frames[-1].filename:
                self.slips.append(f"{record.getMessage()}: {frames[-1]}: {error!r}")


@pytest.fixture(autouse=True)
def no_slips() -> Iterator[None]:
    """What fails by a mistake of ours costs the hub one message, and is logged: here it fails the test."""
    handler, logger = SlipHandler(), logging.getLogger("dragoman_hub")
    logger.addHandler(handler)
    yield
    logger.removeHandler(handler)
    if handler.slips:
        pytest.fail("\n".join(handler.slips), pytrace=False)
