"""`dragoman run` with agents that were written with the official SDKs: the Python SDK's own examples in both
versions, and the agent of the story in Python and TypeScript.

The TypeScript SDK's package holds no example, so the story's agent stands for it.
"""

from __future__ import annotations

import shlex
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.faults.client.faulty_run import Run, running
from tests.forks import DRAGOMAN, unforked
from tests.interop.programs import AGENTS, ROOT, needs_node
from tests.interop.python.fetch import VERSIONS, sources
from tests.interop.test_official_examples import needs_sources
from tests.together import SideBySide

pytestmark = pytest.mark.bound(60)
together = SideBySide(2)

STORIES = [
    pytest.param(AGENTS["official-python"], id="python"),
    pytest.param(AGENTS["typescript"], id="typescript", marks=needs_node),
]
told = pytest.mark.parametrize("agent", STORIES)
told_once = pytest.mark.parametrize(
    "agent", [pytest.param(AGENTS["official-python"], id="python", marks=pytest.mark.slow), STORIES[1]]
)
"""For what depends little on the agent: the other one takes seconds to start."""
slow = pytest.mark.slow
"""For what `packages/app/tests/apps/run` tries with an agent of ours, and depends on the agent even less."""


async def run(agent: list[str], place: Path, *options: str, words: str, **more: Any) -> Run:
    """One turn to its end; `more` may bring another SDK for Python."""
    path = f"{ROOT}:{more['sdk']}" if "sdk" in more else str(ROOT)
    command = shlex.join(unforked(agent))
    async with running(
        "",
        "",
        place,
        *("--env", f"PYTHONPATH={path}", *options),
        command=command,
        words=[words],
        dragoman=DRAGOMAN,
    ) as started:
        started.peer.close_stdin()
        return await started.done(seconds=30)


@needs_sources
@slow  # the next one runs an agent of the same package
@pytest.mark.parametrize("version", VERSIONS)
@together
async def test_their_echo_agent_is_run(version: str, tmp_path: Path) -> None:
    command = [sys.executable, str(sources(version) / "examples" / "echo_agent.py")]
    done = await run(command, tmp_path, words="hello", sdk=sources(version) / "src")
    assert (done.status, done.text) == (0, "hello")


@needs_sources
@together
async def test_their_example_agent_gets_text_and_file(tmp_path: Path) -> None:
    attached = tmp_path / "notes.txt"
    attached.write_text("a note")
    command = [sys.executable, str(sources(VERSIONS[0]) / "examples" / "agent.py")]
    sdk = sources(VERSIONS[0]) / "src"
    done = await run(command, tmp_path, "--file", str(attached), words="hello", sdk=sdk)
    assert done.status == 0
    assert done.text == "Client sent:hello"
    blocks = [event["block"] for event in done.events if event["event"] == "content"]
    assert [(block["type"], block["uri"]) for block in blocks] == [("resource_link", attached.as_uri())]


@pytest.mark.in_turn("agent")
@told
@together
async def test_a_story_is_streamed(agent: list[str], tmp_path: Path) -> None:
    done = await run(agent, tmp_path, words="stream")
    kinds = [event["event"] for event in done.events]
    assert (done.status, done.text) == (0, "one two three")
    assert [kind for kind in kinds if kind in ("thought", "plan", "text")] == [
        "thought",
        "plan",
        *["text"] * 3,
    ]


@told_once
@pytest.mark.in_turn(
    "approve", "chosen", "status"
)  # both with an agent of ours are in `packages/app/tests/apps/run`
@pytest.mark.parametrize(("approve", "chosen", "status"), [("all", "yes", 0), ("none", "no", 7)])
@together
async def test_a_tool_is_decided(
    agent: list[str], approve: str, chosen: str, status: int, tmp_path: Path
) -> None:
    done = await run(agent, tmp_path, "--approve", approve, words="tool x")
    assert (done.status, done.text) == (status, f"{chosen} was chosen")
    ends = [event["status"] for event in done.events if event["event"] == "tool"]
    assert ends[-1] == ("completed" if status == 0 else "failed")


@told_once
@together
async def test_files_are_lent(agent: list[str], tmp_path: Path) -> None:
    written = tmp_path / "work" / "new.txt"
    done = await run(agent, tmp_path, "--approve", "all", words=f"write {written} some words")
    assert (done.status, done.text) == (0, "written")
    assert written.read_text() == "some words"
    (changes,) = [event for event in done.events if event["event"] == "changes"]
    assert [(file["path"], file["kind"]) for file in changes["files"]] == [(str(written), "added")]


@slow
@told_once
@together
async def test_modes_and_options_are_set(agent: list[str], tmp_path: Path) -> None:
    done = await run(agent, tmp_path, "--mode", "loud", "--set", "model=large", words="settings")
    assert (done.status, done.text) == (0, "loud large")


@slow
@told_once
@together
async def test_a_session_is_loaded(agent: list[str], tmp_path: Path) -> None:
    done = await run(agent, tmp_path, "--session", "stored", words="settings")
    replayed = [event["text"] for event in done.events if event.get("phase") == "replay"]
    assert done.status == 0
    assert replayed == ["earlier", "answered"]


@slow
@told_once
@pytest.mark.parametrize(("order", "status"), [("refuse", 8), ("crash", 11), ("elicit", 6)])
@together
async def test_every_end_has_its_status(agent: list[str], order: str, status: int, tmp_path: Path) -> None:
    done = await run(agent, tmp_path, words=order)
    assert done.status == status


@slow
@told_once
@together
async def test_ctrl_c_cancels_the_turn(agent: list[str], tmp_path: Path) -> None:
    async with running("", "", tmp_path, command=shlex.join(unforked(agent)), words=["wait"]) as started:
        await started.peer.read_until(lambda line: b'"waiting"' in line, seconds=20)
        started.peer.send_signal(signal.SIGINT)
        await started.done(seconds=30)
    assert (started.status, started.events[-1]["stopReason"]) == (130, "cancelled")
