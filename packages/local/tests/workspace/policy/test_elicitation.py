import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.schema import v1
from dragoman.schema.codec import read
from dragoman_local.workspace.policy.elicitation import AnswersError, ElicitationService, FormAnswers
from dragoman_local.workspace.policy.terminal import TerminalForms
from tests.every import every
from tests.workspace.policy.typist import Terminal, terminal


def form(*required: str, **properties: Any) -> v1.ElicitationFormMode:
    schema = v1.ElicitationSchema(type="object", properties=properties, required=list(required))
    return v1.ElicitationFormMode(message="Which\x1b[2J branch?", requested_schema=schema, session_id="s")


BRANCH = form(
    "branch",
    branch=v1.StringPropertySchema(title="Branch", enum=["main", "dev"]),
    count=v1.IntegerPropertySchema(minimum=1, default=3),
)
LINK = v1.ElicitationUrlMode(
    message="Log in", elicitation_id="e", url="https://example.org/login?x=1", session_id="s"
)


def accepted(response: v1.CreateElicitationResponse) -> Any:
    assert isinstance(response, v1.ElicitationAcceptAction)
    return response.content


# From a file.


async def test_a_form_is_answered_from_a_file_without_its_defaults() -> None:
    desk = ElicitationService(answers=FormAnswers(fields={"branch": "dev", "other": 1}))
    assert accepted(await desk.elicit(BRANCH)) == {"branch": "dev"}
    assert desk.open == []


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "there is no answer for the field 'branch'"),
        ({"count": 1}, "there is no answer for the field 'branch'"),
        ({"branch": "x"}, "the answer for the field 'branch' is not taken: it must be one of main, dev"),
        (
            {"branch": "dev", "count": 0},
            "the answer for the field 'count' is not taken: it must be at least 1",
        ),
    ],
)
async def test_a_form_that_the_file_cannot_answer_stays_open(fields: Any, why: str) -> None:
    told: list[dict[str, Any]] = []
    desk = ElicitationService(answers=FormAnswers(fields=fields), agent="claude", on_open=told.append)
    assert isinstance(await desk.elicit(BRANCH), v1.ElicitationCancelAction)
    assert told == desk.open
    assert (told[0]["why"], told[0]["agent"]) == (why, "claude")
    assert told[0]["request"]["requestedSchema"]["properties"]["branch"]["enum"] == ["main", "dev"]
    json.dumps(told)


async def test_nothing_is_ever_answered_by_default() -> None:
    optional = form(count=v1.IntegerPropertySchema(default=3))
    for request in (form(), optional, BRANCH, LINK):
        for answers in (None, FormAnswers(), FormAnswers(fields={"elsewhere": 1})):
            desk = ElicitationService(answers=answers)
            assert isinstance(await desk.elicit(request), v1.ElicitationCancelAction)
            assert len(desk.open) == 1


async def test_a_mode_that_nobody_knows_stays_open() -> None:
    unknown: Any = read(b'{"mode": "_new", "message": "x", "sessionId": "s"}', v1.CreateElicitationRequest)
    desk = ElicitationService(answers=FormAnswers(fields={"x": 1}))
    assert isinstance(await desk.elicit(unknown), v1.ElicitationCancelAction)
    assert desk.open[0]["request"]["mode"] == "_new"


async def test_an_address_is_agreed_to_only_for_the_host_that_was_named() -> None:
    desk = ElicitationService(answers=FormAnswers(urls={"example.org": "accept", "example.com": "decline"}))
    assert isinstance(await desk.elicit(LINK), v1.ElicitationAcceptAction)
    for url, kind in (
        ("https://example.com/", v1.ElicitationDeclineAction),
        ("https://example.org.example.net/", v1.ElicitationCancelAction),
        ("https://example.org@example.net/", v1.ElicitationCancelAction),
        ("https://[", v1.ElicitationCancelAction),
    ):
        link = v1.ElicitationUrlMode(message="x", elicitation_id="e", url=url, session_id="s")
        assert isinstance(await desk.elicit(link), kind)


def test_answers_are_read_from_json_and_toml(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"branch": "dev"}')
    (tmp_path / "a.toml").write_text('[fields]\nbranch = "dev"\n[urls]\n"example.org" = "decline"\n')
    assert FormAnswers.load(str(tmp_path / "a.json")).fields == {"branch": "dev"}
    assert FormAnswers.load(str(tmp_path / "a.toml")).urls == {"example.org": "decline"}


@every(
    ("text", "why"),
    [
        (b"x", "malformed"),
        (b"[]", "an object of fields"),
        (b'{"fields": {}, "more": 1}', "unknown key 'more'"),
        (b'{"fields": {}, "urls": {"h": "yes"}}', "accept or decline"),
        (b'{"fields": {}, "urls": {"h": ["x"]}}', "accept or decline"),
        (b"\xff", "a.json"),
    ],
)
def test_answers_that_make_no_sense_are_refused(text: bytes, why: str) -> None:
    with pytest.raises(AnswersError, match=why):
        FormAnswers.parse(text, "a.json")


def test_a_missing_file_of_answers_is_named() -> None:
    with pytest.raises(AnswersError, match=r"cannot read /nowhere/a\.json"):
        FormAnswers.load("/nowhere/a.json")


# In a terminal.


def at_desk(at: Terminal) -> ElicitationService:
    return ElicitationService(asker=TerminalForms(at.lines, write=at.write), agent="claude")


async def test_a_person_fills_in_field_by_field_and_sees_all_before_it_is_sent() -> None:
    with terminal("x", "2", "0", "", "yes") as at:
        assert accepted(await at_desk(at).elicit(BRANCH)) == {"branch": "dev", "count": 3}
    assert "claude asks:" in at.shown
    assert "Which␛[2J branch?" in at.shown
    assert "Not taken: it must be one of main, dev." in at.shown
    assert "This would be sent:\n  branch = dev\n  count = 3\n" in at.shown


async def test_a_person_can_change_a_field_before_sending() -> None:
    with terminal("main", "1", "branch", "dev", "y") as at:
        assert accepted(await at_desk(at).elicit(BRANCH)) == {"branch": "dev", "count": 1}


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        (["!d"], v1.ElicitationDeclineAction),
        (["main", "!q"], v1.ElicitationCancelAction),
        (["main", "1", "no"], v1.ElicitationDeclineAction),
        (["main", "1", "perhaps"], v1.ElicitationCancelAction),
        ([], v1.ElicitationCancelAction),
    ],
)
async def test_a_person_can_decline_or_walk_away_at_any_point(lines: list[str], kind: type) -> None:
    with terminal(*lines, ends=True) as at:
        assert isinstance(await at_desk(at).elicit(BRANCH), kind)


async def test_a_field_that_is_needed_is_not_left_empty() -> None:
    with terminal("", "main", "", "y") as at:
        request = form("branch", branch=v1.StringPropertySchema(), note=v1.StringPropertySchema())
        assert accepted(await at_desk(at).elicit(request)) == {"branch": "main"}
    assert "This one is needed." in at.shown


async def test_a_secret_is_pointed_out_and_not_shown_again() -> None:
    with terminal("hunter2", "y") as at:
        request = form("password", password=v1.StringPropertySchema())
        assert accepted(await at_desk(at).elicit(request)) == {"password": "hunter2"}
    assert "seems to ask for a secret" in at.shown
    assert "password = (not shown)" in at.shown
    assert "hunter2" not in at.shown


async def test_a_field_of_an_unknown_type_is_never_filled_in() -> None:
    schema = (
        b'{"mode":"form","message":"x","sessionId":"s","requestedSchema":{"properties":{"a":{"type":"_x"}}}}'
    )
    request: Any = read(schema, v1.CreateElicitationRequest)
    with terminal("y") as at:
        assert accepted(await at_desk(at).elicit(request)) == {}
    needed: Any = read(
        schema.replace(b'"properties"', b'"required":["a"],"properties"'), v1.CreateElicitationRequest
    )
    with terminal("something", "y") as at:
        assert isinstance(await at_desk(at).elicit(needed), v1.ElicitationCancelAction)


@pytest.mark.parametrize(
    ("url", "note"),
    [
        ("https://example.org/login", "host: example.org"),
        ("http://example.org/", "not https but http"),
        ("https://xn--e1afmkfd.example/", "letters that look like other letters"),
        ("https://example.org@evil.example/", "host: evil.example"),
        ("https://example.org@evil.example/", "contains a login"),
        ("https://[", "not a proper address"),
    ],
)
async def test_an_address_is_shown_whole_and_only_a_yes_agrees(url: str, note: str) -> None:
    link = v1.ElicitationUrlMode(message="Log in", elicitation_id="e", url=url, session_id="s")
    with terminal("", "sure", "yes") as at:
        assert isinstance(await at_desk(at).elicit(link), v1.ElicitationAcceptAction)
    assert url in at.shown
    assert note in at.shown
    with terminal("no") as at:
        assert isinstance(await at_desk(at).elicit(link), v1.ElicitationDeclineAction)
