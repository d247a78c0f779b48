"""How long a folder whose look took too long is left alone."""

from __future__ import annotations

from dragoman_hub.lending.shared_look import FIRST_PAUSE, LONGEST_PAUSE, LookPause


def test_each_further_pause_is_twice_as_long_up_to_a_bound() -> None:
    pause, seconds = LookPause(), []
    for now in range(9):
        pause.extend(float(now))
        assert pause.until == now + pause.seconds
        seconds.append(pause.seconds)
    doubled = [FIRST_PAUSE * 2**number for number in range(9)]
    assert seconds == [min(LONGEST_PAUSE, each) for each in doubled]
    assert seconds[-1] == LONGEST_PAUSE
