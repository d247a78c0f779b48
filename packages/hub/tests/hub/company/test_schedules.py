"""Eight dialects in company, by random schedules; see `schedules` for what must hold.

`DRAGOMAN_COMPANY` says how many there are. A failure names its seed; `DRAGOMAN_COMPANY_SEED=17` runs that
schedule alone: the same events in the same order, while threads of the journal may take another moment.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.hub.company.house import Ticks, open_house
from tests.hub.company.members import Inbox
from tests.hub.company.schedules import Schedule

COUNT = int(os.environ.get("DRAGOMAN_COMPANY", "10"))
ONLY = os.environ.get("DRAGOMAN_COMPANY_SEED", "")
AT_ONCE = 20
"""Schedules that share a hub, one after the other: each is a session of its own."""


def rounds() -> list[range]:
    if ONLY:
        return [range(int(ONLY), int(ONLY) + 1)]
    return [range(first, min(first + AT_ONCE, COUNT)) for first in range(0, COUNT, AT_ONCE)]


@pytest.fixture(autouse=True)
def own_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What people allow for good is remembered for this test alone."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.bound(120)
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seeds", rounds(), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
async def test_one_persons_answer_settles_a_question_once_and_everybody_hears_of_it(
    seeds: range, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tick = Ticks()
    questions = 0
    async with open_house(tmp_path, tick) as house:
        inbox = Inbox(house)
        await inbox.open()
        for seed in seeds:
            schedule = Schedule(house, inbox, seed, tick=tick, first_question=questions + 1)
            try:
                await schedule.run()
            except AssertionError as error:
                done = "\n".join(schedule.trace)
                raise AssertionError(f"DRAGOMAN_COMPANY_SEED={seed}: {error}\n{done}") from error
            questions += len(schedule.kinds)
        await inbox.socket.leave()
    with capsys.disabled():
        print(f" [{len(seeds)} schedules, {questions} questions]", end="")
    assert questions > len(seeds)
