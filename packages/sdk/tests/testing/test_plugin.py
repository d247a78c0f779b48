"""The plugin, in test runs of their own."""

import os
import shlex
import subprocess
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from dragoman.testing import TranscriptFrame
from dragoman.testing.plugin import GoldenFixture, RawAgentFixture
from tests.forks import DRAGOMAN, module

TESTS = """
import asyncio
from dragoman import connect
from dragoman.testing import talking_to

def test_raw(raw_agent):
    async def talk():
        async with raw_agent() as peer:
            params = {"protocolVersion": 1}
            await peer.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
            assert b'"protocolVersion":1' in await peer.read_line()
    asyncio.run(talk())

def test_scripted(scripted_agent):
    async def talk():
        agent = scripted_agent("on prompt\\n  say hello")
        async with talking_to(agent) as handle:
            session = await handle.new_session(cwd="/tmp")
            assert (await session.prompt("x")).text == "hello"
        async with connect(agent.command()) as handle:
            session = await handle.new_session(cwd="/tmp")
            assert (await session.prompt("x")).text == "hello"
    asyncio.run(talk())

def test_golden(golden):
    golden([b'{"id": 1, "method": "WORD"}'], "area/story")
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # Nobody else's plugins: they take longer to load than our tests take to run.
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [*module("pytest"), "-q", "-p", "dragoman.testing.plugin", *arguments]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "test_mine.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\ndragoman_agent = {shlex.join(DRAGOMAN)} agent echo\n")
    return tmp_path


@pytest.mark.timeout(60)
def test_the_fixtures_work_in_a_project_of_somebody_else(project: Path) -> None:
    first = run(project)
    assert "1 failed, 2 passed" in first.stdout, first.stdout
    assert "run with --update-golden" in first.stdout
    assert "3 passed" in run(project, "--update-golden").stdout
    golden = project / "golden" / "area" / "story.ndjson"
    assert golden.read_text() == '{"frame": {"id": "<id-1>", "method": "WORD"}}\n'
    assert "3 passed" in run(project).stdout
    golden.write_text(golden.read_text().replace("WORD", "OTHER"))
    assert "1 failed" in run(project, "-k", "golden").stdout


def test_raw_agent_needs_to_know_which(raw_agent: RawAgentFixture) -> None:
    with pytest.raises(pytest.UsageError, match="needs a command"):
        raw_agent()
    assert raw_agent("some agent").command == ["some", "agent"]


def test_golden_files_stand_beside_the_test(golden: GoldenFixture) -> None:
    with pytest.raises(
        AssertionError, match=r"packages/sdk/tests/testing/golden/nothing\.ndjson does not exist"
    ):
        golden([TranscriptFrame("agent", b"{}")], "nothing")


def test_pytest_finds_the_plugin_by_itself() -> None:
    found = {entry.name: entry.value for entry in entry_points(group="pytest11")}
    assert found["dragoman"] == "dragoman.testing.plugin"


CASSETTE = """
import asyncio, sys
from dragoman import connect

LIVE = [sys.executable, "-m", "dragoman", "agent", "echo"]

def test_hello(acp_cassette, pytestconfig):
    async def talk():
        async with connect(acp_cassette("hello", None if pytestconfig.getoption("-k") else LIVE)) as handle:
            session = await handle.new_session(cwd="/tmp")
            assert (await session.prompt("good morning")).text.endswith("good morning")
    asyncio.run(talk())
"""


@pytest.mark.timeout(60)
def test_a_cassette_is_recorded_once_and_replayed_without_the_agent(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(CASSETTE)
    assert "no live agent to record one" in run(tmp_path, "-k", "hello").stdout
    assert "1 passed" in run(tmp_path).stdout
    recorded = (tmp_path / "cassettes" / "hello.ndjson").read_bytes()
    assert b"good morning" in recorded
    assert "1 passed" in run(tmp_path, "-k", "hello").stdout
    assert (tmp_path / "cassettes" / "hello.ndjson").read_bytes() == recorded
