"""Clients of different dialects in one session, tried one way of behaving after the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hub.company.house import open_house
from tests.hub.company.members import MEMBERS, Member


@pytest.mark.parametrize("kind", MEMBERS, ids=lambda kind: kind.dialect)
async def test_smoke(kind: type[Member], tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        first = kind(house)
        await first.join()
        first.prompt()
        await house.until(lambda: house.agent.prompts, "the prompt")
        house.agent.ask(house.agent.session, 1, "permission")
        second = kind(house)
        await second.join(first.session)
        house.agent.say(house.agent.session, "word-1.")
        await house.until(lambda: first.words == [1] == second.words, "the word")
        for one in (first, second):
            print(one.dialect, {n: vars(s) for n, s in one.seen.items()})
        await first.socket.leave()
        await second.socket.leave()
