"""What holds for the rules about sessions and turns, whatever was said."""

from __future__ import annotations

import random
from typing import Any

import msgspec

from dragoman_check.conversation import Conversation
from dragoman_check.manifest import requirements
from dragoman_check.recording import Frame, Recording
from dragoman_check.rule import RULES
from dragoman_check.rules import load_all
from dragoman_check.timeline import is_open
from dragoman_check.verdict import judge
from tests.check.rules.talks import Talk, update
from tests.check.rules.test_cancellation import ASK, CANCEL, NO, turn
from tests.check.rules.test_commands import WEB, offering
from tests.check.rules.test_options import MODE, MODE_B, set_to
from tests.check.rules.test_roots import reloaded
from tests.check.rules.test_session_load import AGENT, NOTICE, USAGE, USER, before, load
from tests.every import every

AREAS = frozenset(
    ["SES", "LOAD", "RES", "CLO", "LST", "DEL", "ADIR", "TURN", "CAN", "CRQ", "UPD", "MODE", "CFG", "CMD"]
)
MINE = [name for name, one in requirements().items() if one.area in AREAS]
ODD: list[Any] = [None, 5, -1, "", "x", [], {}, [5], [{}], {"a": 1}, True, 1.5, "s", {"sessionId": []}]

TALKS = [
    load(USER, AGENT, talk=before(USAGE, NOTICE)).prompt("s", AGENT),
    turn(ASK, CANCEL, NO, reason="cancelled").prompt("s"),
    offering(WEB).prompt("s", "/web app.py"),
    set_to("b", MODE_B).call("session/list", {"cwd": "/w"}, {"sessions": [{"sessionId": "s", "cwd": "/w"}]}),
    reloaded("/a").add(update("s", "config_option_update", configOptions=[MODE])),
    Talk().new("s").begin_prompt("s", "a").tell("$/cancel_request", {"requestId": "3"}).answer(to=3),
]


def _spoilt(value: Any, chance: random.Random) -> Any:
    """A value with something in it replaced, dropped or doubled."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        name = chance.choice(list(value))
        if chance.random() < 0.15:
            return {key: item for key, item in value.items() if key != name}
        return {**value, name: _spoilt(value[name], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        at = chance.randrange(len(value))
        return [*value[:at], _spoilt(value[at], chance), *value[at + 1 :]]
    return chance.choice(ODD)


def _spoil(recording: Recording, chance: random.Random) -> Recording:
    frames = list(recording.frames)
    for _ in range(4):
        at = chance.randrange(len(frames))
        one = frames[at]
        raw = msgspec.json.encode(_spoilt(one.json, chance)) if isinstance(one.json, dict) else one.raw
        frames[at] = Frame(one.number, one.direction, one.at, raw)
    if chance.random() < 0.3:
        del frames[: chance.randrange(3)]
    numbered = [Frame(number, one.direction, one.at, one.raw) for number, one in enumerate(frames, 1)]
    facts = {"told": chance.choice(ODD), "logs": chance.choice(ODD), "word": chance.choice(ODD)}
    return Recording(frames=numbered, marks=recording.marks, facts=facts)


@every("seed", range(24))
def test_no_rule_fails_on_frames_that_make_no_sense(seed: int) -> None:
    chance = random.Random(seed)
    recording = _spoil(chance.choice(TALKS).recording, chance)
    for side in ("agent", "client"):
        judge([recording], side, only=MINE)


def test_an_empty_recording_says_nothing() -> None:
    for side in ("agent", "client"):
        assert {one.status for one in judge([Recording()], side, only=MINE)} <= {
            "not exercised",
            "not applicable",
        }


def test_every_requirement_has_a_rule_or_a_reason() -> None:
    load_all()
    from dragoman_check.rules import (
        cancellation,
        commands,
        lists,
        options,
        roots,
        session_load,
        turns,
        updates,
    )

    modules = (cancellation, commands, lists, session_load, options, roots, turns, updates)
    reasons = {name for module in modules for name in module.UNOBSERVED}
    ruled = {name for one in RULES for name in one.requirements}
    assert set(MINE) <= ruled | reasons
    assert not ruled & reasons


def test_rules_have_names_of_their_own() -> None:
    load_all()
    names = [(one.name, one.side) for one in RULES]
    assert len(set(names)) == len(names)


def test_a_session_is_open_from_its_answer_to_the_answer_of_its_close() -> None:
    conversation = Conversation(Talk().new("s").call("session/close", {"sessionId": "s"}).recording)
    assert [is_open(conversation, "s", number) for number in range(1, 8)] == [
        False,
        False,
        False,
        None,
        True,
        None,
        False,
    ]
