"""The hub's own methods: who may touch a prompt that waits, what a search and a status leave out, and the
parameters that make no sense.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from msgspec import Raw

from dragoman_hub.clients import hub_methods
from dragoman_hub.clients.hub_methods import _is_other_question, _number, _text
from dragoman_hub.gate.admission import Grant
from dragoman_hub.gate.real_paths import RealPaths
from dragoman_hub.gate.table import PassedParams
from dragoman_hub.session.state import OpenRequest
from tests.every import every
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.stage import staged, text

NOTHING = PassedParams({}, "")


def raw(value: object, name: str = "it") -> PassedParams:
    return PassedParams({name: Raw(msgspec.json.encode(value))}, "")


@every(
    ("value", "number"),
    [(3, 3), (0, 1), (-7, 1), (10, 10), (11, 10), (True, 5), ("3", 5), (None, 5), (2.0, 5), ([3], 5)],
)
def test_a_number_is_within_its_bounds(value: object, number: int) -> None:
    assert _number(raw(value), "it", 5, 10) == number
    assert _number(NOTHING, "it", 5, 10) == 5


@every(("value", "found"), [("x", "x"), ("", ""), (7, None), (None, None), (["x"], None)])
def test_a_text_is_a_text_or_left_out(value: object, found: str | None) -> None:
    assert _text(raw(value), "it") == found
    assert _text(NOTHING, "it") is None


@every(("asked", "is_other"), [(4.5, False), (5, True), (4, True), ("4.5", False), (None, False)])
def test_an_answer_is_for_the_question_of_its_moment(asked: object, is_other: bool) -> None:
    question = cast(OpenRequest, SimpleNamespace(time=4.5))
    assert _is_other_question(question, raw(asked, "askedAt")) is is_other
    assert _is_other_question(question, NOTHING) is False


async def test_a_prompt_that_waits_is_its_writers_and_an_administrators() -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        writer = await stage.client(Grant("writer", frozenset({"prompt"}))).begin()
        other = await stage.client(Grant("other", frozenset({"prompt"}))).begin()
        admin = await stage.client(Grant("admin")).begin()
        session = await writer.new()
        running = writer.prompt(session, "wait")
        await gate.waiting.wait()
        waiting = writer.prompt(session, "say 1", key="k")
        edit = {"sessionId": session, "key": "k", "prompt": text("say 2")}
        for method in ("queue/edit", "queue/withdraw"):
            refused = await other.refusal(f"_dragoman/hub/{method}", edit)
            assert (refused["code"], refused["data"]) == (-32003, {"scope": "admin"})
            unknown = await writer.refusal(f"_dragoman/hub/{method}", {**edit, "key": "none"})
            assert (unknown["code"], unknown["data"]) == (-32002, {"key": "none"})
        no_prompts: tuple[object, ...] = ("say 2", None, {})
        for prompt in no_prompts:
            refused = await writer.refusal("_dragoman/hub/queue/edit", {**edit, "prompt": prompt})
            assert "prompt is missing" in refused["message"]
        assert await admin.call("_dragoman/hub/queue/edit", edit) == {}
        gate.open.set()
        await writer.answer(running)
        await writer.answer(waiting)
        assert gate.prompts == ["wait", "say 2"]


async def test_a_search_finds_what_is_in_reach_however_much_stands_before_it(tmp_path: Path) -> None:
    async with staged({"one": obedient}) as stage:
        owner = await stage.client().begin()
        (tmp_path / "mine").mkdir()
        guest = await stage.client(Grant("guest", roots=(str(tmp_path / "mine"),))).begin()
        reached = await guest.new(str(tmp_path / "mine"))
        foreign = await owner.new(str(tmp_path))
        await guest.answer(guest.prompt(reached, "say 1 needle"))
        for _ in range(3):
            await owner.answer(owner.prompt(foreign, "say 1 needle"))
        (found,) = (await guest.call("_dragoman/hub/search", {"text": "needle", "limit": 1}))["found"]
        assert (found["sessionId"], found["kind"], found["title"]) == (reached, "prompt", "say 1 needle")
        assert "needle" in found["excerpt"]
        assert found["cursor"].isdigit()
        everything = (await owner.call("_dragoman/hub/search", {"text": "needle"}))["found"]
        assert len(everything) == 4
        of_one = {"text": "needle", "sessionId": foreign, "limit": 2}
        both = (await owner.call("_dragoman/hub/search", of_one))["found"]
        assert [hit["sessionId"] for hit in both] == [foreign] * 2


async def test_the_status_shows_a_narrow_administrator_what_is_in_reach(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    roots = (str(tmp_path / "mine"),)
    async with staged({"one": obedient, "two": obedient}) as stage:
        owner = await stage.client().begin()
        mine, foreign = await owner.new(str(tmp_path / "mine")), await owner.new(str(tmp_path))
        for grant, agents, sessions in (
            (Grant("owner"), ["one", "two"], {mine, foreign}),
            (Grant("rooted", roots=roots), ["one", "two"], {mine}),
            (Grant("picky", agents=("one",)), ["one"], {mine, foreign}),
            (Grant("foreign", agents=("two",)), ["two"], set()),
        ):
            agent = {"agent": agents[0]}
            client = await stage.client(grant, **agent).begin()
            status = await client.call("_dragoman/hub/status", **agent)
            assert [one["name"] for one in status["agents"]] == agents
            assert {one["sessionId"] for one in status["sessions"]} == sessions
        status = await owner.call("_dragoman/hub/status")
        tokens = {one["token"]: one for one in status["connections"]}
        assert set(tokens) == {"owner", "rooted", "picky", "foreign"}
        assert tokens["rooted"] == {"token": "rooted", "sessions": 0, "unread": 0}


async def test_a_session_that_works_is_not_deleted_by_who_wants_idle_ones_alone() -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        running = client.prompt(session, "wait")
        await gate.waiting.wait()
        refused = await client.refusal("session/delete", {"sessionId": session}, onlyIdle=True)
        assert "a turn runs in this session" in refused["message"]
        gate.open.set()
        await client.answer(running)
        for _ in range(2):  # what is gone is gone, as was asked for
            assert await client.call("session/delete", {"sessionId": session}, onlyIdle=True) == {}
        assert (await client.call("session/list"))["sessions"] == []


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"request": "x", "result": {}}, "request is a number in digits"),
        ({"request": "1"}, "result is needed"),
        ({"request": "²", "result": {}}, "request is a number in digits"),
        ({"result": {}}, "request is missing"),
    ],
)
async def test_an_answer_names_its_question(params: dict[str, Any], said: str) -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        refused = await client.refusal("_dragoman/hub/answer", {"sessionId": session, **params})
        assert said in refused["message"]


async def test_an_answer_that_is_none_leaves_the_question_open() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        turn = client.prompt(session, "ask")
        await client.asked()
        (question,) = (await client.call("_dragoman/hub/inbox"))["requests"]
        outcome = {"outcome": {"outcome": "selected", "optionId": "none"}}
        said = {"sessionId": session, "request": question["request"], "result": outcome}
        assert "not an answer" in (await client.refusal("_dragoman/hub/answer", said))["message"]
        outcome["outcome"]["optionId"] = "allow"
        early = {**said, "askedAt": question["askedAt"] - 1}
        assert await client.call("_dragoman/hub/answer", early) == {"settled": False}
        assert await client.call("_dragoman/hub/answer", {**said, "askedAt": question["askedAt"]}) == {
            "settled": True
        }
        assert (await client.answer(turn))["result"]["stopReason"] == "end_turn"
        assert client.texts() == ["yes"]


async def test_who_could_install_an_agent_hears_which_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [SimpleNamespace(name=name, title=name.title(), install=f"get {name}") for name in ("one", "two")]
    monkeypatch.setattr(hub_methods, "missing_agents", lambda: known)
    async with staged({"one": obedient}) as stage:
        admin = await stage.client(Grant("admin")).begin()
        guest = await stage.client(Grant("guest", frozenset({"prompt"}))).begin()
        told = await admin.call("_dragoman/hub/agents")
        assert told["missing"] == [{"name": "two", "title": "Two", "install": "get two"}]
        assert await guest.call("_dragoman/hub/agents") == {"agents": told["agents"]}


async def test_every_filter_of_a_list_narrows_it(tmp_path: Path) -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate), "two": obedient}) as stage:
        client = await stage.client().begin()
        (tmp_path / "other").mkdir()
        first = await client.new(str(tmp_path))
        second = await client.new(str(tmp_path), agent="two")
        third = await client.new(str(tmp_path / "other"))
        fourth = await client.new(str(tmp_path))
        waiting = client.prompt(first, "wait")
        await gate.waiting.wait()
        await client.call("session/archive", {"sessionId": fourth})

        async def listed(**params: Any) -> set[str]:
            page = await client.call("_dragoman/hub/sessions", params)
            return {one["sessionId"] for one in page["sessions"]}

        assert await listed() == {first, second, third}
        assert await listed(agent="two") == {second}
        assert await listed(cwd=str(tmp_path / "other")) == {third}
        assert await listed(state="running") == {first}
        assert await listed(archived="only") == {fourth}
        assert await listed(archived="include") == {first, second, third, fourth}
        page = await client.call("_dragoman/hub/sessions", {"limit": 2})
        rest = await client.call("_dragoman/hub/sessions", {"limit": 2, "cursor": page["nextCursor"]})
        assert len(page["sessions"]) == 2
        assert len(rest["sessions"]) == 1
        assert await listed(limit=1) < {one["sessionId"] for one in (*page["sessions"], *rest["sessions"])}
        gate.open.set()
        await client.answer(waiting)


@pytest.mark.parametrize("method", ["inbox", "watch", "status"])
async def test_a_token_with_roots_hears_of_what_is_in_them_though_nobody_has_looked(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with staged({"one": obedient}) as stage:
        owner = await stage.client().begin()
        session = await owner.new(str(tmp_path))
        turn = owner.prompt(session, "ask")
        question = await owner.asked()
        monkeypatch.setattr("dragoman_hub.gate.admission.real_paths", RealPaths())
        rooted = await stage.client(Grant("rooted", roots=(str(tmp_path),))).begin()
        answer = await rooted.call(f"_dragoman/hub/{method}")
        if method == "inbox":
            assert [one["sessionId"] for one in answer["requests"]] == [session]
        elif method == "status":
            assert [one["sessionId"] for one in answer["sessions"]] == [session]
        owner.allow(question)
        await owner.answer(turn)
        if method == "watch":
            settled = await rooted.until(lambda one: one.get("method") == "_dragoman/hub/settled")
            assert settled["params"]["sessionId"] == session
