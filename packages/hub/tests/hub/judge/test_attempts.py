"""Who was refused, and who changed a mode, is in the audit log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent, Turn
from dragoman.errors import CallFailed, ErrorAnswer
from dragoman.schema import v1
from dragoman_hub.gate.admission import Grant
from dragoman_hub.judge.attempts import REFUSALS
from tests.hub.sessions.agents import OPTIONS, obedient
from tests.hub.sessions.stage import Talker, staged


@pytest.fixture(autouse=True)
def nobodys_own_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def lines_of(audit: Path) -> list[tuple[str, str, str, str]]:
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    return [(line["method"], line["outcome"], line.get("person", ""), line["title"]) for line in lines]


def circumstances(audit: Path) -> list[tuple[str, str, str, str]]:
    """Who is told of in each line, by whom, and why."""
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    return [
        (line["agent"], line["session"], f"{line['kind']} by {line['by']}", line["why"]) for line in lines
    ]


async def test_who_may_not_answer_and_who_is_late_is_in_the_audit_log(tmp_path: Path) -> None:
    audit, yes = tmp_path / "audit.jsonl", {"outcome": {"outcome": "selected", "optionId": "allow"}}
    async with staged({"one": obedient}, audit=str(audit)) as stage:
        client = await stage.client().begin()
        onlooker = await stage.client(Grant("onlooker", frozenset({"observe"}))).begin()
        late = await stage.client(Grant("late", frozenset({"approve"}))).begin()
        session = await client.new(str(tmp_path))
        asked = client.prompt(session, "ask")
        question = await client.asked()
        (found,) = (await late.call("_dragoman/hub/inbox"))["requests"]
        params = {"sessionId": session, "request": found["request"], "result": yes}
        assert (await onlooker.refusal("_dragoman/hub/answer", params))["code"] == -32003
        client.allow(question)
        await client.answer(asked)
        for _ in range(50):  # a flood drives nothing out of the log
            assert await late.call("_dragoman/hub/answer", params) == {"settled": False}
    lines = lines_of(audit)
    assert lines[:3] == [
        ("permission", "ask", "", "Delete it"),
        ("_dragoman/hub/answer", "deny", "onlooker", "_dragoman/hub/answer"),
        ("permission", "allow", "owner", "Delete it"),
    ]
    assert lines[3:] == [("_dragoman/hub/answer", "deny", "late", "_dragoman/hub/answer")] * REFUSALS.count
    told = circumstances(audit)
    assert told[1] == ("", "", "other by person", "Forbidden: this token may not approve")
    why = "this question does not exist, or is already answered"
    assert set(told[3:]) == {("one", session, "other by person", why)}


async def test_what_nobody_answered_is_told_once_with_the_command_that_allows_it(tmp_path: Path) -> None:
    agent = Agent("maker")

    @agent.prompt
    async def make(turn: Turn) -> None:
        async with turn.tool("Make", kind="execute", raw_input={"command": "make all"}) as call:
            allowed = await call.ask(OPTIONS)
        with pytest.raises(CallFailed, match="does not permit"):
            await turn.write_text_file(str(tmp_path / "made.txt"), "made")
        await turn.say("yes" if allowed else "no")

    async with staged({"one": lambda: agent}, expire=0.02, audit=str(tmp_path / "audit")) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        for _ in range(2):
            await client.answer(client.prompt(session, "go"))
        assert client.texts() == ["no", "no"]
    notices = [update for update in updates(client) if update["sessionUpdate"] == "notice"]
    start = f"dragoman policy allow --agent one --cwd {tmp_path}"
    remedies = [f"{start} --command 'make all'", f"{start} --kind edit --path {tmp_path}/made.txt"]
    assert [notice["_meta"]["dragoman"]["remedy"] for notice in notices] == remedies
    for notice, remedy in zip(notices, remedies, strict=True):
        assert (notice["title"], notice["description"].endswith(remedy)) == ("Not allowed:", True)


def updates(client: Talker) -> list[dict[str, Any]]:
    return [one["params"]["update"] for one in client.heard if one.get("method") == "session/update"]


async def test_a_change_of_mode_is_in_the_audit_log_before_the_agent_hears_of_it(tmp_path: Path) -> None:
    audit = tmp_path / "audit.jsonl"
    agent = Agent("modal")
    heard: list[bool] = []

    @agent.set_mode
    async def set_mode(request: v1.SetSessionModeRequest) -> v1.SetSessionModeResponse:
        heard.append(request.mode_id in audit.read_text())
        if request.mode_id == "none":
            raise ErrorAnswer(-32602, "there is no such mode")
        return v1.SetSessionModeResponse()

    async with staged({"one": lambda: agent}, audit=str(audit)) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        await client.call("session/set_mode", {"sessionId": session, "modeId": "bypassPermissions"})
        await client.refusal("session/set_mode", {"sessionId": session, "modeId": "none"})
    assert heard == [True, True]
    assert lines_of(audit) == [
        ("session/set_mode", "allow", "owner", "modeId=bypassPermissions"),
        ("session/set_mode", "allow", "owner", "modeId=none"),
        ("session/set_mode", "deny", "owner", "modeId=none"),
    ]
    asked = ("one", session, "mode by person", "a client asked for it")
    refused = "the agent refused: call failed with -32602: there is no such mode"
    assert circumstances(audit) == [asked, asked, (*asked[:3], refused)]


async def test_no_mode_is_changed_that_cannot_be_written_down(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    async with staged({"one": obedient}, audit=str(tmp_path / "file/audit")) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        error = await client.refusal("session/set_mode", {"sessionId": session, "modeId": "all"})
        assert error["message"] == "Internal error: the audit log cannot be written"


async def test_a_path_outside_the_session_is_in_the_audit_log(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    audit = tmp_path / "audit.jsonl"
    async with staged({"one": obedient}, files="hub", audit=str(audit)) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path / "project"))
        await client.answer(client.prompt(session, f"write {tmp_path}/elsewhere words"))
    assert lines_of(audit) == [("fs/write_text_file", "deny", "", f"{tmp_path}/elsewhere")]
    ((agent, of, how, why),) = circumstances(audit)
    assert (agent, of, how) == ("one", session, "other by policy")
    assert "outside" in why
