"""The official Python SDK's own examples, and its coming version, from its source archives.

The TypeScript SDK's package holds no examples.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from dragoman import connect
from dragoman.schema.v1 import AgentMessageChunk, ContentBlock, ResourceLink, SessionUpdate, TextContent
from dragoman.testing.pace import patience
from tests.interop.programs import AGENTS, CLIENTS, ROOT, environment, python, tell
from tests.interop.python.fetch import VERSIONS, sources
from tests.interop.test_story import ORDERS, STORY
from tests.together import SideBySide

COMING = VERSIONS[-1]

needs_sources = pytest.mark.skipif(
    not all(sources(version).is_dir() for version in VERSIONS),
    reason="needs the official SDK's sources: python tests/interop/python/fetch.py",
)
pytestmark = [needs_sources, pytest.mark.bound(30)]
together = SideBySide(2)

SERVED = ("by the official SDK", "by us")


def example(version: str, file: str, class_: str, served: str) -> list[str]:
    path = str(sources(version) / "examples" / file)
    return [sys.executable, path] if served == "by the official SDK" else adapted(path, class_)


def adapted(path: str, class_: str) -> list[str]:
    return [*python("adapted_example"), path, class_]


async def updates(command: list[str], version: str, *content: Any) -> list[SessionUpdate]:
    """What an agent says to one prompt of ours."""
    env = environment(sources(version) / "src")
    async with connect(command, cwd=ROOT, env=env) as agent:
        session = await agent.new_session(cwd="/tmp")
        return [update async for update in session.prompt(*content)]


@pytest.mark.in_turn("version", "served")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("served", SERVED)
@together
async def test_their_echo_agent_answers_us(version: str, served: str) -> None:
    command = example(version, "echo_agent.py", "EchoAgent", served)
    (update,) = await updates(command, version, "hello")
    assert isinstance(update, AgentMessageChunk)
    assert update.content == TextContent(text="hello", meta={"echo": True})
    assert update.meta == {"echo": True}


@pytest.mark.slow  # `test_run_official.py` runs the same agent, with text and a file
@pytest.mark.parametrize("served", SERVED)
@together
async def test_their_example_agent_gives_back_what_we_sent(served: str) -> None:
    command = example(VERSIONS[0], "agent.py", "ExampleAgent", served)
    sent: list[ContentBlock] = [
        TextContent(text="hello"),
        ResourceLink(name="in", uri="file:///tmp/in.txt"),
    ]
    heading, *said = await updates(command, VERSIONS[0], *sent)
    assert heading == AgentMessageChunk(content=TextContent(text="Client sent:"))
    assert said == [AgentMessageChunk(content=block) for block in sent]


@pytest.mark.in_turn("version")
@pytest.mark.parametrize("version", VERSIONS)
@together
def test_their_example_client_talks_to_our_agent(version: str) -> None:
    client = [sys.executable, str(sources(version) / "examples" / "client.py")]
    agent = [sys.executable, "examples/echo_agent.py"]
    env = environment(sources(version) / "src")
    run = subprocess.run(
        [*client, *agent],
        cwd=ROOT,
        env=env,
        input="hello\n",
        capture_output=True,
        text=True,
        timeout=patience(25),
    )
    assert run.returncode == 0, run.stderr
    assert "| Agent: You said: hello" in run.stdout


@pytest.mark.in_turn("client", "agent")
@pytest.mark.parametrize(
    ("client", "agent"),
    [
        ("ours", "official-python"),
        ("official-python", "ours"),
        pytest.param("ours", "adapted", marks=pytest.mark.slow),
    ],
)
@together
def test_the_coming_version_tells_the_same_story(client: str, agent: str) -> None:
    sdk = sources(COMING) / "src"
    report = tell(CLIENTS[client], "story", list(ORDERS), AGENTS[agent], sdk=sdk)
    report.pop("unknown", None)
    assert report == STORY
