"""ELIC: how a client answers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.check.conversations import Said, agent, client
from tests.check.rules.talks import Talk, breaks, keeps, says_nothing
from tests.check.rules.test_elicitation import BOTH, form, page
from tests.every import every

FIELDS: dict[str, Any] = {
    "name": {"type": "string", "minLength": 1, "maxLength": 5},
    "colour": {"type": "string", "enum": ["red", "green"]},
    "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}]},
    "age": {"type": "integer", "minimum": 0},
    "share": {"type": "number", "maximum": 1},
    "sure": {"type": "boolean"},
    "tags": {"type": "array", "maxItems": 2, "items": {"type": "string", "enum": ["a", "b", "c"]}},
}
REFUSED = {"error": {"code": -32602, "message": "No."}}
ACCEPTED: dict[str, Any] = {"result": {"action": "accept"}}


def asked(question: Said, wants: Any = None, **body: Any) -> Talk:
    return Talk(wants=BOTH if wants is None else wants).new("s").add(question, client(id=70, **body))


@pytest.mark.parametrize("wants", [{"elicitation": {}}, {"elicitation": {"url": {}, "form": None}}])
def test_elic_02_and_27_a_mode_that_was_not_advertised_is_refused(wants: Any) -> None:
    for requirement in ("ELIC-02", "ELIC-27"):
        keeps(requirement, asked(form(), wants, **REFUSED), "client")
        breaks(requirement, asked(form(), wants, **ACCEPTED), "client")
        says_nothing(requirement, asked(form(), **ACCEPTED), "client")


def test_elic_09_incomplete_forms_are_taken() -> None:
    for schema in ({}, {"type": "thing"}, {"type": "object"}):
        keeps("ELIC-09", asked(form(requestedSchema=schema), **ACCEPTED), "client")
        breaks("ELIC-09", asked(form(requestedSchema=schema), **REFUSED), "client")
    null = form(requestedSchema={"type": "object", "properties": None})
    keeps("ELIC-09", asked(null, **REFUSED), "client")
    breaks("ELIC-09", asked(null, **ACCEPTED), "client")


@pytest.mark.parametrize("wrong", [{}, {"action": "ok"}, {"action": "accept", "content": "x"}])
def test_elic_18_an_answer_has_an_action(wrong: dict[str, Any]) -> None:
    keeps("ELIC-18", asked(form(), result={"action": "decline"}), "client")
    breaks("ELIC-18", asked(form(), result=wrong), "client")


GOOD = {"name": "Ada", "colour": "red", "size": "s", "age": 36, "share": 0.5, "sure": True, "tags": ["a"]}


@every(
    "wrong",
    [
        {"name": ""},
        {"name": 5},
        {"colour": "blue"},
        {"size": "Small"},
        {"age": -1},
        {"age": 1.5},
        {"share": 2},
        {"sure": "yes"},
        {"tags": ["a", "b", "c"]},
        {"tags": ["d"]},
        {"name": None},
    ],
)
def test_elic_16_and_20_what_is_accepted_fits(wrong: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": FIELDS, "required": ["name"]}
    content = {name: value for name, value in {**GOOD, **wrong}.items() if value is not None}
    for requirement in ("ELIC-16", "ELIC-20"):
        good = {"action": "accept", "content": GOOD}
        keeps(requirement, asked(form(requestedSchema=schema), result=good), "client")
        bad = {"action": "accept", "content": content}
        breaks(requirement, asked(form(requestedSchema=schema), result=bad), "client")
    declined = asked(form(requestedSchema=schema), result={"action": "decline"})
    says_nothing("ELIC-20", declined, "client")


PING = agent("_ping", {}, id=9)
PONG = client(id=9, result={})


def test_elic_26_odd_completions_are_ignored() -> None:
    done = agent("elicitation/complete", {"elicitationId": "e"})
    keeps("ELIC-26", asked(page(), **ACCEPTED).add(done, done, PING, PONG), "client")
    breaks("ELIC-26", asked(page(), **ACCEPTED).add(done, done, PING), "client")
    says_nothing("ELIC-26", asked(page(), **ACCEPTED).add(done, PING), "client")


def test_elic_32_an_unknown_mode_is_not_accepted() -> None:
    keeps("ELIC-32", asked(form(mode="_own"), **REFUSED), "client")
    keeps("ELIC-32", asked(form(mode="_own"), result={"action": "cancel"}), "client")
    breaks("ELIC-32", asked(form(mode="_own"), **ACCEPTED), "client")


def test_elic_33_and_34_odd_fields_are_lived_with() -> None:
    slow = form(properties={"a": {"type": "string", "pattern": "^(a+)+$"}})
    keeps("ELIC-33", asked(slow, **ACCEPTED), "client")
    breaks("ELIC-33", Talk(wants=BOTH).new("s").add(slow, PING), "client")
    odd = form(properties={"a": {"type": "string", "format": "_zip"}})
    keeps("ELIC-34", asked(odd, **ACCEPTED), "client")
    breaks("ELIC-34", asked(odd, **REFUSED), "client")
