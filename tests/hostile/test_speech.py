"""Agents that speak as the hub, and frames that say two things."""

from __future__ import annotations

import pytest

from tests.hostile.ground import Outcome
from tests.hostile.hub_tests import check_cheat, check_honest, outcomes_of, possible
from tests.hostile.tricks import Trick, as_parameters
from tests.hostile.tricks_speech import SPEECH

pytestmark = pytest.mark.timeout(300)
TRICKS = possible(SPEECH)
outcomes = outcomes_of(TRICKS)


@pytest.mark.parametrize("trick", as_parameters(TRICKS))
def test_nothing_is_done_that_nobody_decided(trick: Trick, outcomes: dict[str, Outcome]) -> None:
    check_cheat(outcomes[trick.name])


def test_the_honest_way_has_its_effect(outcomes: dict[str, Outcome]) -> None:
    check_honest(outcomes)
