"""The bridge's reference on the wire: its minimal test sequence and everything else that it lists, in front
of an agent of v1.

The client begins exactly as the reference does, so nobody names its dialect.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.seeds.lines import STORY_AGENT, TRANSLATE, Frame, LinePeer, lines, text

PICTURE = {"type": "image", "mimeType": "image/png", "data": "aW1n"}
SOUND = {"type": "audio", "mimeType": "audio/wav", "data": "c25k"}
LINK = {"type": "resource_link", "uri": "file:///a.txt"}
RESOURCE = {"type": "embedded_resource", "resource": {"uri": "file:///b.txt", "text": "bee"}}


class BridgeStory(NamedTuple):
    """The answers by name, the frames of each turn by its prompt, and everything."""

    answers: dict[str, Frame]
    turns: dict[str, list[Frame]]
    peer: LinePeer


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> BridgeStory:
    return asyncio.run(tell_story(tmp_path_factory.mktemp("bridge")))


class Phone:
    """Answers questions with what was said last."""

    def __init__(self) -> None:
        self.outcome: Frame = {"outcome": "cancelled"}

    def __call__(self, request: Frame) -> Frame:
        return {"result": {"outcome": self.outcome}}


async def tell_story(folder: Path) -> BridgeStory:
    answers: dict[str, Frame] = {}
    turns: dict[str, list[Frame]] = {}
    phone = Phone()
    async with lines(*TRANSLATE, "--", *STORY_AGENT, str(folder / "journal.db")) as peer:
        peer.answer = phone
        answers["initialize"] = await peer.ask("initialize", {"protocolVersion": 1, "capabilities": {}})
        answers["new"] = await peer.ask("session/new", {"cwd": str(folder), "mcpServers": []})
        session = answers["new"]["result"]["sessionId"]

        async def prompt(name: str, *blocks: Frame) -> None:
            since = len(peer.frames)
            answers[name] = await peer.ask("session/prompt", {"sessionId": session, "prompt": [*blocks]})
            turns[name] = peer.frames[since:]

        await prompt("say hello", text("say hello"))
        await prompt("blocks", text("look"), PICTURE, SOUND, LINK, RESOURCE)
        for name in ("/show", "/tools", "/mode loud", "/stop max_tokens", "/stop refusal"):
            await prompt(name, text(name))
        await prompt("cancelled question", text("/ask"))
        phone.outcome = {"outcome": "selected", "optionId": "allow_once"}
        await prompt("allowed question", text("/ask"))
        os.mkfifo(folder / "pid")
        blocks = [text(f"/wait {folder / 'pid'}")]
        waiting = peer.request("session/prompt", {"sessionId": session, "prompt": blocks})
        await asyncio.to_thread((folder / "pid").read_text)
        peer.send(method="session/cancel", params={"sessionId": session})
        answers["cancelled"] = await peer.answered(waiting)
        await peer.close()
    return BridgeStory(answers, turns, peer)


def updates_in(frames: list[Frame], kind: str) -> list[Frame]:
    notes = [frame["params"]["update"] for frame in frames if frame.get("method") == "session/update"]
    return [update for update in notes if update["sessionUpdate"] == kind]


def said(frames: list[Frame]) -> str:
    blocks = [update["content"] for update in updates_in(frames, "agent_message_chunk")]
    return "".join(block.get("text", "") for block in blocks)


def questions(frames: list[Frame]) -> list[Frame]:
    return [frame for frame in frames if frame.get("method") == "session/request_permission"]


def test_the_minimal_test_sequence_is_answered(story: BridgeStory) -> None:
    assert story.answers["initialize"]["result"]["protocolVersion"] == 1
    assert story.answers["new"]["result"]["sessionId"]
    assert said(story.turns["say hello"]).startswith("You said: say hello")
    assert story.answers["say hello"]["result"]["stopReason"] == "end_turn"


def test_the_answer_to_initialize_has_capabilities(story: BridgeStory) -> None:
    assert story.answers["initialize"]["result"]["capabilities"]["loadSession"] is True


def test_a_new_session_has_an_id(story: BridgeStory) -> None:
    assert type(story.answers["new"]["result"]["sessionId"]) is str


def test_a_prompt_is_answered_behind_its_updates(story: BridgeStory) -> None:
    *updates, last = story.turns["say hello"]
    assert last is story.answers["say hello"]
    assert len(updates) > 5


def test_a_cancel_is_a_notification_and_ends_the_prompt(story: BridgeStory) -> None:
    assert story.answers["cancelled"]["result"]["stopReason"] == "cancelled"


def test_updates_are_notifications_with_a_session_update(story: BridgeStory) -> None:
    notes = [frame for frame in story.peer.frames if frame.get("method") == "session/update"]
    assert len(notes) > 20
    assert all("id" not in note and type(note["params"]["update"]["sessionUpdate"]) is str for note in notes)


def test_a_question_is_a_request_with_an_id(story: BridgeStory) -> None:
    (question,) = questions(story.turns["allowed question"])
    assert "id" in question
    assert question["params"]["toolCall"]["name"] == "Remove"
    assert [option["kind"] for option in question["params"]["options"]] == ["allow_once", "reject_once"]


def test_what_is_selected_reaches_the_agent(story: BridgeStory) -> None:
    assert said(story.turns["allowed question"]) == "removed"


def test_what_is_cancelled_allows_nothing(story: BridgeStory) -> None:
    assert len(questions(story.turns["cancelled question"])) == 1
    assert "removed" not in said(story.turns["cancelled question"])


def test_what_the_user_said_is_a_user_message_chunk(story: BridgeStory) -> None:
    (chunk,) = updates_in(story.turns["/mode loud"], "user_message_chunk")
    assert chunk["content"] == text("loud")


def test_messages_come_in_chunks(story: BridgeStory) -> None:
    assert len(updates_in(story.turns["say hello"], "agent_message_chunk")) == 2


def test_thoughts_come_in_chunks(story: BridgeStory) -> None:
    (chunk,) = updates_in(story.turns["say hello"], "agent_thought_chunk")
    assert chunk["content"] == text("I think.")


def test_tool_calls_are_announced(story: BridgeStory) -> None:
    (call,) = updates_in(story.turns["say hello"], "tool_call")
    assert (call["name"], call["status"]) == ("Read", "in_progress")


def test_tool_calls_are_updated(story: BridgeStory) -> None:
    (call,) = updates_in(story.turns["say hello"], "tool_call")
    (update,) = updates_in(story.turns["say hello"], "tool_call_update")
    assert (update["id"], update["status"]) == (call["id"], "completed")


def test_plans_have_entries(story: BridgeStory) -> None:
    plans = updates_in(story.turns["say hello"], "plan")
    assert [entry["content"] for entry in plans[0]["entries"]] == ["Look", "Tell"]


def test_commands_are_offered(story: BridgeStory) -> None:
    (update,) = updates_in(story.peer.frames, "available_commands_update")
    assert "show" in [command["name"] for command in update["availableCommands"]]


def test_a_change_of_the_mode_is_told(story: BridgeStory) -> None:
    (update,) = updates_in(story.turns["/mode loud"], "current_mode_update")
    assert update["currentModeId"] == "careful"


def test_a_tool_call_has_every_member_that_the_reference_lists(story: BridgeStory) -> None:
    (call,) = updates_in(story.turns["say hello"], "tool_call")
    (update,) = updates_in(story.turns["say hello"], "tool_call_update")
    assert call.keys() - {"sessionUpdate"} >= {"id", "name", "status", "kind", "locations", "rawInput"}
    assert call["locations"] == [{"path": "/a.txt", "line": 3}]
    assert call["rawInput"] == {"a": 1}
    assert update["content"][0]["content"] == text("three lines")
    assert update["rawOutput"] == {"lines": 3}


def test_the_kinds_of_tools_are_file_command_search_and_other(story: BridgeStory) -> None:
    kinds = [call["kind"] for call in updates_in(story.turns["/tools"], "tool_call")]
    assert kinds == ["file", "command", "search", "other"]


def test_tool_calls_have_four_statuses(story: BridgeStory) -> None:
    frames = story.turns["/tools"]
    calls = [*updates_in(frames, "tool_call"), *updates_in(frames, "tool_call_update")]
    assert {call["status"] for call in calls} == {"pending", "in_progress", "completed", "failed"}


def test_a_turn_that_is_done_ends_with_end_turn(story: BridgeStory) -> None:
    assert story.answers["say hello"]["result"] == {"stopReason": "end_turn"}


def test_a_turn_that_is_too_long_ends_with_max_tokens(story: BridgeStory) -> None:
    assert story.answers["/stop max_tokens"]["result"]["stopReason"] == "max_tokens"


def test_a_turn_that_is_cancelled_ends_with_cancelled_and_no_error(story: BridgeStory) -> None:
    assert "error" not in story.answers["cancelled"]
    assert story.answers["cancelled"]["result"]["stopReason"] == "cancelled"


def test_a_turn_that_the_agent_refuses_ends_with_refusal(story: BridgeStory) -> None:
    assert story.answers["/stop refusal"]["result"]["stopReason"] == "refusal"


def test_messages_hold_every_kind_of_block(story: BridgeStory) -> None:
    blocks = [update["content"] for update in updates_in(story.turns["/show"], "agent_message_chunk")]
    assert [block["type"] for block in blocks] == ["image", "audio", "resource_link", "embedded_resource"]
    assert blocks[0] == PICTURE
    assert blocks[1] == SOUND


def test_prompts_hold_every_kind_of_block(story: BridgeStory) -> None:
    kinds = "['TextContent', 'ImageContent', 'AudioContent', 'ResourceLink', 'EmbeddedResource']"
    assert kinds in said(story.turns["blocks"])
