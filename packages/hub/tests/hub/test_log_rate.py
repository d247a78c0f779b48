"""How many lines a stranger can put into the log."""

from __future__ import annotations

import logging

import pytest

from dragoman_hub.log_rate import LogRate

log = logging.getLogger("tests.log_rate")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_many_lines_of_one_kind_become_a_few_and_a_count(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    rate = LogRate(lines=2, seconds=60.0, clock=clock)
    with rate.filtering((log.name,)):
        for number in range(1000):
            log.warning("refused %s", number)
        log.warning("something else")
        assert caplog.messages == ["refused 0", "refused 1", "something else"]
        rate.flush()
        assert len(caplog.messages) == 3  # the minute is not over
        clock.now = 61.0
        rate.flush()
        assert caplog.messages[3:] == ["998 more lines of this kind were omitted: refused …"]
        log.warning("refused %s", 2000)
        assert caplog.messages[-1] == "refused 2000"


def test_what_was_omitted_is_said_at_the_end_and_then_nothing_is_filtered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with LogRate(lines=1).filtering((log.name,)):
        log.warning("refused")
        log.warning("refused")
    assert caplog.messages == ["refused", "1 more lines of this kind were omitted: refused"]
    log.warning("refused")
    assert len(caplog.messages) == 3


def test_lines_with_text_of_a_peer_do_not_become_kinds_without_end(caplog: pytest.LogCaptureFixture) -> None:
    with LogRate(lines=1).filtering((log.name,)):
        for number in range(10_000):
            log.warning(f"{number} of a peer")  # noqa: G004 -- that is what others do
        assert len(caplog.messages) < 300
    assert len(caplog.messages) < 600
