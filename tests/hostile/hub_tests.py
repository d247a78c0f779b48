"""What every file of tricks through a hub has: one hub for all of them, and what became of each."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence

import pytest

from tests.hostile.ground import HostileHub, Outcome
from tests.hostile.tricks import Trick


def possible(tricks: Sequence[Trick]) -> list[Trick]:
    """Those whose programs are here."""
    return [trick for trick in tricks if not trick.needs or shutil.which(trick.needs)]


def outcomes_of(tricks: Sequence[Trick]) -> Callable[..., Iterator[dict[str, Outcome]]]:
    """A fixture that plays them all, once for the module."""

    @pytest.fixture(scope="module")
    def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Outcome]]:
        hub = HostileHub(tmp_path_factory.mktemp("hub"), tricks)
        hub.start()
        try:
            yield hub.play(tricks)
        finally:
            hub.close()

    return outcomes


def check_cheat(outcome: Outcome) -> None:
    """Fails if the trick had its effect."""
    assert not outcome.is_cheated, outcome.story


def check_honest(outcomes: dict[str, Outcome]) -> None:
    """Fails if an honest way had no effect, or if a trick would have none if it were let through."""
    idle = [f"{name}: {outcome.story}" for name, outcome in outcomes.items() if not outcome.is_honest_done]
    assert not idle, "\n\n".join(idle)
    assert [name for name, outcome in outcomes.items() if not outcome.is_proven] == []
