"""The guide for a code-review agent in an IDE: its checklist and its list of common mistakes, by name.

The agent is the process that an editor starts, and what it says is read as bytes. Where the guide's own
examples differ from the protocol (a `message` update, `serverInfo`), the protocol's form is what counts.
"""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.agents.review.ground import APP, APP_FINDINGS, findings_in, make_repository
from tests.agents.review.process import Peer, running

pytestmark = pytest.mark.bound(60)  # a process and its tools are started, on a machine that may be busy

KINDS = {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}
STATUSES = {"pending", "in_progress", "completed", "failed"}
FOREVER = """[[rule]]
id = "team/forever"
title = "Never found"
why = "The search for it takes longer than the sun will shine."
severity = "low"
pattern = '(x+x+)+y'
"""

LOUD = """
import builtins

usual = builtins.__import__


def loud(name, *rest, **more):
    if name.startswith("dragoman_app.agents.review"):
        print("importing", name)
    return usual(name, *rest, **more)


builtins.__import__ = loud
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project")


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


def never_ending(folder: Path) -> None:
    """Make the next review of `endless.txt` last until somebody ends it."""
    (folder / ".dragoman" / "rules").mkdir(parents=True)
    (folder / ".dragoman" / "rules" / "forever.toml").write_text(FOREVER)
    (folder / "endless.txt").write_text("x" * 60 + "\n")


async def started_a_child(peer: Peer) -> None:
    """Until the agent has a process of its own running; the bound of the test ends a longer wait."""
    for _ in iter(lambda: len(peer.raw.processes()) > 1, True):
        await asyncio.sleep(0)


async def reviewed(peer: Peer, folder: Path, text: str = "review src/app.py") -> Any:
    session_id = await peer.open(folder)
    return await peer.prompt(session_id, text)


class Review(NamedTuple):
    """A whole life of the agent, and what was noted on the way."""

    peer: Peer
    introductions: list[Any]
    """Its answers to a client of today and to one from the future."""
    answer: Any
    """To the prompt."""
    behind: int
    """Lines from there to the answer to the next request."""
    rest: list[bytes]
    """What it said after its input had ended."""


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> Review:
    """One review, looked at by many tests. It begins with a line that is no frame."""
    place = tmp_path_factory.mktemp("review")
    return asyncio.run(whole_review(make_repository(place / "project"), place / "sessions.db"))


async def whole_review(folder: Path, sessions: Path) -> Review:
    async with running(sessions) as peer:
        await peer.raw.send(b"this is no frame\n")
        await peer.until(lambda frame: "error" in frame)
        future = await peer.call("initialize", {"protocolVersion": 99, "clientCapabilities": {}})
        answer = await reviewed(peer, folder)
        (now,) = [frame for frame in peer.frames if frame.get("id") == future["id"] + 1]
        before = len(peer.lines)
        await peer.call("session/list", {})
        behind = len(peer.lines) - before
        peer.raw.close_stdin()
        rest = await peer.raw.read_rest(seconds=30)
    return Review(peer, [now["result"], future["result"]], answer, behind, rest)


# The checklist.


def test_all_logs_go_to_stderr_only(review: Review) -> None:
    assert "error" in review.peer.frames[0]  # there was something to complain about
    assert all(frame.get("jsonrpc") == "2.0" for frame in review.peer.frames)


def test_stdout_contains_only_json_rpc_messages(review: Review) -> None:
    for frame in [*review.peer.frames, *map(json.loads, review.rest)]:
        assert frame["jsonrpc"] == "2.0"
        assert ("method" in frame) != ("result" in frame or "error" in frame)
    assert review.peer.raw.partial_line == b""


def test_each_message_is_a_single_line_that_ends_with_a_newline(review: Review) -> None:
    assert "\n" in review.peer.text()  # there are line breaks in what is said, and none in how
    assert review.peer.raw.partial_line == b""
    assert all(isinstance(json.loads(line), dict) for line in review.peer.lines)


def test_session_update_uses_the_update_field_with_a_session_update_type(review: Review) -> None:
    notes = [frame["params"] for frame in review.peer.frames if frame.get("method") == "session/update"]
    assert {"agent_message_chunk", "plan", "tool_call", "tool_call_update"} <= {
        note["update"]["sessionUpdate"] for note in notes
    }
    assert all(note.keys() <= {"sessionId", "update", "_meta"} for note in notes)


def test_tool_calls_include_id_title_kind_and_status(review: Review) -> None:
    calls = [update for update in review.peer.updates() if update["sessionUpdate"] == "tool_call"]
    assert len({call["toolCallId"] for call in calls}) == len(calls) >= 4
    for call in calls:
        assert call["title"]
        assert call["kind"] in KINDS
        assert call["status"] in STATUSES


def test_the_final_response_includes_a_stop_reason(review: Review) -> None:
    assert review.answer["result"]["stopReason"] == "end_turn"
    assert set(findings_in(review.peer.text())) == APP_FINDINGS


def test_a_review_finds_the_bugs_of_the_file_and_invents_none(review: Review) -> None:
    found = findings_in(review.peer.text())
    assert len(found) == len(set(found))
    assert set(found) == APP_FINDINGS
    lines = APP.split("\n")
    assert "seen=[]" in lines[6]  # where the findings say that the default and the shell are
    assert "shell=True" in lines[12]


async def test_cancellation_is_handled_gracefully(folder: Path, sessions: Path) -> None:
    """Stop at once, abort what runs, send what is pending, answer `cancelled` and no error."""
    never_ending(folder)
    async with running(sessions) as peer:
        session_id = await peer.open(folder)
        number = await peer.begin_prompt(session_id, "review endless.txt")
        await peer.until(
            lambda frame: "Built-in rules" in json.dumps(frame) and "in_progress" in json.dumps(frame)
        )
        await started_a_child(peer)
        begun = time.monotonic()
        await peer.notify("session/cancel", {"sessionId": session_id})
        answer = await peer.answer(number)
        took = time.monotonic() - begun
        assert answer == {"jsonrpc": "2.0", "id": number, "result": {"stopReason": "cancelled"}}
        assert took < 15  # a rule has twenty seconds
        assert peer.raw.processes() == [peer.raw.pid]
        assert open_calls(peer) == {}
        # The next turn knows nothing of it.
        assert (await peer.prompt(session_id, "review src/app.py"))["result"]["stopReason"] == "end_turn"


async def test_a_cancel_while_the_user_is_asked_ends_the_turn_too(folder: Path, sessions: Path) -> None:
    async with running(sessions) as peer:
        session_id = await peer.open(folder)
        number = await peer.begin_prompt(session_id, "review src/app.py and fix it")
        await peer.until(lambda frame: frame.get("method") == "session/request_permission")
        asked = peer.frames[-1]
        await peer.notify("session/cancel", {"sessionId": session_id})
        outcome = {"outcome": {"outcome": "cancelled"}}
        await peer.raw.send({"jsonrpc": "2.0", "id": asked["id"], "result": outcome})
        answer = await peer.answer(number)
        assert answer["result"]["stopReason"] == "cancelled"
        assert (folder / "src" / "app.py").read_text() == APP
        assert open_calls(peer) == {}


def test_the_protocol_version_is_1(review: Review) -> None:
    assert [found["protocolVersion"] for found in review.introductions] == [1, 1]


def test_the_agents_info_includes_name_and_version(review: Review) -> None:
    for found in review.introductions:
        assert found["agentInfo"]["name"] == "dragoman-review"
        assert found["agentInfo"]["version"]


# The common mistakes.


def test_no_update_is_sent_without_the_update_wrapper(review: Review) -> None:
    for frame in review.peer.frames:
        if frame.get("method") == "session/update":
            assert "type" not in frame["params"]
            assert "content" not in frame["params"]


async def test_nothing_is_logged_to_stdout_even_by_code_that_prints(
    folder: Path, sessions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loud").mkdir()
    (tmp_path / "loud" / "sitecustomize.py").write_text(LOUD)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "loud"))
    async with running(sessions, imports_anew=True) as peer:
        await reviewed(peer, folder)
        assert all(frame["jsonrpc"] == "2.0" for frame in peer.frames)
        assert "importing dragoman_app.agents.review.prompts" in peer.raw.stderr


def test_the_session_update_field_is_never_missing(review: Review) -> None:
    assert review.peer.updates()
    assert all(isinstance(update.get("sessionUpdate"), str) for update in review.peer.updates())


def test_all_updates_come_before_the_final_response(review: Review) -> None:
    assert "## Summary" in review.peer.text()
    assert review.behind == 1  # nothing but the answer to the next request


def open_calls(peer: Peer) -> dict[str, str]:
    """Tool calls that have not come to an end."""
    states = {
        update["toolCallId"]: update["status"]
        for update in peer.updates()
        if update["sessionUpdate"] in ("tool_call", "tool_call_update") and "status" in update
    }
    return {call: status for call, status in states.items() if status not in ("completed", "failed")}
