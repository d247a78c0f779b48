"""The overview of ACPex with a foreign end: lines of JSON in front, or an agent that shares no code with us
behind (`plain_agent.py`). What stands in between is one of ours: the interpreter, an agent, a client or the
supervision.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman import supervised
from dragoman.errors import BadAnswer, CallFailed, CrashLoop, DragomanError, PeerDied
from dragoman.sdk.supervision.events import SupervisionEvent
from dragoman.sdk.supervision.restarts import Restarts
from tests.apps.run.run_process import home
from tests.forks import DRAGOMAN
from tests.seeds.lines import STORY_AGENT, TRANSLATE, Frame, LinePeer, lines, text
from tests.seeds.test_004_overview_lines import INITIALIZE

PLAIN_AGENT = [sys.executable, "-I", "-S", str(Path(__file__).with_name("plain_agent.py"))]


async def begun(peer: LinePeer, folder: Path, initialize: Frame = INITIALIZE) -> str:
    await peer.ask("initialize", initialize)
    made = await peer.ask("session/new", {"cwd": str(folder), "mcpServers": []})
    session: str = made["result"]["sessionId"]
    return session


async def told(peer: LinePeer, session: str, words: str) -> str:
    """What the agent says to a prompt of the overview's client."""
    since = len(peer.frames)
    answer = await peer.ask("session/prompt", {"sessionId": session, "content": [text(words)]})
    assert "result" in answer, answer
    contents = [update["content"] for update in peer.updates(since=since)]
    return "".join(block["text"] for content in contents for block in content.get("content", []))


@pytest.mark.parametrize(
    ("terminal", "is_offered"), [({"create": True}, True), ({"create": True, "kill": False}, False)]
)
async def test_an_agent_of_v1_hears_of_terminals_what_the_client_can(
    terminal: Frame, is_offered: bool, tmp_path: Path
) -> None:
    capabilities = {**INITIALIZE["capabilities"], "terminal": terminal}  # type: ignore[dict-item]
    ledger = tmp_path / "ledger.json"
    async with lines(*TRANSLATE, "--ledger", str(ledger), "--", *PLAIN_AGENT) as peer:
        session = await begun(peer, tmp_path, {**INITIALIZE, "capabilities": capabilities})
        heard = json.loads(await told(peer, session, "tell"))["greeting"]
        await peer.close()
    assert heard["clientCapabilities"]["terminal"] is is_offered
    notes = [entry for entry in json.loads(ledger.read_text())["entries"] if "terminal" in entry["what"]]
    assert [entry["outcome"] for entry in notes] == ["repaired" if is_offered else "lost"]


@pytest.mark.parametrize("code", [-32003, -32004])
async def test_an_agent_of_v1_hears_what_a_code_means_and_the_client_hears_its_own(
    code: int, tmp_path: Path
) -> None:
    error = {"code": code, "message": "Not now", "data": {"why": "busy"}}
    async with lines(*TRANSLATE, "--", *PLAIN_AGENT) as peer:
        peer.answer = lambda request: {"error": error}
        session = await begun(peer, tmp_path)
        call = json.dumps([["fs/read_text_file", {"path": "/a"}]])
        heard = json.loads(await told(peer, session, f"call {call}"))[0]["error"]
        assert heard["code"] not in (-32001, -32003, -32004), "in v1 these mean other things, or nothing"
        assert heard["message"] == "Not now"
        failed = await peer.ask("session/prompt", {"sessionId": session, "content": [text("fail /a")]})
        assert failed["error"] == error, "the agent gave it back, and it means what it meant"
        await peer.close()


async def test_names_in_snake_case_reach_an_agent_of_v1_as_its_own(tmp_path: Path) -> None:
    hello = {
        "protocol_version": 1,
        "client_info": {"name": "My Editor", "version": "1.0.0"},
        "capabilities": {"file_system": {"read_text_file": True}, "terminal": {"create": True}},
        "authentication_methods": [],
    }
    async with lines(*TRANSLATE, "--client", "acpex", "--", *PLAIN_AGENT) as peer:
        answers = [await peer.ask("initialize", hello)]
        answers.append(await peer.ask("session/new", {"cwd": str(tmp_path), "mcp_servers": []}))
        session = answers[1]["result"].get("sessionId") or answers[1]["result"]["session_id"]
        params = {"session_id": session, "content": [text("tell")]}
        answers.append(await peer.ask("session/prompt", params))
        said = "".join(
            block["text"] for update in peer.updates() for block in update["content"].get("content", [])
        )
        await peer.close()
    assert all("result" in answer for answer in answers)
    heard = json.loads(said)
    assert heard["greeting"]["clientCapabilities"]["fs"]["readTextFile"] is True
    assert heard["greeting"]["clientInfo"]["name"] == "My Editor"
    assert heard["session"] == {"cwd": str(tmp_path), "mcpServers": []}
    assert heard["prompt"]["sessionId"] == session
    assert heard["greeting"].keys() - {"_meta"} == {"protocolVersion", "clientCapabilities", "clientInfo"}
    assert heard["prompt"].keys() - {"_meta"} == {"sessionId", "prompt"}


async def test_the_flow_of_the_appendix_comes_in_its_order_from_an_agent_of_v1(tmp_path: Path) -> None:
    async with lines(*TRANSLATE, "--", *PLAIN_AGENT) as peer:
        peer.answer = lambda request: {"result": {"content": "defmodule Main do"}}
        session = await begun(peer, tmp_path)
        since = len(peer.frames)
        answer = await peer.ask(
            "session/prompt", {"sessionId": session, "content": [text("flow /src/main.ex")]}
        )
        frames = peer.frames[since:]
        await peer.close()
    flow = [
        frame["params"].get("update", frame["params"]).get("kind", frame["method"]) for frame in frames[:-1]
    ]
    assert flow == [
        "agent_thought_chunk",
        "agent_message_chunk",
        "agent_message_chunk",
        "fs/read_text_file",
        "tool_call",
        "tool_call_update",
        "agent_message_chunk",
    ]
    assert frames[3]["params"]["path"] == "/src/main.ex"
    last = frames[6]["params"]["update"]["content"]["content"]
    assert last == [text("It has 17 characters.")], "the agent has read what the client lent"
    assert frames[-1] is answer
    assert answer["result"]["stopReason"] == "done"


async def test_an_agent_of_ours_does_what_the_overview_asks_of_agents(tmp_path: Path) -> None:
    """By lines of v1, with nothing in between: it streams, asks first, says what is wrong, ends a turn that
    is cancelled, and knows a session that another process had.
    """
    setup = {"cwd": str(tmp_path), "mcpServers": []}
    hello = {"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": True}}}
    command = [*STORY_AGENT, str(tmp_path / "journal.db")]

    def prompt(session: str, words: str) -> Frame:
        return {"sessionId": session, "prompt": [text(words)]}

    async with lines(*command) as peer:
        await peer.ask("initialize", hello)
        session = (await peer.ask("session/new", setup))["result"]["sessionId"]
        since = len(peer.frames)
        await peer.ask("session/prompt", prompt(session, "remember me"))
        kinds = [update["sessionUpdate"] for update in peer.updates(since=since)]
        assert kinds.count("agent_message_chunk") == 2, "streamed, not told at once"
        no = {"result": {"outcome": {"outcome": "selected", "optionId": "reject"}}}
        asked: list[Frame] = []

        def refuse(request: Frame) -> Frame:
            asked.append(request)
            options = request["params"]["options"]
            chosen = next(option for option in options if option["kind"].startswith("reject"))
            return {"result": {"outcome": {**no["result"]["outcome"], "optionId": chosen["optionId"]}}}

        peer.answer = refuse
        since = len(peer.frames)
        await peer.ask("session/prompt", prompt(session, "/ask"))
        assert [request["method"] for request in asked] == ["session/request_permission"]
        said = [
            update["content"]["text"]
            for update in peer.updates(since=since)
            if "chunk" in update["sessionUpdate"]
        ]
        assert said[-1] == "refused", "and it did not do it"
        failed = await peer.ask("session/prompt", prompt(session, "/fail"))
        assert failed["error"]["code"] == -32603
        assert failed["error"]["message"]
        waiting = peer.request("session/prompt", prompt(session, "/wait"))
        await peer.until(lambda frame: "in_progress" in json.dumps(frame))
        peer.send(method="session/cancel", params={"sessionId": session})
        assert (await peer.answered(waiting))["result"] == {"stopReason": "cancelled"}
        await peer.close()
    async with lines(*command) as later:
        await later.ask("initialize", hello)
        await later.ask("session/load", {"sessionId": session, **setup})
        users = [
            update["content"]["text"]
            for update in later.updates()
            if update["sessionUpdate"] == "user_message_chunk"
        ]
        assert users[0] == "remember me"
        assert (await later.ask("session/prompt", prompt(session, "again")))["result"][
            "stopReason"
        ] == "end_turn"
        await later.close()


async def test_a_client_of_ours_checks_keeps_to_its_folder_and_has_a_policy(tmp_path: Path) -> None:
    """`run`, as it is, with an agent that asks for what it should not get."""
    folder, outside = tmp_path / "project", tmp_path / "secret.txt"
    folder.mkdir()
    outside.write_text("hidden")
    (folder / "a.txt").write_text("open")
    (folder / "way").symlink_to(outside)
    paths: list[Any] = [
        str(folder / "a.txt"),
        str(outside),
        str(folder / "way"),
        f"{folder}/../secret.txt",
        5,
    ]
    calls: list[Any] = [["fs/read_text_file", {"path": path}] for path in paths]
    calls.append(["fs/write_text_file", {"path": str(folder / "b.txt"), "content": "x"}])
    calls.append(["terminal/create", {"command": "touch", "args": ["c.txt"], "cwd": str(folder)}])
    agent = shlex.join(PLAIN_AGENT)
    async with lines(
        *(*DRAGOMAN, "run", "--no-history", "--cwd", str(folder), "--agent", agent),
        f"call {json.dumps(calls)}",
        env=home(tmp_path),
    ) as run:
        answers: Any = await run.read()
        await run.close()
    assert answers[0]["result"]["content"] == "open"
    assert all("error" in answer for answer in answers[1:])
    assert answers[4]["error"]["code"] == -32602
    assert "hidden" not in json.dumps(answers)
    assert {path.name for path in folder.iterdir()} == {"a.txt", "way"}


async def test_an_agent_that_dies_is_started_again_later_each_time_and_then_no_more(tmp_path: Path) -> None:
    events: list[SupervisionEvent] = []
    restarts = Restarts(deaths=4, within=600, first_delay=0.05)
    async with supervised(PLAIN_AGENT, restarts=restarts, on_event=events.append, shell_path=False) as agent:
        session = await agent.new_session(cwd=str(tmp_path))
        for _ in range(4):
            with pytest.raises(DragomanError):
                await session.prompt("die")
        with pytest.raises(CrashLoop):
            await session.prompt("tell")
    delays = [event.delay for event in events if event.kind == "restarting"]
    assert [delay <= 0.05 * 2**number for number, delay in enumerate(delays)] == [True] * 3
    assert delays[2] > 0.05 >= delays[0], "longer each time, less what has passed since"
    assert [event.kind for event in events if event.kind in ("died", "gave_up")] == ["died"] * 4 + ["gave_up"]
    events.clear()
    forgiving = Restarts(deaths=2, within=0.05, first_delay=0.01)
    async with supervised(PLAIN_AGENT, restarts=forgiving, on_event=events.append, shell_path=False) as agent:
        session = await agent.new_session(cwd=str(tmp_path))
        for _ in range(3):
            with pytest.raises(PeerDied):
                await session.prompt("die")
            assert "greeting" in (await session.prompt("tell")).text, "it is there again"
            await asyncio.sleep(0.06)
    assert not [event for event in events if event.kind == "gave_up"], "deaths of long ago are forgiven"


async def test_what_fails_in_one_session_of_a_foreign_agent_leaves_the_other_alone(tmp_path: Path) -> None:
    async with supervised(PLAIN_AGENT, shell_path=False) as agent:
        one = await agent.new_session(cwd=str(tmp_path))
        two = await agent.new_session(cwd=str(tmp_path))
        with pytest.raises(BadAnswer):
            await one.prompt("wrong")
        with pytest.raises(CallFailed):
            await one.prompt("fail /nowhere")
        heard = json.loads((await two.prompt("tell")).text)
        assert heard["prompt"]["sessionId"] == two.id
        assert json.loads((await one.prompt("tell")).text)["prompt"]["sessionId"] == one.id
