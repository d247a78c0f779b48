"""Commands, plans, permission and forms of v2 in v1: what is left of each where v1 knows less."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.v2.to_v1.config import commands
from dragoman.dialect.v2.to_v1.fields import fits, patched_meta
from dragoman.dialect.v2.to_v1.permission import form, outcome, question, subject
from dragoman.dialect.v2.to_v1.plans import entries, named_plan, plan_text
from tests.dialect.v2.to_v1.told import Told
from tests.every import every

DIVE = {"name": "dive", "description": "down"}


@every(
    ("command", "found", "lost"),
    [
        ({"type": "command", **DIVE}, [DIVE], []),
        (DIVE, [DIVE], []),
        ({**DIVE, "input": None}, [DIVE], []),
        ({**DIVE, "input": {"type": "text", "hint": "x"}}, [{**DIVE, "input": {"hint": "x"}}], []),
        (
            {**DIVE, "input": {"type": "_pick"}},
            [DIVE],
            ["input of a command of a type that v1 does not know"],
        ),
        ({**DIVE, "type": "_x"}, [], ["a command of a type that v1 does not know"]),
        ({"name": "dive"}, [], ["a malformed command"]),
        (5, [], ["a malformed command"]),
    ],
)
def test_commands(command: Any, found: list[Any], lost: list[str]) -> None:
    heard = Told()
    assert commands([command], heard) == found
    assert heard.losses == lost


ENTRY = {"content": "dive", "priority": "high", "status": "pending"}


@every(
    ("entry", "found", "lost"),
    [
        (ENTRY, [ENTRY], []),
        ({**ENTRY, "status": "cancelled"}, [], ["a plan entry that was cancelled"]),
        ({**ENTRY, "status": "_x"}, [ENTRY], ["a plan entry in a state that v1 does not know"]),
        (
            {**ENTRY, "priority": None},
            [{**ENTRY, "priority": "medium"}],
            ["a plan entry of a priority that v1 does not know"],
        ),
        ({"status": "pending"}, [], ["a malformed plan entry"]),
    ],
)
def test_plan_entries(entry: Any, found: list[Any], lost: list[str]) -> None:
    heard = Told()
    assert entries([entry], heard) == found
    assert heard.losses == lost


def test_plans_by_name_are_those_that_v1_may_know() -> None:
    markdown = {"type": "markdown", "planId": "p", "content": "x"}
    assert named_plan(markdown, Told()) == markdown
    assert plan_text(markdown) == "x"
    for wrong in (
        {},
        {**markdown, "planId": 5},
        {**markdown, "type": ["x"]},
        {"type": "items", "planId": "p"},
    ):
        assert named_plan(wrong, Told()) is None


def test_a_question_keeps_its_own_words_beside_those_of_the_call() -> None:
    params = {"sessionId": "s", "title": "May I?", "_meta": {"k": 1}, "options": []}
    found = question(params, {"toolCallId": "c", "title": "Dive"}, [])
    assert found["toolCall"]["title"] == "Dive"
    assert found["_meta"] == {"k": 1, "dragoman/question": {"title": "May I?"}}
    assert question({"sessionId": "s"}, {"toolCallId": "c"}, [])["toolCall"]["title"] == "Permission required"


def test_a_command_may_name_the_call_that_it_belongs_to() -> None:
    about = {"type": "command", "command": "ls", "cwd": "/", "toolCallId": "c"}
    assert subject({"subject": about}, "fresh")["toolCallId"] == "c"


def test_an_outcome_is_passed_on_as_the_same_object() -> None:
    result = {"outcome": {"outcome": "selected", "optionId": "y"}, "_meta": {}}
    assert outcome(result, {"y"}, Told()) is result
    assert outcome(result, {"n"}, Told()) == {"outcome": {"outcome": "cancelled"}}


def test_a_form_that_v1_can_hold_is_the_same_object() -> None:
    params = {"requestedSchema": {"properties": {"n": {"type": "number", "format": "odd"}, "x": 5}}}
    assert form(params, Told()) is params
    assert form({}, Told()) == {}


@every(
    ("known", "patch", "found"),
    [
        (None, {"a": 1}, {"a": 1}),
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": None}, None),
        ({"a": 1}, None, None),
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1}, "odd", {"a": 1}),
    ],
)
def test_meta_is_patched_key_by_key(known: Any, patch: Any, found: Any) -> None:
    assert patched_meta(known, patch) == found


def test_true_is_no_number() -> None:
    assert not fits(True, int)
    assert fits(1, float)
    assert not fits(1.5, int)
