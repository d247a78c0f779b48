"""ELIC: how an agent asks, and what it makes of the answer."""

from __future__ import annotations

from typing import Any

import pytest

from tests.check.conversations import Said, agent, client
from tests.check.rules.talks import Talk, breaks, keeps, says_nothing
from tests.every import every

BOTH: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}
NAME = {"type": "string", "title": "Your name"}
ACCEPT = {"action": "accept", "content": {"name": "Ada"}}


def form(id: Any = 70, *, properties: Any = None, **more: Any) -> Said:
    schema = {"type": "object", "properties": {"name": NAME} if properties is None else properties}
    params = {"sessionId": "s", "mode": "form", "message": "x", "requestedSchema": schema, **more}
    return agent("elicitation/create", {name: value for name, value in params.items() if value != "-"}, id=id)


def page(id: Any = 70, **more: Any) -> Said:
    params = {"sessionId": "s", "mode": "url", "message": "x", "url": "https://a.invalid/x?state=1"}
    return agent("elicitation/create", {**params, "elicitationId": "e", **more}, id=id)


def answer(result: Any = None, id: Any = 70) -> Said:
    return client(id=id, result=ACCEPT if result is None else result)


def turn(*frames: Said, wants: Any = None, code: int = 0) -> Talk:
    return Talk(wants=BOTH if wants is None else wants).new("s").prompt("s", *frames, code=code)


def test_elic_01_only_what_was_advertised_is_asked_for() -> None:
    keeps("ELIC-01", turn(form(), answer(), page(71), answer(id=71)))
    breaks("ELIC-01", turn(page(), wants={"elicitation": {"form": {}}}))
    breaks("ELIC-01", turn(form(), wants={"elicitation": {}}))
    keeps("ELIC-01", turn(wants={"elicitation": {"form": None}}))


def test_elic_03_there_is_a_way_without_forms() -> None:
    keeps("ELIC-03", turn(wants={"fs": {}}).mark("elicit", last=2))
    breaks("ELIC-03", turn(wants={"fs": {}}, code=-32603).mark("elicit", last=2))
    says_nothing("ELIC-03", turn().mark("elicit", last=2))


@pytest.mark.parametrize("wrong", [{"mode": "-"}, {"message": 5}, {"sessionId": "-"}])
def test_elic_04_a_request_is_whole(wrong: dict[str, Any]) -> None:
    keeps("ELIC-04", turn(form(), answer(), page(71)))
    breaks("ELIC-04", turn(form(**wrong)))
    breaks("ELIC-04", turn(page(url=None)))


def test_elic_05_the_named_request_is_open() -> None:
    login = Talk(wants=BOTH).begin("authenticate", {"methodId": "a"})
    keeps("ELIC-05", login.add(form(sessionId="-", requestId=2)))
    breaks("ELIC-05", Talk(wants=BOTH).add(form(sessionId="-", requestId="1")))
    breaks("ELIC-05", Talk(wants=BOTH).add(form(sessionId="-", requestId=1)))  # it was answered


@every("wrong", [{"a": {"type": "object"}}, {"a": {}}, {"a": "string"}, []])
def test_elic_07_a_form_is_flat(wrong: Any) -> None:
    keeps("ELIC-07", turn(form(properties={"a": {"type": "array"}, "b": {"type": "_own"}})))
    breaks("ELIC-07", turn(form(properties=wrong)))


def test_elic_08_a_form_says_that_it_is_an_object() -> None:
    keeps("ELIC-08", turn(form()))
    breaks("ELIC-08", turn(form(requestedSchema={"properties": {}})))
    breaks("ELIC-08", turn(form(requestedSchema={"type": "object"})))


@every(
    "field",
    [{"title": "Password:"}, {"title": "Your API key"}, {"format": "password"}, {"title": "access token"}],
)
def test_elic_10_and_11_forms_ask_for_no_secrets(field: dict[str, str]) -> None:
    for requirement in ("ELIC-10", "ELIC-11"):
        keeps(requirement, turn(form(properties={"a": {"type": "string", "title": "Password policy"}})))
        breaks(requirement, turn(form(properties={"a": {"type": "string", **field}})))
        breaks(requirement, turn(form(properties={"api_key": {"type": "string"}})))
    keeps("ELIC-10", turn(form(properties={"password": {"type": "string", "enum": ["keep", "change"]}})))


@pytest.mark.parametrize(
    "result", [{"action": "decline"}, {"action": "cancel"}, {"action": "accept", "content": None}]
)
def test_elic_19_and_21_the_agent_goes_on(result: dict[str, Any]) -> None:
    for requirement in ("ELIC-19", "ELIC-21"):
        keeps(requirement, turn(form(), answer(result)))
        breaks(requirement, turn(form(), answer(result), code=-32603))
        says_nothing(requirement, turn(form(), answer()))


def test_elic_23_ids_are_unique_while_they_are_open() -> None:
    done = agent("elicitation/complete", {"elicitationId": "e"})
    accept = {"action": "accept"}
    keeps("ELIC-23", turn(page(), answer(accept), done, page(71)))
    keeps("ELIC-23", turn(page(), answer({"action": "decline"}), page(71)))
    breaks("ELIC-23", turn(page(), answer(accept), page(71)))


def test_elic_25_only_what_was_asked_is_completed() -> None:
    done = agent("elicitation/complete", {"elicitationId": "e"})
    keeps("ELIC-25", turn(page(), answer({"action": "accept"}), done))
    breaks("ELIC-25", turn(done))


@pytest.mark.parametrize(
    "url",
    ["https://me:secret@a.invalid/", "https://a.invalid/?access_token=1", "https://a.invalid/#api_key=1"],
)
def test_elic_28_urls_hold_no_credentials(url: str) -> None:
    keeps("ELIC-28", turn(page(), page(71, url="https://a.invalid/[")))
    breaks("ELIC-28", turn(page(url=url)))


def test_elic_29_urls_are_safe() -> None:
    keeps("ELIC-29", turn(page(), page(71, url="http://localhost:8000/")))
    breaks("ELIC-29", turn(page(url="http://a.invalid/")))
    breaks(
        "ELIC-29", turn(form(properties={"a": {"type": "string", "description": "see https://a.invalid"}}))
    )


def test_elic_32_what_is_private_is_marked() -> None:
    keeps("ELIC-32", turn(form(mode="_own"), form(71, properties={"a": {"type": "_own"}})))
    breaks("ELIC-32", turn(form(mode="dialog")))
