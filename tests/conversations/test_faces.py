"""What real agents send otherwise than v1 says it: every face shows the same of it.

A story of `tests/golden/faces` is what an agent sends in a turn, by the name of a real program, and `shows`:
what a person must learn of it. It goes through `run`, the model of `chat`, a hub, the model of the page, the
history, the brief of a hand-over and `mcp`; each face is asked for as much of it as it has room for.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dragoman import Client, connect
from dragoman.errors import CallFailed
from dragoman.schema import v1
from dragoman.sdk.client.agent_handle import AgentHandle
from dragoman.sdk.growing_output import text_of
from dragoman.testing.pace import patience
from dragoman_app.apps.gateway.gateway import Gateway, GatewayRules
from dragoman_app.apps.target import ChosenAgent
from dragoman_app.tui.model.entries import SpeechEntry, ToolEntry
from dragoman_app.tui.model.faces import without_fence
from dragoman_app.tui.model.transcript import Transcript
from dragoman_local.journal import StoredEntry, open_journal
from dragoman_local.journal.brief import BriefFold
from dragoman_local.journal.conversation import moments
from dragoman_local.journal.history import history_path
from dragoman_local.known import AgentSource, KnownAgent
from tests.apps.mcp.stage import official_client
from tests.apps.run.run_process import RUN, home
from tests.forks import DRAGOMAN
from tests.hub.outside.process import HubProcess, running_hub
from tests.journal.test_brief import records

HERE = Path(__file__).parent
STORIES = {path.stem: path for path in sorted((HERE.parent / "golden" / "faces").glob("*.json"))}
NODE = shutil.which("node")
ESBUILD = HERE.parents[1] / "packages/hub/web/node_modules/esbuild"

every_story = pytest.mark.parametrize("name", STORIES)


@cache
def story(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(STORIES[name].read_text("utf-8"))
    return content


def shows(name: str) -> dict[str, Any]:
    content: dict[str, Any] = story(name)["shows"]
    return content


def command(name: str) -> list[str]:
    return [sys.executable, "-I", "-S", str(HERE / "golden_agent.py"), str(STORIES[name])]


def contents_text(content: Any) -> str:
    items = content if isinstance(content, list) else []
    return "".join(item["content"]["text"] for item in items if item["type"] == "content")


# One by one.


class StoryRun:
    """A run that is interrupted where its story is cancelled."""

    def __init__(self, name: str, folder: Path, *options: str) -> None:
        agent = subprocess.list2cmdline(command(name))
        # Whoever is interrupted is a process of its own.
        ours = RUN if story(name).get("cancels") else [*DRAGOMAN, "run"]
        words = [*ours, "--agent", agent, "--approve", "all", *options, "go"]
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=folder, env=home(folder)
        ) as process:
            assert process.stdout is not None
            self.lines: list[str] = []
            for line in process.stdout:
                self.lines.append(line.decode())
                if b"Working." in line and story(name).get("cancels"):
                    process.send_signal(signal.SIGINT)
        self.status = process.returncode


@every_story
def test_run_shows_it_and_so_do_its_history_and_a_hand_over(name: str, tmp_path: Path) -> None:
    run = StoryRun(name, tmp_path, "--format", "json")
    events = [json.loads(line) for line in run.lines]
    expected = shows(name)
    assert "".join(event["text"] for event in events if event["event"] == "text") == expected["said"]
    tools = {event["id"]: event for event in events if event["event"] == "tool"}
    texts = {
        event["id"]: contents_text(event["content"])
        for event in events
        if event["event"] == "tool" and "content" in event
    }
    assert {tool["title"]: [tool["status"], texts.get(tool["id"], "")] for tool in tools.values()} == (
        expected["tools"]
    )
    standings = {event["name"]: event["standing"] for event in events if event["event"] == "subagent"}
    assert standings == expected["subagents"]
    outcome = {"failed": "agent_error"}.get(expected["outcome"], expected["outcome"])
    assert (events[-1]["event"], events[-1]["outcome"]) == ("end", outcome)
    assert expected.get("reason", "") in (events[-1].get("message") or "")
    assert run.status == {"end_turn": 0, "failed": 11, "cancelled": 130}[expected["outcome"]]
    check_history(asyncio.run(read_history(tmp_path)), expected)


async def read_history(folder: Path) -> list[StoredEntry]:
    async with open_journal(history_path(home(folder))) as journal:
        (info,) = (await journal.list()).streams
        return [entry async for page in journal.replay(info.stream) for entry in page]


def check_history(entries: list[StoredEntry], expected: Mapping[str, Any]) -> None:
    """What `sessions show`, `search` and an export are made of, and what another agent is told."""
    told = list(moments(entries))
    own = [moment for moment in told if not moment.requester]
    assert "".join(moment.text for moment in own if moment.kind == "message") == expected["said"]
    fold = BriefFold()
    fold.add_all(entries)
    brief = records(fold.finish().text)
    assert expected["said"] in "".join(record.get("agent", "") for record in brief)
    for title, (status, text) in expected["tools"].items():
        names = (f"{title}: {status}", f"{title} ({status})")
        (end,) = [moment for moment in own if moment.kind == "tool" and moment.text in names]
        assert end.output == text
        (record,) = [record for record in brief if record.get("tool") in names]
        assert text in record.get("result", "")
    for subagent in expected["subagents"]:
        children = {moment.requester for moment in told if moment.requester}
        assert children <= {f"{subagent}, for main session"}
    failures = [moment.text for moment in told if moment.kind == "error"]
    assert (len(failures) == 1) == (expected["outcome"] == "failed")
    assert expected.get("reason", "") in "".join(failures)
    assert [record for record in brief if "turn failed" in record] or expected["outcome"] != "failed"


@pytest.mark.parametrize("name", ["codex-commands", "codex-limit", "claude-subagent"])
def test_run_prints_it(name: str, tmp_path: Path) -> None:
    """Into a pipe, of tool calls that went well their titles alone."""
    text = "".join(StoryRun(name, tmp_path, "--no-history").lines)
    expected = shows(name)
    assert expected["said"].strip() in text
    for title, (status, printed) in expected["tools"].items():
        assert title in text
        assert status == "completed" or all(line in text for line in without_fence(printed).splitlines())
    assert all(subagent in text for subagent in expected["subagents"])


async def prompt(agent: AgentHandle, name: str, folder: Path) -> tuple[str, Transcript, str, str]:
    """The session, what the model of `chat` makes of it, how the turn ended, and why if it failed."""
    session, transcript = await agent.new_session(cwd=str(folder)), Transcript()
    turn = session.prompt("go")
    try:
        async for update in turn:
            transcript.hear(update)
            if story(name).get("cancels") and isinstance(update, v1.AgentMessageChunk):
                await session.cancel()
    except CallFailed as error:
        return session.id, transcript, "failed", error.message
    return session.id, transcript, turn.result.stop_reason, ""


def check_transcript(transcript: Transcript, expected: Mapping[str, Any]) -> None:
    entries = transcript.entries
    speech = [entry.text for entry in entries if isinstance(entry, SpeechEntry) and entry.who == "agent"]
    assert "".join(speech) == expected["said"]
    states = [entry.state for entry in entries if isinstance(entry, ToolEntry)]
    assert {state.title: [state.status, text_of(state.content)] for state in states} == expected["tools"]


def yes_client() -> Client:
    client = Client("test", subagents=True)

    @client.request_permission
    async def allow(request: v1.RequestPermissionRequest) -> v1.RequestPermissionResponse:
        return v1.RequestPermissionResponse(outcome=v1.SelectedPermissionOutcome(option_id="y"))

    return client


@every_story
async def test_the_model_of_chat_shows_it(name: str, tmp_path: Path) -> None:
    expected = shows(name)
    async with connect(command(name), client=yes_client()) as agent:
        _, transcript, outcome, reason = await prompt(agent, name, tmp_path)
        check_transcript(transcript, expected)
        assert outcome == expected["outcome"]
        assert expected.get("reason", "") in reason
        assert {subagent.name: subagent.standing for subagent in agent.subagents} == expected["subagents"]


@pytest.mark.parametrize("name", [name for name in STORIES if not story(name).get("cancels")])
async def test_an_mcp_client_is_told_of_it(name: str, tmp_path: Path) -> None:
    """But for turns that are cancelled: a call that is has no result."""
    known = KnownAgent(name="it", command=tuple(command(name)), source=AgentSource.COMMAND)
    rules, target = GatewayRules(approve="all"), ChosenAgent(known, {}, "it")
    expected = shows(name)
    async with (
        Gateway(target, rules, cwd=str(tmp_path)) as gateway,
        official_client(gateway, tmp_path) as client,
    ):
        result = await client.call_tool("prompt", {"text": "go"})
    assert bool(result.is_error) == (expected["outcome"] == "failed")
    assert expected.get("reason", "") in str(result.content)
    if not result.is_error:
        report = result.structured_content
        assert (report["text"], report["stopReason"]) == (expected["said"], expected["outcome"])
        statuses = {call["title"]: call["status"] for call in report["toolCalls"]}
        assert statuses == {title: status for title, (status, _) in expected["tools"].items()}


# Through a hub.


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    agents = "".join(f"[agents.{name}]\ncommand = {json.dumps(command(name))}\n" for name in STORIES)
    with running_hub(tmp_path_factory.mktemp("hub"), config=agents) as hub:
        yield hub


async def history_through(hub: HubProcess, name: str, folder: Path) -> dict[str, Any]:
    """Play a story; the model of `chat` and the hub's list are checked, and what the page reads is given."""
    expected = shows(name)
    address = f"ws://{hub.place}/acp?agent={name}"
    async with connect(address, client=yes_client(), headers=hub.headers) as agent:
        session, transcript, outcome, reason = await prompt(agent, name, folder)
        check_transcript(transcript, expected)
        assert (outcome, expected.get("reason", "") in reason) == (expected["outcome"], True)
        listed = (await agent.call("_dragoman/hub/sessions", {"cwd": str(folder)}))["sessions"]
        states = {line["sessionId"]: line["state"] for line in listed if not line.get("parent")}
        assert states == {session: "failed" if outcome == "failed" else "idle"}
        work = {line["title"]: line["work"]["state"] for line in listed if line.get("parent")}
        assert work == dict.fromkeys(expected["subagents"], "idle")
        answer = await agent.call("_dragoman/hub/history", {"sessionId": session})
        return {"session": session, "messages": answer["messages"]}


@pytest.mark.bound(60)  # a hub, and an agent for each story
async def test_a_hub_and_the_model_of_the_page_show_it(hub: HubProcess, tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in STORIES}
    for folder in folders.values():
        folder.mkdir()
    async with asyncio.TaskGroup() as group:
        tasks = {
            name: group.create_task(history_through(hub, name, folder)) for name, folder in folders.items()
        }
    if NODE is None or not ESBUILD.exists():
        pytest.skip("the page cannot be built here")
    folded = subprocess.run(
        [NODE, str(HERE / "page_fold.mjs")],
        input=json.dumps({name: task.result() for name, task in tasks.items()}),
        capture_output=True,
        text=True,
        timeout=patience(30),
    )
    assert folded.returncode == 0, folded.stderr
    for name, shown in json.loads(folded.stdout).items():
        check_page(shown, shows(name), name)


def check_page(shown: Mapping[str, Any], expected: Mapping[str, Any], name: str) -> None:
    assert shown["said"] == expected["said"], name
    assert shown["tools"] == expected["tools"], name
    lines = dict(shown["notes"])
    subagents = {f"Subagent {subagent}": word for subagent, word in expected["subagents"].items()}
    assert {title: text for title, text in lines.items() if title.startswith("Subagent")} == subagents, name
    assert not [title for title in lines if "does not know" in title], name
    error = (shown["end"].get("error") or {}).get("message", "")
    assert bool(error) == (expected["outcome"] == "failed"), name
    assert expected.get("reason", "") in error, name
