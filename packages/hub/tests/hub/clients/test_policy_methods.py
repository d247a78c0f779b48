"""What nobody answered in time becomes a rule with one key: shown first, written as shown, and taken back."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent, Turn
from dragoman.errors import JournalDamaged
from dragoman_hub.gate.admission import Grant
from dragoman_local.workspace.policy.policy_parser import read_policy
from tests.hub.sessions.agents import OPTIONS
from tests.hub.sessions.stage import Talker, staged

POLICY = "_dragoman/hub/policy"


@pytest.fixture(autouse=True)
def remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "dragoman" / "remembered.toml"


def maker() -> Agent:
    agent = Agent("maker")

    @agent.prompt
    async def make(turn: Turn) -> None:
        async with turn.tool("Make", kind="execute", raw_input={"command": "make all"}) as call:
            allowed = await call.ask(OPTIONS)
        await turn.say("yes" if allowed else "no")

    return agent


@asynccontextmanager
async def denied(folder: Path) -> AsyncIterator[tuple[Any, Talker, dict[str, str]]]:
    """A stage, its owner, and what names a denial there."""
    async with staged({"one": maker}, expire=0.02, audit=str(folder / "audit")) as stage:
        client = await stage.client().begin()
        await client.call("_dragoman/hub/watch", {"on": True})
        session = await client.new(str(folder))
        await client.answer(client.prompt(session, "go"))
        await client.until(lambda message: message.get("method") == "_dragoman/hub/denied")
        (denial,) = (await client.call("_dragoman/hub/inbox"))["denials"]
        assert denial["what"] == "make all"
        yield stage, client, {"sessionId": session, "remedy": denial["remedy"]}


async def test_a_rule_is_shown_then_written_then_counts_and_is_taken_back(
    tmp_path: Path, remembered: Path
) -> None:
    async with denied(tmp_path) as (_, client, named):
        shown = await client.call(f"{POLICY}/preview", named)
        assert not remembered.exists()
        assert (shown["file"], shown["isKept"]) == (str(remembered), False)
        assert shown["covers"].startswith("`make all` in ")
        assert await client.call(f"{POLICY}/allow", {**named, "rule": shown["rule"]}) == {"isKept": True}
        assert remembered.read_text().endswith(shown["rule"])
        (rule,) = read_policy(remembered.read_text(), "remembered").rules
        assert (rule.decision, rule.agent, rule.command) == ("allow", ("one",), (("make", "all"),))
        assert (await client.call("_dragoman/hub/inbox"))["denials"] == []
        await client.answer(client.prompt(named["sessionId"], "again"))
        assert (await client.call(f"{POLICY}/preview", named))["isKept"]
        assert await client.call(f"{POLICY}/undo", named) == {"isKept": False}
        assert read_policy(remembered.read_text(), "remembered").rules == ()
        assert client.texts() == ["no", "yes"]
    lines = [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
    changes = [(line["method"], line["title"], line["person"]) for line in lines if line["kind"] == "policy"]
    assert changes == [(f"{POLICY}/{act}", named["remedy"], "owner") for act in ("allow", "undo")]


@pytest.mark.parametrize(
    "change", [{"rule": '[[rule]]\ndecision = "allow"\n'}, {"remedy": "dragoman policy"}]
)
async def test_a_client_writes_no_rule_of_its_own(
    tmp_path: Path, remembered: Path, change: dict[str, str]
) -> None:
    async with denied(tmp_path) as (_, client, named):
        shown = await client.call(f"{POLICY}/preview", named)
        params = {**named, "rule": shown["rule"], **change}
        assert await client.call(f"{POLICY}/allow", params) == {"isKept": False}
        assert await client.call(f"{POLICY}/undo", named) == {"isKept": False}
    assert not remembered.exists()


@pytest.mark.parametrize("scope", ["approve", "admin"])
async def test_a_token_that_only_answers_or_only_administers_writes_no_rule(
    tmp_path: Path, remembered: Path, scope: Any
) -> None:
    async with denied(tmp_path) as (stage, client, named):
        shown = await client.call(f"{POLICY}/preview", named)
        narrow = await stage.client(Grant("narrow", frozenset({scope}))).begin()
        for act in ("preview", "allow", "undo"):
            refusal = await narrow.refusal(f"{POLICY}/{act}", {**named, "rule": shown["rule"]})
            assert refusal["data"] == {"scope": "admin" if scope == "approve" else "approve"}
    assert not remembered.exists()


async def test_no_rule_is_written_that_the_audit_log_cannot_take(tmp_path: Path, remembered: Path) -> None:
    async with denied(tmp_path) as (_, client, named):
        shown = await client.call(f"{POLICY}/preview", named)
        (tmp_path / "audit").unlink()
        (tmp_path / "audit").mkdir()
        refusal = await client.refusal(f"{POLICY}/allow", {**named, "rule": shown["rule"]})
        assert "the audit log cannot be written" in refusal["message"]
    assert not remembered.exists()


async def test_a_denial_is_shown_and_allowed_after_a_restart_and_so_is_its_end(
    tmp_path: Path, remembered: Path
) -> None:
    async with denied(tmp_path) as (stage, before, named):
        inbox = (await before.call("_dragoman/hub/inbox"))["denials"]
        first = await before.call(f"{POLICY}/preview", named)
        for _ in range(2):  # also what was read is known the next time
            await stage.crash()
            await stage.start()
            client = await stage.client().begin()
            assert (await client.call("_dragoman/hub/inbox"))["denials"] == inbox
        shown = await client.call(f"{POLICY}/preview", named)
        assert shown["covers"] == first["covers"]
        assert shown["rule"].splitlines()[1:] == first["rule"].splitlines()[1:]
        assert await client.call(f"{POLICY}/allow", {**named, "rule": shown["rule"]}) == {"isKept": True}
        await stage.crash()
        await stage.start()
        client = await stage.client().begin()
        assert await client.call(f"{POLICY}/preview", named) == {**shown, "isKept": True}
        assert (await client.call("_dragoman/hub/inbox"))["denials"] == []
        assert await client.call(f"{POLICY}/undo", named) == {"isKept": False}
        assert read_policy(remembered.read_text(), "remembered").rules == ()
        assert (await client.call("_dragoman/hub/inbox"))["denials"] == inbox


async def test_who_may_not_see_a_session_sees_none_of_its_denials_after_a_restart(tmp_path: Path) -> None:
    async with denied(tmp_path) as (stage, _, _named):
        await stage.crash()
        await stage.start()
        other = await stage.client(Grant("other", roots=(str(tmp_path / "config"),))).begin()
        assert (await other.call("_dragoman/hub/inbox"))["denials"] == []


async def test_a_session_that_cannot_be_read_hides_no_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with denied(tmp_path) as (stage, _, _named):
        await stage.crash()
        await stage.start()
        client = await stage.client().begin()

        def replay(stream: str, **_: object) -> object:
            raise JournalDamaged("entry 3 was changed", stream=stream, sequence=2)

        with monkeypatch.context() as patch:
            patch.setattr(stage.hub.journal, "replay", replay)
            assert await client.call("_dragoman/hub/inbox") == {"requests": [], "denials": []}
