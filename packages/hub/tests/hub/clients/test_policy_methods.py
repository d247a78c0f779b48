"""What nobody answered in time becomes a rule with one key: shown first, written as shown, and taken back."""

from __future__ import annotations

import json
import shlex
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman import Agent, Turn
from dragoman.errors import JournalDamaged
from dragoman.schema import v1
from dragoman_hub.gate.admission import Grant
from dragoman_local.workspace.policy.policy_parser import read_policy
from tests.hub.sessions.agents import OPTIONS
from tests.hub.sessions.stage import Talker, staged

POLICY = "_dragoman/hub/policy"


@pytest.fixture(autouse=True)
def remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "dragoman" / "remembered.toml"


HEARD: list[str] = []
"""What the agent's latest prompts said."""


def maker() -> Agent:
    agent = Agent("maker")

    @agent.prompt
    async def make(turn: Turn) -> None:
        HEARD[:] = [block.text for block in turn.prompt if isinstance(block, v1.TextContent)]
        command = "make install" if "install" in turn.text else "make all"
        for number in range(turn.text.count("again") or 1):
            async with turn.tool(f"Make {number}", kind="execute", raw_input={"command": command}) as call:
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


async def once(client: Talker, named: dict[str, str]) -> dict[str, Any]:
    """What allows the next try of a denial, as it is shown now."""
    shown = await client.call(f"{POLICY}/preview", named)
    assert shlex.quote(shown["act"]["command"]) in named["remedy"]
    return {**named, "once": True, "identity": shown["identity"]}


async def said(client: Talker, session: str, prompt: str) -> list[str]:
    """What the agent says in a turn."""
    before = len(client.texts())
    await client.answer(client.prompt(session, prompt))
    return client.texts()[before:]


async def denial_after(client: Talker, turn: Awaitable[object]) -> dict[str, Any]:
    """What is told of the denial in a turn, perhaps after its end."""
    start = len(client.heard)
    await turn
    told = await client.until(lambda one: one.get("method") == "_dragoman/hub/denied", after=start)
    denial: dict[str, Any] = told["params"]
    return denial


async def test_the_next_try_is_allowed_once_and_the_agent_is_told(tmp_path: Path, remembered: Path) -> None:
    async with denied(tmp_path) as (_, client, named):
        params = await once(client, named)
        assert await client.call(f"{POLICY}/allow", params) == {"isOnce": True}
        assert await client.call(f"{POLICY}/allow", params) == {"isOnce": False}  # not two tries
        assert (await client.call("_dragoman/hub/inbox"))["denials"] == []
        assert await said(client, named["sessionId"], "install") == ["no"]
        assert HEARD[0] == "The user now allows this, which was denied (once): make all"
    assert not remembered.exists()
    lines = [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
    (change,) = [line for line in lines if line["kind"] == "policy"]
    assert (change["title"], change["person"], change["outcome"]) == ("once: make all", "owner", "allow")


async def test_the_second_try_is_denied_and_then_told_anew(tmp_path: Path) -> None:
    async with denied(tmp_path) as (_, client, named):
        await client.call(f"{POLICY}/allow", await once(client, named))
        denial = await denial_after(client, said(client, named["sessionId"], "again and again"))
        assert client.texts() == ["no", "yes", "no"]
        assert (await client.call("_dragoman/hub/inbox"))["denials"] == [denial]
        assert (denial["remedy"], denial["once"]) == (named["remedy"], True)
        assert await said(client, named["sessionId"], "again") == ["no"]
        assert HEARD == ["again"]


async def test_a_next_try_ends_with_the_turn_that_was_told_of_it(tmp_path: Path) -> None:
    async with denied(tmp_path) as (_, client, named):
        await client.call(f"{POLICY}/allow", await once(client, named))
        assert await said(client, named["sessionId"], "install") == ["no"]
        assert await said(client, named["sessionId"], "again") == ["no"]
        assert HEARD == ["again"]


async def test_the_identity_of_another_action_allows_nothing(tmp_path: Path) -> None:
    async with denied(tmp_path) as (_, client, named):
        install = await denial_after(client, said(client, named["sessionId"], "install"))
        other = await once(client, {**named, "remedy": install["remedy"]})
        mine = await once(client, named)
        for params in ({**mine, "identity": other["identity"]}, {**mine, "remedy": "dragoman policy"}):
            assert await client.call(f"{POLICY}/allow", params) == {"isOnce": False}
        assert await said(client, named["sessionId"], "again") == ["no"]
        assert HEARD == ["again"]


async def test_a_no_to_the_same_action_takes_the_next_try_back(tmp_path: Path) -> None:
    async with denied(tmp_path) as (stage, client, named):
        stage.hub.options = msgspec.structs.replace(stage.hub.options, expire=0.0)
        start = len(client.heard)
        turn = client.prompt(named["sessionId"], "again and again")
        first = await client.asked(after=start)
        await client.call(f"{POLICY}/allow", await once(client, named))
        start = len(client.heard)
        client.allow(first, "reject")
        client.allow(await client.asked(after=start), "reject")
        await client.answer(turn)
        assert client.texts() == ["no", "no", "no"]


async def test_a_rule_that_denies_by_then_is_stronger_than_the_next_try(
    tmp_path: Path, remembered: Path
) -> None:
    async with denied(tmp_path) as (_, client, named):
        await client.call(f"{POLICY}/allow", await once(client, named))
        remembered.parent.mkdir(parents=True, exist_ok=True)
        remembered.write_text('[[rule]]\ndecision = "deny"\ncommand = "make"\n')
        assert await said(client, named["sessionId"], "again") == ["no"]


async def test_after_a_restart_only_the_rule_is_offered(tmp_path: Path) -> None:
    async with denied(tmp_path) as (stage, before, named):
        params = await once(before, named)
        await before.call(f"{POLICY}/allow", params)
        await stage.crash()
        await stage.start()
        client = await stage.client().begin()
        (denial,) = (await client.call("_dragoman/hub/inbox"))["denials"]
        assert denial["once"] is False
        shown = await client.call(f"{POLICY}/preview", named)
        assert shown["rule"]
        assert "identity" not in shown
        assert await client.call(f"{POLICY}/allow", params) == {"isOnce": False}
        await client.call(
            "session/load", {"sessionId": named["sessionId"], "cwd": str(tmp_path), "mcpServers": []}
        )
        assert await said(client, named["sessionId"], "again") == ["no"]


@pytest.mark.parametrize("scope", ["approve", "admin"])
async def test_a_token_that_only_answers_or_only_administers_writes_no_rule(
    tmp_path: Path, remembered: Path, scope: Any
) -> None:
    async with denied(tmp_path) as (stage, client, named):
        shown = await client.call(f"{POLICY}/preview", named)
        narrow = await stage.client(Grant("narrow", frozenset({scope}))).begin()
        for act in ("preview", "allow", "undo"):
            for more in ({"rule": shown["rule"]}, {"once": True, "identity": shown["identity"]}):
                refusal = await narrow.refusal(f"{POLICY}/{act}", {**named, **more})
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
        inbox = [
            {**denial, "once": False} for denial in (await before.call("_dragoman/hub/inbox"))["denials"]
        ]
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
