"""Faults in scripts: every place is hit, and our own client survives each of them."""

from pathlib import Path

import pytest

from dragoman import Limits, connect
from dragoman.errors import DragomanError
from dragoman.testing import FAULTS, Script, ScriptedAgent, Variant, faulty, talking_to
from tests.forks import forked

STORY = Script.parse(
    """
    agent shaky
    on new
      answer
      update {"sessionUpdate": "available_commands_update", "availableCommands": []}
    on prompt
      think "hm"
      tool "Look" kind=read
        status in_progress
        status completed
      repeat 2
        say "word "
    """
)
HURRY = Limits(handshake_seconds=2, call_seconds=0.3, silence_seconds=0.3)
"""For agents that may hang. One that does no harm has the usual time, however busy the machine is."""


def test_a_fault_is_put_into_every_place_that_is_played() -> None:
    places = [variant.place for variant in faulty(STORY, faults={"dies": "die 1"})]
    assert places == [
        *("before line 4, answer", "before line 5, update", "at the end of line 3, on"),
        *("before line 7, think", "before line 8, tool", "before line 9, status", "before line 10, status"),
        *("at the end of line 8, tool", "before line 11, repeat", "before line 12, say"),
        *("at the end of line 11, repeat", "at the end of line 6, on"),
    ]


def test_all_faults_are_put_into_all_places_and_each_variant_has_a_name_of_its_own() -> None:
    variants = faulty(STORY)
    assert len({str(variant) for variant in variants}) == len(variants) == 12 * len(FAULTS)


def test_branches_are_played_and_options_are_not() -> None:
    script = "on prompt\n  plan\n    pending x\n  ask y\n    option allow_once z\n    allowed\n      say a"
    places = [variant.place for variant in faulty(script, faults={"dies": "die"})]
    assert places == [
        *("before line 2, plan", "before line 4, ask", "before line 7, say"),
        *("at the end of line 6, allowed", "at the end of line 1, on"),
    ]


def test_a_variant_is_the_script_with_one_fault_in_it() -> None:
    (variant,) = [one for one in faulty(STORY) if str(one) == "stalls before line 9, status"]
    assert variant.script.text == STORY.text.replace(
        "    status in_progress\n", "    stall\n    status in_progress\n"
    )


@pytest.mark.parametrize("variant", faulty(STORY), ids=str)
async def test_a_client_gets_an_answer_or_an_error_from_every_variant(variant: Variant) -> None:
    outcome = ""
    try:
        limits = Limits() if variant.harmless else HURRY
        async with talking_to(ScriptedAgent(variant.script), limits=limits) as handle:
            session = await handle.new_session(cwd="/tmp")
            outcome = (await session.prompt("go")).text
    except DragomanError as error:
        assert not variant.harmless, error  # noqa: PT017  # a rude agent is no reason to give up
    if variant.harmless:
        assert outcome == "word word "


@pytest.mark.bound(30)
@pytest.mark.parametrize("fault", ["dies", "is killed", "breaks off", "hangs up", "prints", "sends no UTF-8"])
async def test_a_client_gets_an_answer_or_an_error_from_a_process_too(fault: str, tmp_path: Path) -> None:
    (variant,) = [
        one for one in faulty(STORY, faults={fault: FAULTS[fault]}) if one.place == "before line 12, say"
    ]
    outcome = ""
    try:
        async with connect(
            forked(ScriptedAgent(variant.script).command(tmp_path)), limits=Limits(end_seconds=0.5)
        ) as handle:
            session = await handle.new_session(cwd="/tmp")
            outcome = (await session.prompt("go")).text
    except DragomanError as error:
        assert not variant.harmless, error  # noqa: PT017
    assert outcome == ("word word " if variant.harmless else "")
