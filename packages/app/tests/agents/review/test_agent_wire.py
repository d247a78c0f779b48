"""The review agent as a process, held against what the protocol asks of any agent."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from dragoman.testing.raw_peer import RawPeer
from tests.agents.review.ground import APP, APP_FINDINGS, findings_in, make_repository
from tests.agents.review.process import COMMAND, Peer, running
from tests.forks import DRAGOMAN

pytestmark = pytest.mark.bound(60)  # processes and tools are started, on a machine that may be busy

LOST = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project")


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


async def code_of(peer: Peer, method: str, params: Any) -> int | None:
    """The code of the error that a request is answered with; None for a result."""
    answer = await peer.call(method, params)
    return answer["error"]["code"] if "error" in answer else None


async def test_every_wrong_request_has_its_code_and_the_agent_goes_on(folder: Path, sessions: Path) -> None:
    async with running(sessions) as peer:
        assert await code_of(peer, "session/new", {"cwd": str(folder), "mcpServers": []}) == -32600
        session_id = await peer.open(folder)
        text = [{"type": "text", "text": "help"}]
        mine = {"sessionId": session_id}
        wrong: list[tuple[str, dict[str, Any], int]] = [
            ("session/nonsense", {}, -32601),
            ("_mine/own", {}, -32601),
            ("$/unknown", {}, -32601),
            ("session/new", {"cwd": "relative", "mcpServers": []}, -32602),
            ("session/new", {"cwd": str(folder)}, -32602),
            ("session/new", {"cwd": str(folder), "mcpServers": [{"type": "carrier-pigeon"}]}, -32602),
            ("session/prompt", {"sessionId": LOST, "prompt": text}, -32002),
            ("session/prompt", {**mine, "prompt": "text"}, -32602),
            ("session/load", {"sessionId": LOST, "cwd": str(folder), "mcpServers": []}, -32002),
            ("session/resume", {"sessionId": LOST, "cwd": str(folder), "mcpServers": []}, -32002),
            ("session/set_mode", {**mine, "modeId": "destroy"}, -32602),
            ("session/set_config_option", {**mine, "configId": "severity", "value": "none"}, -32602),
            ("session/set_config_option", {**mine, "configId": "colour", "value": "red"}, -32602),
            ("session/list", {"cursor": "never given"}, -32602),
        ]
        for method, params, code in wrong:
            assert await code_of(peer, method, params) == code, (method, params)
        for line, code in ((b"{not json\n", -32700), (b"[]\n", -32600), (b'{"jsonrpc":"2.0"}\n', -32600)):
            await peer.raw.send(line)
            await peer.until(lambda frame: "error" in frame)
            assert peer.frames[-1]["error"]["code"] == code
            assert peer.frames[-1]["id"] is None
        assert (await peer.prompt(session_id, "help"))["result"]["stopReason"] == "end_turn"


async def test_sessions_are_listed_resumed_forked_closed_and_deleted(folder: Path, sessions: Path) -> None:
    async with running(sessions) as peer:
        session_id = await peer.open(folder)
        await peer.prompt(session_id, "review src/app.py")
        listed = (await peer.call("session/list", {"cwd": str(folder)}))["result"]["sessions"]
        assert [(one["sessionId"], one["title"]) for one in listed] == [(session_id, "Review of src/app.py")]
        assert (await peer.call("session/list", {"cwd": "/nowhere"}))["result"]["sessions"] == []
        again = {"sessionId": session_id, "cwd": str(folder), "mcpServers": []}
        forked = (await peer.call("session/fork", again))["result"]["sessionId"]
        assert await code_of(peer, "session/close", {"sessionId": session_id}) is None
        before = len(peer.updates())
        assert await code_of(peer, "session/resume", again) is None
        replayed = peer.updates()[before:]
        assert "agent_message_chunk" not in [update["sessionUpdate"] for update in replayed]
        for one in (session_id, forked):  # both know the review
            heard = len(peer.text())
            await peer.prompt(one, "explain 1")
            assert "src/app.py:" in peer.text()[heard:]
        for one in (session_id, forked, session_id):
            assert await code_of(peer, "session/delete", {"sessionId": one}) is None
        assert (await peer.call("session/list", {}))["result"]["sessions"] == []


async def test_a_client_that_offers_nothing_is_asked_for_nothing(folder: Path, sessions: Path) -> None:
    async with running(sessions) as peer:
        session_id = await peer.open(folder)
        await peer.prompt(session_id, "review src")
        asked = [frame["method"] for frame in peer.frames if "method" in frame and "id" in frame]
        assert asked == []
        assert set(findings_in(peer.text())) == APP_FINDINGS


async def test_reads_and_writes_are_asked_for_only_as_they_are_offered(folder: Path, sessions: Path) -> None:
    app = folder / "src" / "app.py"
    async with running(sessions) as peer:
        session_id = await peer.open(folder, {"fs": {"readTextFile": True, "writeTextFile": False}})
        number = await peer.begin_prompt(session_id, "review src/app.py and fix it")
        methods = await answered(
            peer, number, {"fs/read_text_file": {"content": APP}, "session/request_permission": ALLOW}
        )
        assert "fs/write_text_file" not in methods
        paths = [
            frame["params"]["path"] for frame in peer.frames if frame.get("method") == "fs/read_text_file"
        ]
        assert set(paths) == {str(app)}
        assert app.read_text() != APP  # written by ourselves, because the disk was as the editor said


@pytest.mark.parametrize(
    "answer",
    [
        {"outcome": {"outcome": "selected", "optionId": "never offered"}},
        {"outcome": {"outcome": "cancelled"}},
        {"outcome": {"outcome": "something new"}},
        {},
    ],
    ids=["unknown option", "cancelled", "unknown outcome", "nothing"],
)
async def test_an_answer_that_is_no_clear_yes_is_a_no(folder: Path, sessions: Path, answer: Any) -> None:
    async with running(sessions) as peer:
        session_id = await peer.open(folder)
        number = await peer.begin_prompt(session_id, "review src/app.py and fix it")
        await answered(peer, number, {"session/request_permission": answer})
        assert peer.frames[-1]["result"]["stopReason"] == "end_turn"
        assert (folder / "src" / "app.py").read_text() == APP


async def test_blocks_that_were_not_asked_for_and_empty_prompts_do_no_harm(
    folder: Path, sessions: Path
) -> None:
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    link = {"type": "resource_link", "name": "x", "uri": "https://example.org/x.py"}
    async with running(sessions) as peer:
        session_id = await peer.open(folder)
        for blocks in ([], [image], [link], [{"type": "text", "text": ""}]):
            answer = await peer.call("session/prompt", {"sessionId": session_id, "prompt": blocks})
            assert answer.get("error", {"code": -32602})["code"] == -32602, blocks
        assert (await peer.prompt(session_id, "review src/app.py"))["result"]["stopReason"] == "end_turn"


async def test_a_cancel_without_a_turn_does_not_hit_the_next_one(folder: Path, sessions: Path) -> None:
    async with running(sessions) as peer:
        session_id = await peer.open(folder)
        for one in (session_id, LOST):
            await peer.notify("session/cancel", {"sessionId": one})
        assert (await peer.prompt(session_id, "review src/app.py"))["result"]["stopReason"] == "end_turn"
        assert set(findings_in(peer.text())) == APP_FINDINGS


async def test_prompts_to_a_busy_session_wait_for_their_turn(folder: Path, sessions: Path) -> None:
    async with running(sessions) as peer:
        session_id = await peer.open(folder)
        first = await peer.begin_prompt(session_id, "review src/app.py")
        second = await peer.begin_prompt(session_id, "help")
        await peer.answer(first)
        assert "I review code" not in peer.text()
        await peer.answer(second)
        assert "I review code" in peer.text()


async def test_the_agent_ends_when_its_input_ends_and_leaves_nothing(folder: Path, sessions: Path) -> None:
    async with running(sessions) as peer:
        await peer.begin_prompt(await peer.open(folder), "review src")
        peer.raw.close_stdin()
        assert await peer.raw.wait(seconds=15) == 0
        assert peer.raw.processes() == []


async def test_without_a_place_for_sessions_it_still_reviews(folder: Path) -> None:
    nowhere = folder / "src" / "app.py" / "sessions.db"  # below a file there is no folder
    async with running(nowhere) as peer:
        session_id = await peer.open(folder)
        await peer.prompt(session_id, "review src/app.py")
        assert set(findings_in(peer.text())) == APP_FINDINGS
        assert "sessions are not kept" in peer.raw.stderr


def test_the_command_is_the_one_that_editors_are_given() -> None:
    assert COMMAND[1:] == ["-m", "dragoman", "agent", "review"]


ALLOW = {"outcome": {"outcome": "selected", "optionId": "apply"}}


async def answered(peer: Peer, number: int, answers: dict[str, Any]) -> list[str]:
    """Answer the agent's requests until its own answer has come; the methods that it asked for."""
    asked: list[str] = []
    while True:
        await peer.until(lambda frame: "id" in frame)
        frame = json.loads(peer.lines[-1])
        if frame.get("id") == number and "method" not in frame:
            return asked
        asked.append(frame["method"])
        await peer.raw.send({"jsonrpc": "2.0", "id": frame["id"], "result": answers[frame["method"]]})


async def test_a_client_of_koog_hears_of_the_tools_whose_calls_it_sees(folder: Path, sessions: Path) -> None:
    (folder / "a.py").write_text("try:\n    x = 1\nexcept:\n    pass\n")
    agent = [*DRAGOMAN, "agent", "review", "--sessions", str(sessions)]
    async with RawPeer(
        [*DRAGOMAN, "translate", "--client", "koog", "--", *agent], env=dict(os.environ)
    ) as raw:
        peer = Peer(raw)
        introduced = await peer.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        names = {tool["name"] for tool in introduced["result"]["capabilities"]["tools"]}
        made = await peer.call("session/new", {"cwd": str(folder), "mcpServers": []})
        await peer.prompt(made["result"]["sessionId"], "/review a.py")
    calls = {update.get("name") for update in peer.updates() if update["sessionUpdate"] == "tool_call"}
    assert {"find_files", "read_files", "dragoman"} <= calls & names
