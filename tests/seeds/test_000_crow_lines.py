"""Crow's description on the wire: a client that knows nothing else, in front of an agent of v1, found out by
itself.

One conversation is held in crow's words and then looked at by many tests; a second process loads its session.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from tests.seeds.lines import STORY_AGENT, TRANSLATE, Frame, LinePeer, lines, text

PICTURE = {"type": "image", "mimeType": "image/png", "data": "aW1n"}
RESOURCE = {"type": "resource", "resource": {"uri": "file:///b.txt", "text": "bee"}}
INITIALIZE = {
    "protocol_version": 1,
    "client_capabilities": {},
    "client_info": {"name": "crow-ide", "version": "0.1.0"},
}


class CrowStory(NamedTuple):
    """What was answered, and every line of both processes."""

    answers: dict[str, Frame]
    turn: list[Frame]
    """The frames of the first turn."""
    choices: dict[str, list[Frame]]
    """The frames of turns whose question was answered with approve or reject."""
    concurrent: list[Frame]
    """The frames while two sessions were active."""
    is_running: list[bool]
    """Whether the agent's command was running before and after the cancel."""
    first: LinePeer
    loaded: LinePeer
    complaints: bytes


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> CrowStory:
    return asyncio.run(tell_story(tmp_path_factory.mktemp("crow")))


def prompt(session: str, *blocks: Any) -> Frame:
    return {"session_id": session, "prompt": list(blocks)}


def update_of(frame: Frame) -> Frame:
    update: Frame = frame["params"]["update"] if frame.get("method") == "session/update" else {}
    return update


async def choose(peer: LinePeer, session: str, option: str) -> list[Frame]:
    since = len(peer.frames)
    turn = peer.request("session/prompt", prompt(session, text("/ask")))
    asked = await peer.until(lambda frame: update_of(frame).get("@type") == "permission_request")
    call = update_of(asked)["tool_call_id"]
    await peer.ask("permission_response", {"session_id": session, "tool_call_id": call, "option_id": option})
    await peer.answered(turn)
    return peer.frames[since:]


async def tell_story(folder: Path) -> CrowStory:
    command = [*TRANSLATE, "--", *STORY_AGENT, str(folder / "journal.db")]
    answers: dict[str, Frame] = {}
    async with lines(*command) as first:
        answers["initialize"] = await first.ask("initialize", INITIALIZE)
        new = {"cwd": str(folder), "mcpServers": []}
        session = (await first.ask("session/new", new))["result"]["sessionId"]
        other = (await first.ask("session/new", new))["result"]["sessionId"]
        answers["sessions"] = {"first": session, "second": other}
        since = len(first.frames)
        answers["prompt"] = await first.ask(
            "session/prompt", prompt(session, text("Hello"), PICTURE, RESOURCE)
        )
        turn = [frame for frame in first.frames[since:] if session_of(frame) in (session, None)]
        choices = {option: await choose(first, session, option) for option in ("allow_once", "reject_once")}

        since = len(first.frames)
        os.mkfifo(folder / "pid")
        waiting = first.request("session/prompt", prompt(session, text(f"/wait {folder / 'pid'}")))
        pid = int(await asyncio.to_thread((folder / "pid").read_text))
        await first.ask("session/prompt", prompt(other, text("mine")))
        is_running = [Path(f"/proc/{pid}").exists()]
        cancel = first.request("cancel", {"session_id": session})
        both = {waiting, cancel}
        while both:
            both.discard((await first.read()).get("id", 0))
        answers["cancel"], answers["cancelled"] = (
            next(frame for frame in first.frames if frame.get("id") == number) for number in (cancel, waiting)
        )
        is_running.append(Path(f"/proc/{pid}").exists())
        concurrent = first.frames[since:]

        answers["failed"] = await first.ask("session/prompt", prompt(session, text("/fail")))
        answers["invalid"] = await first.ask("session/prompt", {"session_id": 5})
        answers["unknown"] = await first.ask("fly", {})
        first.write(b"{caw")
        answers["broken"] = await first.until(lambda frame: "method" not in frame)
        complaints = await first.close()
    async with lines(*command) as loaded:
        await loaded.ask("initialize", INITIALIZE)
        answers["load"] = await loaded.ask("session/load", {"session_id": session, "cwd": str(folder)})
        await loaded.close()
    return CrowStory(answers, turn, choices, concurrent, is_running, first, loaded, complaints)


def session_of(frame: Frame) -> str | None:
    session: str | None = frame.get("params", {}).get("sessionId")
    return session


def kinds(frames: list[Frame]) -> list[str]:
    return [update["@type"] for frame in frames if (update := update_of(frame))]


def test_every_message_is_one_line_of_json_rpc(story: CrowStory) -> None:
    for line in [*story.first.raw, *story.loaded.raw]:
        assert line.endswith(b"\n")
        assert json.loads(line)["jsonrpc"] == "2.0"


def test_an_initialize_in_snake_case_is_understood_without_naming_the_dialect(story: CrowStory) -> None:
    assert "result" in story.answers["initialize"]
    assert b"the client speaks crow" in story.complaints


def test_the_answer_names_version_and_prompt_capabilities(story: CrowStory) -> None:
    result = story.answers["initialize"]["result"]
    assert result["protocol_version"] == 1
    offered = result["agent_capabilities"]["prompt_capabilities"]
    assert (offered["text"], offered["image"], offered["resource"]) == (True, True, True)


def test_the_answer_names_mcp_capabilities(story: CrowStory) -> None:
    offered = story.answers["initialize"]["result"]["agent_capabilities"]["mcp_capabilities"]
    assert offered.keys() == {"http", "sse"}
    assert {type(value) for value in offered.values()} == {bool}


def test_the_answer_says_that_sessions_can_be_loaded(story: CrowStory) -> None:
    assert story.answers["initialize"]["result"]["agent_capabilities"]["load_session"] is True


def test_the_answer_names_the_agent(story: CrowStory) -> None:
    info = {"name": "story", "title": "Story", "version": "1.2.3"}
    assert story.answers["initialize"]["result"]["agent_info"] == info


def test_a_new_session_has_an_id(story: CrowStory) -> None:
    assert len(set(story.answers["sessions"].values())) == 2


def test_the_ids_of_sessions_are_uuids(story: CrowStory) -> None:
    ids = list(story.answers["sessions"].values())
    assert [str(UUID(session)) for session in ids] == ids


def test_a_prompt_names_its_session_in_snake_case(story: CrowStory) -> None:
    assert story.answers["prompt"]["result"] == {"stop_reason": "end_turn"}
    sessions = {frame["params"]["sessionId"] for frame in story.turn if "method" in frame}
    assert sessions == {story.answers["sessions"]["first"]}


def test_pictures_and_resources_of_a_prompt_reach_the_agent(story: CrowStory) -> None:
    said = "".join(update_of(frame).get("text", "") for frame in story.turn)
    assert "['TextContent', 'ImageContent', 'EmbeddedResource']" in said


def test_thoughts_are_told_as_text(story: CrowStory) -> None:
    assert {"@type": "agent_thought_text", "text": "I think."} in map(update_of, story.turn)


def test_messages_are_streamed_as_text(story: CrowStory) -> None:
    parts = [
        update["text"] for update in map(update_of, story.turn) if "message_text" in update.get("@type", "")
    ]
    assert len(parts) == 2
    assert "".join(parts).startswith("You said: Hello")


def test_the_response_with_the_stop_reason_is_behind_all_updates(story: CrowStory) -> None:
    assert story.turn[-1] is story.answers["prompt"]
    assert all("method" in frame for frame in story.turn[:-1])


def test_a_tool_call_starts_with_id_title_kind_and_status(story: CrowStory) -> None:
    start = next(u for u in map(update_of, story.turn) if u.get("@type") == "tool_call_start")
    assert start["tool_call_id"]
    assert (start["title"], start["kind"], start["status"]) == ("Read a.txt", "read", "in_progress")


def test_a_tool_call_is_updated_under_its_id(story: CrowStory) -> None:
    calls = [u for u in map(update_of, story.turn) if u.get("@type", "").startswith("tool_call")]
    assert [call["status"] for call in calls] == ["in_progress", "completed"]
    assert len({call["tool_call_id"] for call in calls}) == 1


def test_a_plan_has_entries_with_content_priority_and_status(story: CrowStory) -> None:
    plans = [u["entries"] for u in map(update_of, story.turn) if u.get("@type") == "plan_update"]
    assert plans[0][0] == {"content": "Look", "priority": "medium", "status": "in_progress"}
    assert [entry["status"] for entry in plans[-1]] == ["completed", "completed"]


def test_a_session_is_loaded_without_naming_servers(story: CrowStory) -> None:
    assert "result" in story.answers["load"]


def test_the_whole_conversation_is_replayed_before_the_load_is_answered(story: CrowStory) -> None:
    replayed = story.loaded.frames[1:]
    assert replayed[-1] is story.answers["load"]
    session = story.answers["sessions"]["first"]
    live = [
        frame
        for frame in story.first.frames
        if update_of(frame) and frame["params"]["sessionId"] == session
        if update_of(frame)["@type"] not in ("available_commands_update", "permission_request")
    ]
    told = [frame for frame in replayed if update_of(frame)]
    users = [update_of(frame)["text"] for frame in told if update_of(frame)["@type"] == "user_message_text"]
    assert users[0] == "Hello"
    assert users[-1] == "/fail"
    assert users.count("/ask") == 2
    assert [update_of(f) for f in told if update_of(f)["@type"] != "user_message_text"][: len(live)] == [
        update_of(frame) for frame in live
    ]


def test_cancel_is_a_request_and_is_answered(story: CrowStory) -> None:
    assert story.answers["cancel"]["result"] == {}


def test_cancel_ends_the_command_that_is_running(story: CrowStory) -> None:
    assert story.is_running == [True, False]


def test_updates_have_no_id_and_responses_have_one(story: CrowStory) -> None:
    for frame in story.first.frames:
        assert ("id" in frame) != (frame.get("method") == "session/update")


def test_a_turn_that_ends_by_itself_ends_with_end_turn(story: CrowStory) -> None:
    assert story.answers["prompt"]["result"]["stop_reason"] == "end_turn"


def test_a_cancelled_turn_ends_with_cancelled(story: CrowStory) -> None:
    assert story.answers["cancelled"]["result"]["stop_reason"] == "cancelled"


def test_a_turn_that_fails_ends_with_error(story: CrowStory) -> None:
    assert story.answers["failed"]["result"]["stop_reason"] == "error"


def test_permission_is_asked_before_the_tool_runs_with_its_arguments(story: CrowStory) -> None:
    before = kinds(story.choices["allow_once"])
    assert before[:2] == ["tool_call_start", "permission_request"]
    start, question = map(update_of, story.choices["allow_once"][:2])
    assert start["status"] == "pending"
    assert question["title"] == "Remove"
    assert json.loads(question["arguments"]) == {"path": "/x"}


def test_options_have_id_title_and_one_is_primary(story: CrowStory) -> None:
    options = update_of(story.choices["allow_once"][1])["permission_options"]
    assert [option["id"] for option in options] == ["allow_once", "reject_once"]
    assert all(option["title"] for option in options)
    assert [option.get("is_primary", False) for option in options] == [True, False]


def test_an_approval_lets_the_tool_run(story: CrowStory) -> None:
    frames = story.choices["allow_once"]
    assert [u["status"] for u in map(update_of, frames) if "status" in u][-1] == "completed"
    assert {"@type": "agent_message_text", "text": "removed"} in map(update_of, frames)


def test_a_rejection_keeps_the_tool_from_running(story: CrowStory) -> None:
    frames = story.choices["reject_once"]
    assert {"@type": "agent_message_text", "text": "refused"} in map(update_of, frames)
    assert "in_progress" not in [u.get("status") for u in map(update_of, frames)]


def test_logs_go_to_standard_error(story: CrowStory) -> None:
    assert b"Traceback" in story.complaints  # of the failure that the story asks for
    assert all(line.startswith(b"{") for line in story.first.raw)


def test_several_sessions_are_active_at_once_and_keep_their_conversations(story: CrowStory) -> None:
    first, second = story.answers["sessions"].values()
    said = {
        session: "".join(
            update_of(frame).get("text", "")
            for frame in story.concurrent
            if update_of(frame) and frame["params"]["sessionId"] == session
        )
        for session in (first, second)
    }
    assert "You said: mine" in said[second]
    assert "mine" not in said[first]


def test_invalid_params_are_refused_with_a_list_of_errors(story: CrowStory) -> None:
    error = story.answers["invalid"]["error"]
    assert (error["code"], error["message"]) == (-32602, "Invalid params")
    assert [entry["field"] for entry in error["data"]["errors"]] == ["session_id", "prompt"]


def test_unknown_methods_and_broken_lines_are_refused(story: CrowStory) -> None:
    assert story.answers["unknown"]["error"]["code"] == -32601
    assert story.answers["broken"]["error"]["code"] == -32700
