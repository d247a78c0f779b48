"""The overview of ACPex on the wire: its client, word for word, in front of an agent of v1.

The client lends files and terminals as the overview says, and is found out by itself.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.seeds.lines import STORY_AGENT, TRANSLATE, Frame, LinePeer, lines, text

INITIALIZE = {
    "protocolVersion": 1,
    "clientInfo": {"name": "My Editor", "version": "1.0.0"},
    "capabilities": {
        "fileSystem": {"readTextFile": True, "writeTextFile": True},
        "terminal": {"create": True},
    },
    "authenticationMethods": [],
}
PICTURE = {"type": "image", "source": {"type": "base64", "mediaType": "image/png", "data": "aW1n"}}
SOUND = {"type": "audio", "source": {"type": "base64", "mediaType": "audio/wav", "data": "c25k"}}
RESOURCE = {
    "type": "resource",
    "uri": "file:///main.ex",
    "mimeType": "text/x-elixir",
    "text": "defmodule M do",
}
BARE_RESOURCE = {"type": "resource", "uri": "file:///main.ex", "mimeType": "text/x-elixir"}
LINK = {"type": "resource_link", "uri": "file:///path/to/file.ex"}


class Editor:
    """Lends a file and a terminal, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Frame]] = []

    def __call__(self, request: Frame) -> Frame:
        method, params = request["method"], request["params"]
        self.asked.append((method, params))
        if method == "fs/read_text_file" and params["path"].endswith("secret.ex"):
            return {"error": {"code": -32002, "message": "Permission denied"}}
        if method == "fs/read_text_file" and params["path"].endswith("none.ex"):
            return {"error": {"code": -32001, "message": "File not found", "data": {"path": params["path"]}}}
        results: dict[str, Any] = {
            "fs/read_text_file": {"content": "defmodule Main do"},
            "fs/write_text_file": {},
            "terminal/create": {"terminalId": "t-1"},
            "terminal/output": {"output": "hello", "truncated": False},
            "terminal/wait_for_exit": {"exitCode": 0},
        }
        return {"result": results.get(method, {})}


class OverviewStory(NamedTuple):
    """Answers by name, frames of each turn by its prompt, and what the editor was asked."""

    answers: dict[str, Frame]
    turns: dict[str, list[Frame]]
    editor: Editor
    peer: LinePeer
    complaints: bytes


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> OverviewStory:
    return asyncio.run(tell_story(tmp_path_factory.mktemp("acpex")))


async def tell_story(folder: Path) -> OverviewStory:
    answers: dict[str, Frame] = {}
    turns: dict[str, list[Frame]] = {}
    editor = Editor()
    async with lines(*TRANSLATE, "--", *STORY_AGENT, str(folder / "journal.db")) as peer:
        peer.answer = editor
        answers["initialize"] = await peer.ask("initialize", INITIALIZE)
        answers["new"] = await peer.ask("session/new", {"cwd": str(folder), "mcpServers": []})
        session = answers["new"]["result"]["sessionId"]

        async def prompt(name: str, *blocks: Frame) -> None:
            since = len(peer.frames)
            answers[name] = await peer.ask("session/prompt", {"sessionId": session, "content": [*blocks]})
            turns[name] = peer.frames[since:]

        await prompt("hello", text("Refactor this function"))
        await prompt("blocks", text("look"), PICTURE, SOUND, RESOURCE, BARE_RESOURCE, LINK)
        for words in ("/show", "/read /src/main.ex", "/write /src/main.ex", "/shell ls"):
            await prompt(words, text(words))
        await prompt("missing", text("/read /src/none.ex"))
        await prompt("denied", text("/read /src/secret.ex"))
        await prompt("denied code", text("/try /src/secret.ex"))
        await prompt("missing code", text("/try /src/none.ex"))
        os.mkfifo(folder / "pid")
        content = [text(f"/wait {folder / 'pid'}")]
        waiting = peer.request("session/prompt", {"sessionId": session, "content": content})
        await asyncio.to_thread((folder / "pid").read_text)
        peer.send(method="session/cancel", params={"sessionId": session})
        answers["cancelled"] = await peer.answered(waiting)
        since = len(peer.frames)
        answers["load"] = await peer.ask(
            "session/load", {"sessionId": session, "cwd": str(folder), "mcpServers": []}
        )
        turns["load"] = peer.frames[since:]
        answers["no session"] = await peer.ask(
            "session/prompt", {"sessionId": "none", "content": [text("a")]}
        )
        answers["no method"] = await peer.ask("session/fly", {})
        answers["no params"] = await peer.ask("session/prompt", {"sessionId": 5, "content": []})
        peer.write(b"{broken")
        # The list of commands follows the answer to `session/load`, whenever the agent comes to it.
        answers["broken"] = await peer.until(lambda frame: "method" not in frame)
        complaints = await peer.close()
    return OverviewStory(answers, turns, editor, peer, complaints)


def contents(frames: list[Frame], kind: str) -> list[Any]:
    updates = [frame["params"]["update"] for frame in frames if frame.get("method") == "session/update"]
    return [update["content"] for update in updates if update["kind"] == kind]


def said(frames: list[Frame]) -> str:
    chunks = contents(frames, "agent_message_chunk")
    return "".join(block.get("text", "") for chunk in chunks for block in chunk["content"])


def asked(story: OverviewStory, method: str) -> list[Frame]:
    return [params for name, params in story.editor.asked if name == method]


def test_both_sides_ask_each_other(story: OverviewStory) -> None:
    assert {method for method, _ in story.editor.asked} >= {"fs/read_text_file", "terminal/create"}
    assert len(story.answers) > 10


def test_updates_are_streamed_before_the_answer(story: OverviewStory) -> None:
    *updates, last = story.turns["hello"]
    assert last is story.answers["hello"]
    assert all(frame["method"] == "session/update" and "id" not in frame for frame in updates)


def test_notifications_have_no_id_and_requests_have_one(story: OverviewStory) -> None:
    with_method = [frame for frame in story.peer.frames if "method" in frame]
    notes = [frame["method"] for frame in with_method if "id" not in frame]
    assert set(notes) == {"session/update"}
    asked = [frame["method"] for frame in with_method if "id" in frame]
    assert asked == [method for method, _ in story.editor.asked]


def test_a_session_keeps_its_conversation(story: OverviewStory) -> None:
    users = [
        block["text"]
        for c in contents(story.turns["load"], "user_message_chunk")
        for block in c["content"]
        if "text" in block
    ]
    assert users[0] == "Refactor this function"


def test_messages_are_json_rpc(story: OverviewStory) -> None:
    assert all(frame["jsonrpc"] == "2.0" for frame in story.peer.frames)


def test_a_client_that_begins_as_the_overview_does_is_found_out(story: OverviewStory) -> None:
    assert b"the client speaks acpex" in story.complaints


def test_the_answer_to_initialize_has_the_overviews_words(story: OverviewStory) -> None:
    result = story.answers["initialize"]["result"]
    assert result["agentCapabilities"]["sessions"] == {"new": True, "load": True}
    assert result["agentCapabilities"]["mcp"].keys() == {"http", "sse"}
    assert result["agentCapabilities"]["prompts"].keys() == {"audio", "image", "embeddedContext"}
    assert (result["meta"]["name"], result["meta"]["version"]) == ("story", "1.2.3")
    assert result["authenticationMethods"] == []


def test_a_new_session_has_an_id(story: OverviewStory) -> None:
    assert type(story.answers["new"]["result"]["sessionId"]) is str


def test_an_old_session_is_loaded(story: OverviewStory) -> None:
    assert "result" in story.answers["load"]
    assert story.turns["load"][-1] is story.answers["load"]


def test_the_content_of_a_prompt_reaches_the_agent(story: OverviewStory) -> None:
    assert said(story.turns["hello"]).startswith("You said: Refactor this function")


def test_thoughts_are_told(story: OverviewStory) -> None:
    assert contents(story.turns["hello"], "agent_thought_chunk") == [{"thought": "I think."}]


def test_message_chunks_have_a_role_and_blocks(story: OverviewStory) -> None:
    first, *_ = contents(story.turns["hello"], "agent_message_chunk")
    assert first == {"role": "assistant", "content": [text("You ")]}


def test_text_is_a_block_with_its_type(story: OverviewStory) -> None:
    chunks = contents(story.turns["hello"], "agent_message_chunk")
    blocks = [block for chunk in chunks for block in chunk["content"]]
    assert blocks == [text("You "), text("said: Refactor this function ['TextContent']")]


def test_a_tool_call_names_its_function_and_arguments(story: OverviewStory) -> None:
    (call,) = contents(story.turns["hello"], "tool_call")
    assert (call["type"], call["function"]["name"]) == ("function", "Read")
    assert json.loads(call["function"]["arguments"]) == {"a": 1}


def test_a_tool_call_ends_with_its_output(story: OverviewStory) -> None:
    (call,) = contents(story.turns["hello"], "tool_call")
    (ended,) = contents(story.turns["hello"], "tool_call_update")
    assert ended == {"toolCallId": call["toolCallId"], "output": "three lines"}


def test_a_plan_has_steps(story: OverviewStory) -> None:
    assert contents(story.turns["hello"], "plan")[0] == {"steps": ["Look", "Tell"]}


def test_a_turn_ends_with_done(story: OverviewStory) -> None:
    assert story.answers["hello"]["result"]["stopReason"] == "done"
    assert story.answers["hello"]["result"]["content"] == []


def test_a_cancelled_turn_ends_with_cancelled(story: OverviewStory) -> None:
    assert story.answers["cancelled"]["result"]["stopReason"] == "cancelled"


def test_files_are_read_at_the_client(story: OverviewStory) -> None:
    assert asked(story, "fs/read_text_file")[0]["path"] == "/src/main.ex"
    assert said(story.turns["/read /src/main.ex"]) == "defmodule Main do"


def test_files_are_written_at_the_client(story: OverviewStory) -> None:
    (written,) = asked(story, "fs/write_text_file")
    assert (written["path"], written["content"]) == ("/src/main.ex", "written")


def test_a_terminal_is_created_though_the_client_names_no_more(story: OverviewStory) -> None:
    (created,) = asked(story, "terminal/create")
    assert created["command"] == "ls"


def test_the_output_of_a_terminal_is_asked_for(story: OverviewStory) -> None:
    (read,) = asked(story, "terminal/output")
    assert read["terminalId"] == "t-1"
    assert said(story.turns["/shell ls"]).startswith("hello ")


def test_the_end_of_a_terminal_is_waited_for(story: OverviewStory) -> None:
    (waited,) = asked(story, "terminal/wait_for_exit")
    assert waited["terminalId"] == "t-1"
    assert said(story.turns["/shell ls"]).endswith(" 0")


def test_a_terminal_is_killed_and_at_last_released(story: OverviewStory) -> None:
    methods = [method for method, _ in story.editor.asked if method.startswith("terminal/")]
    assert methods == [f"terminal/{m}" for m in ("create", "output", "kill", "wait_for_exit", "release")]
    assert asked(story, "terminal/kill") == asked(story, "terminal/release")


def shown_blocks(story: OverviewStory) -> list[Frame]:
    return [block for c in contents(story.turns["/show"], "agent_message_chunk") for block in c["content"]]


def test_an_image_of_an_agent_has_a_source(story: OverviewStory) -> None:
    assert [block for block in shown_blocks(story) if block["type"] == "image"] == [PICTURE]


def test_audio_of_an_agent_has_a_source(story: OverviewStory) -> None:
    assert [block for block in shown_blocks(story) if block["type"] == "audio"] == [SOUND]


def test_a_link_and_a_resource_of_an_agent_have_their_address(story: OverviewStory) -> None:
    *_, link, resource = shown_blocks(story)
    assert (link["type"], link["uri"]) == ("resource_link", "file:///a.txt")
    assert resource == {
        "type": "resource",
        "uri": "file:///b.txt",
        "mimeType": "text/plain",
        "text": "bee",
    }


def kinds_of_blocks(story: OverviewStory) -> list[str]:
    """What the agent of v1 got of the prompt with one block of each kind."""
    return re.findall(r"'(\w+)'", said(story.turns["blocks"]))


def test_a_resource_reaches_the_agent_with_and_without_its_text(story: OverviewStory) -> None:
    assert kinds_of_blocks(story)[3:5] == ["EmbeddedResource", "ResourceLink"]


def test_a_resource_link_without_a_name_reaches_the_agent(story: OverviewStory) -> None:
    assert kinds_of_blocks(story)[5:] == ["ResourceLink"]
    assert "result" in story.answers["blocks"], "v1 demands a name, and the agent takes it"


def test_the_codes_of_json_rpc_are_used(story: OverviewStory) -> None:
    codes = [story.answers[name]["error"]["code"] for name in ("broken", "no method", "no params")]
    assert codes == [-32700, -32601, -32602]


def test_what_is_not_there_is_minus_32001(story: OverviewStory) -> None:
    assert story.answers["no session"]["error"]["code"] == -32001


def test_permission_denied_is_never_taken_for_something_missing_and_comes_back_as_it_was(
    story: OverviewStory,
) -> None:
    not_found = -32002  # of v1; for the overview it means that permission is denied
    assert said(story.turns["denied code"]) != str(not_found)
    assert story.answers["denied code"]["error"] == {"code": -32002, "message": "Permission denied"}
    assert said(story.turns["missing code"]) == str(not_found)
    assert story.answers["missing code"]["error"]["code"] == -32001


def test_a_refusal_of_the_client_fails_the_turn_and_not_the_session(story: OverviewStory) -> None:
    assert "error" in story.answers["denied"]
    assert "error" in story.answers["missing"]
    assert "result" in story.answers["cancelled"]
