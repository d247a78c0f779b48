"""The board of `dragoman chat`, on a real hub."""

import asyncio
from pathlib import Path

import pytest

from dragoman.errors import LocalMistake
from dragoman.schema import v1
from dragoman_app.apps.chat import hub_board
from dragoman_app.apps.chat.hub_backend import HubBackend
from dragoman_app.apps.chat.hub_board import make_board_session, make_permission
from dragoman_app.tui.ports import ChatRequest
from dragoman_app.tui.screens import permission
from dragoman_local.workspace.settings import LocalRules
from tests.apps.chat.test_hub_backend_cuts import HEADERS, hub_of
from tests.hub.sessions.agents import Gate, obedient
from tests.tui.stage import on_stage

pytestmark = [pytest.mark.bound(60)]


@pytest.fixture(autouse=True)
def quick_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permission, "STILL", -1.0)
    monkeypatch.setattr(hub_board, "EVERY", 0.5)
    monkeypatch.setattr(hub_board, "PAUSE", 0.0)
    monkeypatch.setattr(hub_board, "LONGEST_WAIT", 0.1)


async def test_the_board_shows_all_sessions_answers_names_archives_and_comes_back_after_a_restart(
    tmp_path: Path,
) -> None:
    gate = Gate()
    async with hub_of(lambda: obedient(gate)) as (door, url):
        other = await door.stage.client().begin()
        here, done = await other.new(str(tmp_path)), await other.new(str(tmp_path))
        await other.answer(other.prompt(done, "say 3"))
        backend = HubBackend(str(tmp_path), LocalRules(), url=url, headers=HEADERS)
        async with on_stage(backend, ChatRequest(agent="", cwd=str(tmp_path), session=here)) as eyes:
            await eyes.see("● ready")
            await eyes.press("f4")
            await eyes.see("Board", "0 1 2")

            asking = other.prompt(done, "ask")
            await eyes.see("Needs you  1")
            await eyes.press("g", "A")
            await eyes.see("Permission", "Delete it")
            await eyes.press("y")
            await eyes.lose("Permission")
            await eyes.lose("Needs you  1")
            await other.answer(asking)

            await eyes.press("r")
            await eyes.see("Title")
            await eyes.press("ctrl+u", *"named [b]", "enter")
            await eyes.see("named [b]")
            await door.crash()
            await eyes.see("connection")
            door.open()
            await eyes.lose("connection")
            await eyes.see("named [b]")
            await eyes.press("x")
            await eyes.lose("named [b]")
            await eyes.press("v")
            await eyes.see("named [b]", "archived")
            await eyes.press("slash", *"named", "enter", "enter")
            await eyes.lose("Board")
            await eyes.see("● ready", "0 1 2")


def test_what_a_hub_tells_is_read_as_data_whatever_it_is() -> None:
    session = make_board_session(
        {"sessionId": "s", "title": 7, "state": "running", "updatedAt": "2026-01-02T03:04:05+00:00"},
        {"line": {"text": "x"}, "usage": {"cost": {"amount": 1, "currency": "USD"}}, "turnStarted": 5},
        2,
    )
    assert (session.title, session.line, session.cost) == ("", "x", (1.0, "USD"))
    assert (session.turn_started, session.questions) == (5.0, 2)
    assert session.updated == 1_767_323_045.0
    odd = make_board_session({"updatedAt": "never", "agent": None}, {"usage": [], "changes": 3}, 0)
    assert (odd.updated, odd.agent, odd.cost, odd.changes) == (0.0, "", None, "")


async def test_a_question_is_whole_with_who_asks_and_what_is_risky_and_a_form_is_none() -> None:
    tool = {"toolCallId": "t", "title": "rm", "kind": "execute", "rawInput": {"command": "rm -rf /p/x"}}
    options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
    fields = {
        "method": "session/request_permission",
        "params": {"sessionId": "s", "toolCall": tool, "options": options},
        "agent": "one",
        "requester": "linter, for main session",
        "rule": "no rule covers it",
        "risks": [{"rule": "rm", "severity": "high", "text": "It deletes"}, 7],
        "risksNote": "and more",
    }
    question = make_permission(fields, cwd="/p")
    assert question is not None
    assert "linter, for main session: one wants to" in question.text
    assert "rm -rf /p/x" in question.text
    assert question.options == (v1.PermissionOption(option_id="y", name="Yes", kind="allow_once"),)
    assert question.cautions is not None
    assert [(c.severity, c.text) for c in await question.cautions()] == [
        ("high", "It deletes (rm)"),
        ("", "and more"),
    ]
    act = {"agent": "one", "deed": "run a command", "command": "git push", "folder": "/q", "why": "a rule"}
    judged = make_permission({**fields, "act": {**act, "always": "Always covers all.", "new": 1}}, cwd="/p")
    assert judged is not None
    assert "Command:\n  git push\nIn: /q\nAlways covers all." in judged.text
    assert "rm -rf" not in judged.text
    assert judged.why == "a rule"
    assert make_permission({**fields, "method": "elicitation/create"}, cwd="/p") is None
    assert make_permission({**fields, "params": {"toolCall": 3}}, cwd="/p") is None


async def test_a_board_says_that_its_token_is_refused_and_does_not_try_again(tmp_path: Path) -> None:
    async with hub_of(lambda: obedient(Gate())) as (_, url):
        backend = HubBackend(str(tmp_path), LocalRules(), url=url, headers={})
        moved = asyncio.Event()
        async with backend.board(moved.set) as board:
            await moved.wait()
            assert "status 401" in board.trouble
            assert board.sessions == []
            with pytest.raises(LocalMistake, match="no connection"):
                await board.set_title("s", "t")
