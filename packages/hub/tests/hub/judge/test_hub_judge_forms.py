"""What an agent's question is made of: which can be asked, and what is answered where nobody answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from dragoman.errors import ErrorAnswer
from dragoman.schema import v1
from dragoman_hub.judge.hub_judge import (
    PERMISSION,
    about_of,
    call_id_of,
    check_question,
    option_in,
    refusal_of,
    with_call,
)
from dragoman_hub.session.state import OpenRequest
from tests.every import every

YES = {"optionId": "y", "name": "Yes", "kind": "allow_once"}
NO = {"optionId": "n", "name": "No", "kind": "reject_once"}
CALL = {"toolCallId": "t", "title": "Do it"}
ASKED = {"sessionId": "s", "toolCall": CALL, "options": [YES, NO]}


def question(params: Any, method: str = PERMISSION) -> OpenRequest:
    text = params if isinstance(params, bytes) else json.dumps(params).encode()
    return OpenRequest(sequence=1, id=1, method=method, params=Raw(text), time=0.0)


@every(
    ("params", "why"),
    [
        (ASKED, ""),
        ({**ASKED, "options": [YES, {**NO, "optionId": "y"}]}, "two options have one id"),
        ({**ASKED, "options": [{**YES, "name": "No"}]}, "says the opposite of its kind"),
        ({**ASKED, "toolCall": None}, "toolCall"),
        (json.dumps(ASKED)[:-1].encode() + b',"sessionId":"t"}', "appears twice"),
        (b'{"sessionId":"s","toolCall":{"toolCallId":"t","toolCallId":"u"},"options":[]}', "appears twice"),
    ],
)
def test_a_question_can_be_asked_if_everybody_reads_the_same(params: Any, why: str) -> None:
    if not why:
        check_question(question(params))
        return
    with pytest.raises(ErrorAnswer, match=why) as refused:
        check_question(question(params))
    assert refused.value.code == -32602


def test_what_the_protocol_does_not_know_is_not_read() -> None:
    check_question(question([], method="_mine/ask"))


@every(
    ("params", "cancel", "said"),
    [
        (ASKED, False, {"outcome": {"outcome": "selected", "optionId": "n"}}),
        (ASKED, True, {"outcome": {"outcome": "cancelled"}}),
        ({**ASKED, "options": [YES]}, False, {"outcome": {"outcome": "cancelled"}}),
        ({}, False, {"outcome": {"outcome": "cancelled"}}),
    ],
)
def test_a_permission_that_nobody_gives_is_a_no(params: Any, cancel: bool, said: Any) -> None:
    assert json.loads(refusal_of(question(params), cancel=cancel)) == said


def test_a_form_that_nobody_fills_in_is_declined_or_cancelled() -> None:
    form = question({}, method="elicitation/create")
    assert json.loads(refusal_of(form, cancel=True)) == {"action": "cancel"}
    assert json.loads(refusal_of(form, cancel=False)) == {"action": "decline"}


@every(
    ("params", "method", "name"),
    [
        (ASKED, PERMISSION, "t"),
        (ASKED, "elicitation/create", None),
        ({"toolCall": {"toolCallId": 7}}, PERMISSION, None),
        ({"toolCall": []}, PERMISSION, None),
        ({}, PERMISSION, None),
    ],
)
def test_a_permission_names_its_call(params: Any, method: str, name: str | None) -> None:
    assert call_id_of(question(params, method)) == name


@every(
    ("params", "about"),
    [
        ({"_meta": {"dragoman": {"about": "7"}}}, 7),
        ({"_meta": {"dragoman": {}}}, 0),
        ({"_meta": {}}, 0),
        ({}, 0),
    ],
)
def test_a_question_of_the_hub_says_what_it_is_about(params: Any, about: int) -> None:
    assert about_of(question(params)) == about


@every(
    ("result", "option"),
    [
        ({"outcome": {"outcome": "selected", "optionId": "y"}}, "y"),
        ({"outcome": {"outcome": "selected", "optionId": 7}}, None),
        ({"outcome": "selected"}, None),
        ({}, None),
    ],
)
def test_an_answer_selects_an_option(result: Any, option: str | None) -> None:
    assert option_in(Raw(json.dumps(result).encode())) == option
    assert option_in(None) is None


def test_a_question_is_shown_with_what_was_said_of_its_call_and_an_option_of_ours() -> None:
    call = v1.ToolCallUpdate(tool_call_id="t", kind="edit", locations=[], raw_input=None)
    own = v1.PermissionOption(option_id="o", name="Yes, always", kind="allow_always")
    shown = json.loads(bytes(with_call(question(ASKED).params, call, own)))
    assert shown["toolCall"] == {**CALL, "kind": "edit"}
    assert shown["options"] == [YES, NO, {"optionId": "o", "name": "Yes, always", "kind": "allow_always"}]
    assert shown["sessionId"] == "s"
    plain = json.loads(bytes(with_call(question(ASKED).params, call, None)))
    assert plain["options"] == [YES, NO]
