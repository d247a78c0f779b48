"""Who can put a question to a person, by its capabilities, and what counts as an answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from dragoman_hub.clients.questions import (
    ELICITATION,
    PERMISSION,
    can_be_asked,
    is_answer,
    is_cancelled,
    is_told,
)
from dragoman_hub.session.state import OpenRequest

TOLD = {"_meta": {"dragoman": {"permission": "told"}}}
OPTIONS = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}, {"name": "nameless"}, 7]


def question(method: str, **params: Any) -> OpenRequest:
    return OpenRequest(1, 1, method, raw(params), 0.0)


def raw(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())


@pytest.mark.parametrize(
    ("capabilities", "permission", "form", "url"),
    [
        ({}, True, False, False),
        ({"elicitation": {}}, True, True, False),
        ({"elicitation": {"form": {}}}, True, True, False),
        ({"elicitation": {"url": {}}}, True, False, True),
        ({"elicitation": {"form": {}, "url": {}}}, True, True, True),
        ({"elicitation": True}, True, False, False),
        (TOLD, False, False, False),
        ({**TOLD, "elicitation": {"form": {}}}, False, True, False),
        ({"_meta": {"dragoman": {"permission": True}}}, True, False, False),
        ({"_meta": []}, True, False, False),
    ],
)
def test_a_client_is_asked_what_it_announces(
    capabilities: dict[str, Any], permission: bool, form: bool, url: bool
) -> None:
    assert can_be_asked(capabilities, question(PERMISSION)) is permission
    assert can_be_asked(capabilities, question(ELICITATION, mode="form")) is form
    assert can_be_asked(capabilities, question(ELICITATION)) is form
    assert can_be_asked(capabilities, question(ELICITATION, mode="url")) is url
    assert is_told(capabilities) is not permission


@pytest.mark.parametrize(
    ("result", "counts"),
    [
        ({"outcome": {"outcome": "selected", "optionId": "yes"}}, True),
        ({"outcome": {"outcome": "cancelled"}}, True),
        ({"outcome": {"outcome": "selected", "optionId": "no"}}, False),
        ({"outcome": {"outcome": "selected", "optionId": ["yes"]}}, False),
        ({"outcome": {"outcome": "selected"}}, False),
        ({"outcome": {"outcome": ["cancelled"]}}, False),
        ({"outcome": "selected", "optionId": "yes"}, False),
        ({}, False),
        ([], False),
        (None, False),
    ],
)
def test_a_permission_is_answered_by_an_option_that_was_offered(result: Any, counts: bool) -> None:
    assert is_answer(question(PERMISSION, options=OPTIONS), raw(result)) is counts
    is_dismissal = result == {"outcome": {"outcome": "cancelled"}}
    assert is_cancelled(raw(result)) is is_dismissal
    assert is_answer(question(PERMISSION, options=5), raw(result)) is is_dismissal


@pytest.mark.parametrize("action", ["accept", "decline", "cancel", "sure", None, ["accept"]])
def test_a_form_is_answered_by_one_of_three_actions(action: Any) -> None:
    counts = action in ("accept", "decline", "cancel")
    assert is_answer(question(ELICITATION), raw({"action": action})) is counts
