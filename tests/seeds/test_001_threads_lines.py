"""The thread protocol on the wire: clients that know its document alone, found out by themselves.

One client takes the directions that the protocol's code had (it asks for threads), one those that its
document prints (the agent asks for threads). Each holds one conversation, which many tests look at.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.seeds.lines import FOREIGN, STORY_AGENT, TRANSLATE, Frame, LinePeer, lines

ROWS = "peas\nbeans\n"
THREADS_AGENT = [sys.executable, "-I", "-S", str(FOREIGN / "threads" / "agent.py")]


class ThreadsStory(NamedTuple):
    """Two conversations: what was answered, by name, and all that was said."""

    folder: Path
    thread: str
    coded: dict[str, Frame]
    coded_peer: LinePeer
    written: dict[str, Frame]
    written_peer: LinePeer
    complaints: list[bytes]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> ThreadsStory:
    folder = tmp_path_factory.mktemp("threads")
    (folder / "rows.txt").write_text(ROWS)
    return asyncio.run(tell_story(folder))


def chunk(words: str) -> Frame:
    return {"type": "text", "chunk": words}


def message(thread: str, *chunks: Frame) -> Frame:
    return {"threadId": thread, "message": {"role": "user", "chunks": list(chunks)}}


def lend(request: Frame) -> Frame:
    """A client that takes chunks and lends one file."""
    if request["method"] == "readTextFile":
        return {"result": {"version": 7, "content": ROWS}}
    return {"result": None}


async def tell_story(folder: Path) -> ThreadsStory:
    (thread, coded, first, one), (written, second, other) = await asyncio.gather(
        tell_coded([*TRANSLATE, "--", *STORY_AGENT, str(folder / "coded.db")], folder),
        tell_written(
            [*TRANSLATE, "--cwd", str(folder), "--", *STORY_AGENT, str(folder / "written.db")], folder
        ),
    )
    return ThreadsStory(folder, thread, coded, first, written, second, [one, other])


async def tell_coded(command: list[str], folder: Path) -> tuple[str, dict[str, Frame], LinePeer, bytes]:
    async with lines(*command, bare=True) as peer:
        peer.answer = lend
        told = {"no threads": await peer.ask("getThreads", None), "new": await peer.ask("createThread", None)}
        thread = told["new"]["result"]["threadId"]
        told["open"] = await peer.ask("openThread", {"threadId": thread})
        told["open nothing"] = await peer.ask("openThread", {"threadId": "nowhere"})
        told["message"] = await peer.ask("sendMessage", message(thread, chunk("Hello")))
        told["read"] = await peer.ask("sendMessage", message(thread, chunk(f"/read {folder / 'rows.txt'}")))
        told["image"] = await peer.ask("sendMessage", message(thread, {"type": "image", "chunk": "x"}))
        told["entries"] = await peer.ask("getThreadEntries", {"threadId": thread})
        told["threads"] = await peer.ask("getThreads", None)
        told["unknown"] = await peer.ask("nonExistentMethod", {})
        return thread, told, peer, await peer.close()


async def tell_written(command: list[str], folder: Path) -> tuple[dict[str, Frame], LinePeer, bytes]:
    rows = {"threadId": "th", "path": str(folder / "rows.txt")}

    async def read(peer: LinePeer, method: str = "readTextFile", **params: Any) -> Frame:
        return await peer.ask(method, {**rows, **params})

    async with lines(*command, bare=True) as peer:
        peer.answer = lambda request: {"result": None}
        told = {
            "whole": await read(peer),
            "part": await read(peer, lineOffset=1, lineLimit=1),
            "behind": await read(peer, lineOffset=100),
            "missing": await read(peer, path=str(folder / "none.txt")),
            "outside": await read(peer, path="/etc/passwd"),
            "bytes": await read(peer, "readBinaryFile", byteOffset=1, byteLimit=3),
            "folder": await read(peer, "stat", path=str(folder)),
            "nothing": await read(peer, "stat", path=str(folder / "none")),
            "glob": await peer.ask("globSearch", {"threadId": "th", "pattern": "*.txt"}),
        }
        kept = folder / "kept.md"
        for name, content in {"same": ROWS, "other": ROWS + "corn\n", "same again": ROWS}.items():
            kept.write_text(content)
            told[name] = await read(peer, path=str(kept))
        told["chunk"] = await peer.ask("streamMessageChunk", {"threadId": "th", "chunk": chunk("Hel")})
        last = peer.request("streamMessageChunk", {"threadId": "th", "chunk": chunk("lo")})
        told["posted"] = await peer.until(lambda frame: frame.get("method") == "sendMessage")
        told["last chunk"] = next(f for f in peer.frames if "method" not in f and f["id"] == last)
        return told, peer, await peer.close()


def frames_of(story: ThreadsStory) -> list[Frame]:
    return [*story.coded_peer.frames, *story.written_peer.frames]


def asked_by_agent(peer: LinePeer, method: str) -> list[Frame]:
    return [frame["params"] for frame in peer.frames if frame.get("method") == method]


def test_lines_are_json_without_a_protocol_member(story: ThreadsStory) -> None:
    for line in [*story.coded_peer.raw, *story.written_peer.raw]:
        assert line.endswith(b"\n")
        assert "jsonrpc" not in json.loads(line)
    assert story.coded["no threads"] == {"id": 0, "result": {"threads": []}}


def test_each_side_numbers_its_requests_with_integers_that_differ(story: ThreadsStory) -> None:
    for peer in (story.coded_peer, story.written_peer):
        ids = [frame["id"] for frame in peer.frames if "method" in frame]
        assert ids
        assert all(type(number) is int for number in ids)
        assert len(set(ids)) == len(ids)


def test_a_response_has_a_result_or_an_error(story: ThreadsStory) -> None:
    answers = [frame for frame in frames_of(story) if "method" not in frame]
    assert len(answers) > 15
    assert all(frame.keys() in ({"id", "result"}, {"id", "error"}) for frame in answers)


def test_an_error_has_a_code_and_a_message_and_no_more(story: ThreadsStory) -> None:
    errors = [frame["error"] for frame in frames_of(story) if "error" in frame]
    assert len(errors) >= 4
    assert all(error.keys() == {"code", "message"} and type(error["code"]) is int for error in errors)


def test_an_unknown_method_is_named_in_its_refusal(story: ThreadsStory) -> None:
    refused = {"code": -32601, "message": "Method not found - 'nonExistentMethod'"}
    assert story.coded["unknown"]["error"] == refused


def test_threads_are_listed(story: ThreadsStory) -> None:
    assert [one["id"] for one in story.coded["threads"]["result"]["threads"]] == [story.thread]


def test_a_thread_is_created(story: ThreadsStory) -> None:
    assert story.coded["new"]["result"] == {"threadId": story.thread}
    assert story.thread


def test_a_thread_is_opened_and_an_unknown_one_is_an_error(story: ThreadsStory) -> None:
    assert story.coded["open"]["result"] is None
    assert "error" in story.coded["open nothing"]


def test_the_entries_of_a_thread_are_told(story: ThreadsStory) -> None:
    assert {entry["type"] for entry in story.coded["entries"]["result"]["entries"]} == {"message", "readFile"}


def test_a_message_is_answered_with_null_when_its_turn_has_ended(story: ThreadsStory) -> None:
    assert story.coded["message"]["result"] is None
    frames = story.coded_peer.frames
    end = frames.index(story.coded["message"])
    said = [frame["params"]["chunk"]["chunk"] for frame in frames[:end] if frame.get("method")]
    assert "".join(said).startswith("You said: Hello")


def test_the_answer_is_streamed_in_chunks(story: ThreadsStory) -> None:
    streamed = asked_by_agent(story.coded_peer, "streamMessageChunk")
    assert streamed[0] == {"threadId": story.thread, "chunk": chunk("You ")}
    assert len(streamed) == 3


def test_as_written_the_agent_asks_about_threads_and_posts_its_message(story: ThreadsStory) -> None:
    asked = [frame["method"] for frame in story.written_peer.frames if "method" in frame]
    assert asked == ["openThread", "getThreadEntries", "sendMessage"]
    posted = story.written["posted"]["params"]
    assert posted["threadId"] == "th"
    assert posted["message"]["role"] == "assistant"


def test_as_written_the_client_streams_its_message(story: ThreadsStory) -> None:
    assert (story.written["chunk"]["result"], story.written["last chunk"]["result"]) == (None, None)
    said = "".join(one["chunk"] for one in story.written["posted"]["params"]["message"]["chunks"])
    assert said.startswith("You said: Hello")


def test_the_agent_reads_text_at_the_client(story: ThreadsStory) -> None:
    (asked,) = asked_by_agent(story.coded_peer, "readTextFile")
    assert asked == {"threadId": story.thread, "path": str(story.folder / "rows.txt")}
    assert asked_by_agent(story.coded_peer, "streamMessageChunk")[-1]["chunk"] == chunk(ROWS)


def test_as_written_text_is_read_whole_in_part_behind_its_end_and_below_the_folder_only(
    story: ThreadsStory,
) -> None:
    assert story.written["whole"]["result"]["content"] == ROWS
    assert story.written["part"]["result"]["content"] == "beans\n"
    assert story.written["behind"]["result"]["content"] == ""
    assert "error" in story.written["missing"]
    assert "error" in story.written["outside"]


def test_as_written_bytes_are_read_in_base64(story: ThreadsStory) -> None:
    assert base64.b64decode(story.written["bytes"]["result"]["content"]) == b"eas"


def test_as_written_stat_says_what_is_there(story: ThreadsStory) -> None:
    assert story.written["folder"]["result"] == {"exists": True, "isDirectory": True}
    assert story.written["nothing"]["result"] == {"exists": False, "isDirectory": False}


def test_as_written_a_glob_finds_paths(story: ThreadsStory) -> None:
    assert story.written["glob"]["result"] == {"matches": [str(story.folder / "rows.txt")]}


def version(story: ThreadsStory, name: str) -> int:
    found = story.written[name]["result"]["version"]
    assert type(found) is int
    assert 0 <= found < 2**64
    return found


def test_a_version_names_the_content_whatever_was_read_of_it(story: ThreadsStory) -> None:
    names = ("whole", "part", "behind", "bytes", "same", "same again")
    assert len({version(story, name) for name in names}) == 1
    assert version(story, "other") != version(story, "same")


def test_a_thread_has_a_title_and_the_time_of_its_last_change(story: ThreadsStory) -> None:
    (thread,) = story.coded["threads"]["result"]["threads"]
    assert thread.keys() == {"id", "title", "modifiedAt"}
    assert thread["title"] == "Hello"
    assert datetime.fromisoformat(thread["modifiedAt"]).year > 2024


def test_messages_are_entries_with_role_and_chunks(story: ThreadsStory) -> None:
    first, *_ = story.coded["entries"]["result"]["entries"]
    assert first == {"type": "message", "role": "user", "chunks": [chunk("Hello")]}


def test_every_file_that_was_read_is_an_entry_with_its_content(story: ThreadsStory) -> None:
    path = str(story.folder / "rows.txt")
    assert {"type": "readFile", "path": path, "content": ROWS} in story.coded["entries"]["result"]["entries"]


def test_roles_are_user_and_assistant(story: ThreadsStory) -> None:
    entries = story.coded["entries"]["result"]["entries"]
    assert {entry["role"] for entry in entries if "role" in entry} == {"user", "assistant"}


def test_chunks_that_are_no_text_are_refused(story: ThreadsStory) -> None:
    assert story.coded["image"]["error"]["code"] == -32602


def test_both_directions_are_found_out(story: ThreadsStory) -> None:
    assert all(b"the client speaks threads" in complaints for complaints in story.complaints)


async def test_a_client_of_v1_lists_loads_and_prompts_the_threads_of_a_foreign_agent(tmp_path: Path) -> None:
    setup = {"cwd": str(tmp_path), "mcpServers": []}
    async with lines(*TRANSLATE, "--agent", "threads", "--", *THREADS_AGENT) as peer:
        hello = await peer.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        assert hello["result"]["agentCapabilities"]["loadSession"] is True
        (old,) = (await peer.ask("session/list", {}))["result"]["sessions"]
        since = len(peer.frames)
        loaded = await peer.ask("session/load", {"sessionId": old["sessionId"], **setup})
        assert "result" in loaded
        kinds = [update["sessionUpdate"] for update in peer.updates(since=since)]
        assert {"user_message_chunk", "agent_message_chunk"} <= set(kinds), kinds
        prompt = {"sessionId": old["sessionId"], "prompt": [{"type": "text", "text": "hello there"}]}
        since = len(peer.frames)
        assert (await peer.ask("session/prompt", prompt))["result"]["stopReason"] == "end_turn"
        said = [update["content"]["text"] for update in peer.updates(since=since)]
        assert "".join(said) == "You said: hello there"
        failing = {**prompt, "prompt": [{"type": "text", "text": "fail"}]}
        assert "out of water" in (await peer.ask("session/prompt", failing))["error"]["message"]
        missing = await peer.ask("session/load", {"sessionId": "nowhere", **setup})
        assert missing["error"]["code"] in (-32002, -32602, -32603)
        await peer.close()
