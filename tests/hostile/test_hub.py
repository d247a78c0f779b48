"""Every trick through one hub: with rules, with a person, and with a hub that is killed in between.

An effect is looked for on disk, or in what a client heard; the honest way of doing the same must have its
effect, so that nothing passes because nothing happens. What still succeeds is in `open_tricks.txt`: who mends
it deletes its line.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.ground import HostileHub, Outcome
from tests.hostile.raw_client import Person, RawClient, never
from tests.hostile.tricks import (
    AT_FIRST,
    OPEN,
    Named,
    Trick,
    as_parameters,
    names_in,
    open_tricks,
    spelled_steps,
    turn,
)
from tests.hostile.tricks_always import ALWAYS
from tests.hostile.tricks_claims import CLAIMS
from tests.hostile.tricks_commands import COMMANDS
from tests.hostile.tricks_denied import DENIED
from tests.hostile.tricks_faces import FACES, RENAMED
from tests.hostile.tricks_lines import LINES
from tests.hostile.tricks_links import LINKS
from tests.hostile.tricks_places import PLACES
from tests.hostile.tricks_questions import QUESTIONS, RESTARTED
from tests.hostile.tricks_speech import SPEECH
from tests.hostile.tricks_weight import RULES, WEIGHTS, Weight

pytestmark = pytest.mark.timeout(600)  # the first test waits for all tricks

ALL = (*COMMANDS, *DENIED, *LINKS, *LINES, *PLACES, *QUESTIONS, *CLAIMS, *ALWAYS, *SPEECH, *RESTARTED)
TRICKS = [trick for trick in ALL if not trick.needs or shutil.which(trick.needs)]
STAGE = Trick(name="weight", axis="G", said="", does="", turns=(), honest=(), rules=RULES)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostileHub]:
    made = HostileHub(tmp_path_factory.mktemp("hub"), [*TRICKS, STAGE])
    made.start()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def outcomes(hub: HostileHub) -> dict[str, Outcome]:
    return hub.play(TRICKS)


@pytest.fixture(scope="module")
def seconds(hub: HostileHub) -> dict[str, float]:
    return asyncio.run(weigh(hub))


@pytest.mark.parametrize("trick", as_parameters(TRICKS))
def test_nothing_is_done_that_nobody_decided(trick: Trick, outcomes: dict[str, Outcome]) -> None:
    assert not outcomes[trick.name].is_cheated, outcomes[trick.name].story


def test_the_honest_way_has_its_effect(outcomes: dict[str, Outcome]) -> None:
    idle = [f"{name}: {outcome.story}" for name, outcome in outcomes.items() if not outcome.is_honest_done]
    assert not idle, "\n\n".join(idle)


def test_each_line_would_have_its_evil_effect_if_it_were_let_through(outcomes: dict[str, Outcome]) -> None:
    assert [name for name, outcome in outcomes.items() if not outcome.is_proven] == []


@pytest.mark.parametrize("weight", as_parameters(WEIGHTS))
def test_nobody_else_waits_for_a_judgement(weight: Weight, seconds: dict[str, float]) -> None:
    """Time is that of the hub's processor, beside what this processor takes for a loop."""
    assert seconds[weight.name] < 8 * loop_seconds()


def test_every_name_is_there_once_and_the_lists_name_tricks() -> None:
    tricks: list[Named] = [*ALL, *WEIGHTS, *FACES, *RENAMED]
    names = [trick.name for trick in tricks]
    assert len(names) == len(set(names))
    assert names_in(AT_FIRST) <= set(names)
    assert open_tricks(OPEN).keys() <= names_in(AT_FIRST)


async def weigh(hub: HostileHub) -> dict[str, float]:
    """For each request, the longest that the hub worked before somebody else was answered."""
    hub.prepare(STAGE, "cheat")
    spell = hub.spell(STAGE, "cheat")
    client, other = await hub.connect(), await hub.connect()
    session = await client.new_session(spell["here"], Person(never))
    found = {}
    for weight in WEIGHTS:
        steps = spelled_steps(turn({"ask": weight.asked}), spell)
        task = asyncio.get_running_loop().create_task(client.prompt(session, steps, seconds=100))
        found[weight.name] = await longest_wait(hub, other, task)
        assert '"outcome"' in client.words(session), "nobody decided"
        client.heard.clear()
    await client.aclose()
    await other.aclose()
    return found


async def longest_wait(hub: HostileHub, other: RawClient, task: asyncio.Task[dict[str, object]]) -> float:
    longest = 0.0
    while not task.done():
        before = processor_seconds(hub)
        await other.request("_dragoman/hub/sessions", {"limit": 1}, seconds=100)
        longest = max(longest, processor_seconds(hub) - before)
    await task
    return longest


def processor_seconds(hub: HostileHub) -> float:
    assert hub.process is not None
    fields = Path(f"/proc/{hub.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def loop_seconds() -> float:
    """What a million small steps take here: 0.06 on a common processor."""
    began = time.process_time()
    sum(number for number in range(1_000_000))
    return time.process_time() - began
