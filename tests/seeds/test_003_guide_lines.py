"""The guide for agents in IDEs, on the wire: a client that begins exactly as the guide does, in front of an
agent of v1, and an agent that makes every mistake the guide warns of, in front of a client of v1.

`test_003_review` holds our own reviewer against the guide's checklist.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.seeds.lines import FOREIGN, STORY_AGENT, TRANSLATE, Frame, LinePeer, lines, text

INITIALIZE = {
    "protocolVersion": 1,
    "clientCapabilities": {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": False},
}
KOOG_AGENT = [sys.executable, "-I", "-S", str(FOREIGN / "koog" / "agent.py")]


class GuideStory(NamedTuple):
    """A conversation as the client of the guide, and one with an agent of the guide."""

    initialize: Frame
    turns: dict[str, list[Frame]]
    agent_turn: list[Frame]
    front: LinePeer
    behind: LinePeer


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> GuideStory:
    return asyncio.run(tell_story(tmp_path_factory.mktemp("guide")))


def allow(request: Frame) -> Frame:
    chosen = request["params"]["options"][0]["optionId"]
    return {"result": {"outcome": {"outcome": "selected", "optionId": chosen}}}


async def begun(peer: LinePeer, folder: Path) -> str:
    peer.answer = allow
    await peer.ask("initialize", INITIALIZE)
    session: str = (await peer.ask("session/new", {"cwd": str(folder), "mcpServers": []}))["result"][
        "sessionId"
    ]
    return session


async def turn(peer: LinePeer, session: str, words: str) -> list[Frame]:
    since = len(peer.frames)
    await peer.ask("session/prompt", {"sessionId": session, "prompt": [text(words)]})
    return peer.frames[since:]


async def tell_story(folder: Path) -> GuideStory:
    async with lines(*TRANSLATE, "--", *STORY_AGENT, str(folder / "journal.db")) as front:
        session = await begun(front, folder)
        words = ("Review this file for issues", "/tools", "/stop max_turn_requests", "/ask")
        turns = {name: await turn(front, session, name) for name in words}
        await front.close()
    async with lines(*TRANSLATE, "--", *KOOG_AGENT) as behind:
        agent_turn = await turn(behind, await begun(behind, folder), "count")
        await behind.close()
    return GuideStory(front.frames[0]["result"], turns, agent_turn, front, behind)


def updates_in(frames: list[Frame]) -> list[Frame]:
    return [frame["params"]["update"] for frame in frames if frame.get("method") == "session/update"]


def test_the_answer_to_initialize_has_server_info_though_nobody_named_the_dialect(story: GuideStory) -> None:
    assert story.initialize["serverInfo"] == {"name": "story", "version": "1.2.3"}
    assert story.initialize["protocolVersion"] == 1


def test_the_tools_of_an_agent_are_listed_with_their_schemas(story: GuideStory) -> None:
    (tool,) = story.initialize["capabilities"]["tools"]
    assert (tool["name"], tool["description"]) == ("readFile", "Reads a file from disk")
    assert tool["inputSchema"]["required"] == ["path"]


def test_a_new_session_has_an_id_that_every_update_names(story: GuideStory) -> None:
    session = story.front.frames[1]["result"]["sessionId"]
    assert type(session) is str
    notes = [frame["params"] for frame in story.front.frames if frame.get("method") == "session/update"]
    assert {note["sessionId"] for note in notes} == {session}


def test_updates_are_wrapped_and_have_a_kind(story: GuideStory) -> None:
    notes = [frame["params"] for frame in story.front.frames if frame.get("method") == "session/update"]
    assert all(note.keys() == {"sessionId", "update"} and note["update"]["sessionUpdate"] for note in notes)


def test_initialize_with_what_the_client_lends_is_answered(story: GuideStory) -> None:
    answer = story.front.frames[0]
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", 1)
    assert "error" not in answer
    assert answer["result"].keys() >= {"protocolVersion", "serverInfo", "capabilities"}


def test_an_answer_is_streamed_as_agent_message_chunks(story: GuideStory) -> None:
    updates = updates_in(story.turns["Review this file for issues"])
    chunks = [u["content"] for u in updates if u["sessionUpdate"] == "agent_message_chunk"]
    assert chunks == [text("You "), text("said: Review this file for issues ['TextContent']")]


def test_a_plan_shows_what_will_be_done_and_how_far_it_is(story: GuideStory) -> None:
    updates = updates_in(story.turns["Review this file for issues"])
    plans = [u["entries"] for u in updates if u["sessionUpdate"] == "plan"]
    told = [[(entry["content"], entry["status"]) for entry in plan] for plan in plans]
    assert told == [
        [("Look", "in_progress"), ("Tell", "pending")],
        [("Look", "completed"), ("Tell", "completed")],
    ]


def test_the_final_response_comes_behind_all_updates_of_its_turn(story: GuideStory) -> None:
    for frames in story.turns.values():
        *before, last = frames
        assert all("method" in frame for frame in before)
        assert "stopReason" in last["result"]


def test_a_tool_call_has_id_title_kind_and_status(story: GuideStory) -> None:
    calls = [u for u in updates_in(story.turns["/tools"]) if u["sessionUpdate"] == "tool_call"]
    assert [call["kind"] for call in calls] == ["read", "execute", "search", "fetch"]
    assert all(call["toolCallId"] and call["title"] and call["status"] == "pending" for call in calls)


def test_a_tool_call_goes_from_pending_to_completed_or_failed(story: GuideStory) -> None:
    calls = [u["status"] for u in updates_in(story.turns["/tools"]) if "status" in u]
    assert calls == ["pending", "in_progress", "completed"] * 3 + ["pending", "in_progress", "failed"]


def test_a_completed_call_shows_its_content(story: GuideStory) -> None:
    done = [u for u in updates_in(story.turns["/tools"]) if u.get("status") == "completed"]
    assert done[0]["content"] == [{"type": "content", "content": text("done")}]


def test_permission_is_asked_before_a_tool_runs(story: GuideStory) -> None:
    frames = story.turns["/ask"]
    asked = next(i for i, f in enumerate(frames) if f.get("method") == "session/request_permission")
    statuses = [u["status"] for u in updates_in(frames[asked:]) if "status" in u]
    assert statuses == ["in_progress", "completed"]


def test_a_turn_with_too_many_requests_says_so(story: GuideStory) -> None:
    assert story.turns["/stop max_turn_requests"][-1]["result"]["stopReason"] == "max_turn_requests"


def test_whole_messages_of_an_agent_are_chunks(story: GuideStory) -> None:
    said = [u["content"]["text"] for u in updates_in(story.agent_turn) if "chunk" in u["sessionUpdate"]]
    assert said[:2] == ["Let me ", "count. "]


def test_an_update_without_wrapper_or_kind_is_repaired(story: GuideStory) -> None:
    assert all("update" in f["params"] for f in story.agent_turn if f.get("method") == "session/update")
    said = [u["content"]["text"] for u in updates_in(story.agent_turn) if "chunk" in u["sessionUpdate"]]
    assert "go" in said


def test_the_content_of_the_final_answer_is_shown_once(story: GuideStory) -> None:
    said = [u["content"]["text"] for u in updates_in(story.agent_turn) if "chunk" in u["sessionUpdate"]]
    assert said.count("I have said it.") == 1
    assert story.agent_turn[-1]["result"]["stopReason"] == "end_turn"
