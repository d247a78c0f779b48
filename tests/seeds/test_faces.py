"""Every face of the project understands an agent of every dialect, by itself and by name.

A face is whatever somebody starts an agent with: a function of the SDK or a command. The dialects are those
of the registry, and the thread protocol in both of its directions. A face or a dialect that is new is tried
here by itself, or fails for want of an agent in `packages/sdk/tests/sdk/foreign_agent.py`.
"""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Awaitable, Callable
from itertools import starmap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import pytest

from dragoman import Pool, blocking, connect, supervised
from dragoman.dialect import DIALECTS
from dragoman.schema.v1 import AgentMessageChunk, TextContent
from dragoman.sdk.pool import PoolTask
from dragoman_app.apps.chat.local_backend import LocalBackend
from dragoman_app.apps.target import Overrides
from dragoman_app.cli import main
from dragoman_app.cli.check_agent import interpreted_command
from dragoman_app.cli.parser import make_parser
from dragoman_app.tui.ports import ChatRequest
from dragoman_hub.agents.specs import command_of
from dragoman_hub.settings import AgentSettings
from dragoman_local.known import AgentSource, KnownAgent
from dragoman_local.known.doctor import diagnose
from dragoman_local.workspace.settings import LocalRules
from tests.apps.chat.quiet import Quiet
from tests.apps.run.run_process import run
from tests.every import every
from tests.forks import forked
from tests.house import COUNTED
from tests.seeds.lines import ROOT, lines, text

pytestmark = pytest.mark.bound(60)  # a program is started for each dialect

AGENT = forked([sys.executable, str(ROOT / "packages/sdk/tests/sdk/foreign_agent.py")])
SPOKEN = {**{dialect: dialect for dialect in DIALECTS}, "threads-written": "threads"}
"""What an agent speaks, by the argument of the program that speaks it."""
SAID = "You said: Hello"

Face: TypeAlias = Callable[[list[str], str], Awaitable[str]]
"""Takes the command of an agent and a dialect; gives what the agent said to `Hello`."""


def joined(updates: list[Any]) -> str:
    blocks = [update.content for update in updates if isinstance(update, AgentMessageChunk)]
    return "".join(block.text for block in blocks if isinstance(block, TextContent))


async def with_connect(command: list[str], dialect: str) -> str:
    async with connect(command, dialect=dialect) as agent:
        session = await agent.new_session(cwd="/tmp")
        return joined([update async for update in session.prompt("Hello")])


async def with_supervised(command: list[str], dialect: str) -> str:
    async with supervised(command, shell_path=False, dialect=dialect) as agent:
        session = await agent.new_session(cwd="/tmp")
        return joined([update async for update in session.prompt("Hello")])


async def with_pool(command: list[str], dialect: str) -> str:
    async with Pool(command, agents=1, dialect=dialect) as pool:
        (outcome,) = [outcome async for outcome in pool.run([PoolTask(prompt="Hello", cwd="/tmp")])]
        return outcome.unwrap().text


async def with_blocking(command: list[str], dialect: str) -> str:
    def talk() -> str:
        with blocking.connect(command, dialect=dialect) as agent:
            return joined(list(agent.new_session(cwd="/tmp").prompt("Hello")))

    return await asyncio.to_thread(talk)


async def with_chat(command: list[str], dialect: str) -> str:
    with TemporaryDirectory() as folder:
        backend = LocalBackend(folder, LocalRules(), Overrides(dialect=dialect), record=False)
        person = Quiet()
        wanted = ChatRequest(agent=shlex.join(command), cwd=folder)
        async with backend.open(wanted, person, person) as chat:
            await chat.turn([TextContent(text="Hello")])
    return person.words[-1]


async def with_run(command: list[str], dialect: str) -> str:
    words = ["--agent", shlex.join(command), "--dialect", dialect, "--format", "quiet", "Hello"]
    with TemporaryDirectory() as folder:
        done = await asyncio.to_thread(run, *words, folder=Path(folder))
    assert done.status == 0, done.err
    return str(done.out).rstrip("\n")


async def with_doctor(command: list[str], dialect: str) -> str:
    """It only says hello to the agent; whether that went well counts."""
    agent = KnownAgent(name="foreign", command=tuple(command), source=AgentSource.COMMAND, dialect=dialect)
    diagnosis = await diagnose(agent, seconds=30, cwd="/tmp")
    return SAID if diagnosis.outcome == "ok" else diagnosis.outcome


async def with_hub(command: list[str], dialect: str) -> str:
    """What a hub starts for the agent, spoken to as the hub does."""
    return await in_lines(command_of("foreign", AgentSettings(command=tuple(command), dialect=dialect)))


async def with_check(command: list[str], dialect: str) -> str:
    """What the examiner starts for the agent, spoken to as the examiner does."""
    return await in_lines(interpreted_command(command, dialect))


async def in_lines(command: list[str]) -> str:
    async with lines(*command) as peer:
        await peer.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        session = (await peer.ask("session/new", {"cwd": "/tmp", "mcpServers": []}))["result"]["sessionId"]
        await peer.ask("session/prompt", {"sessionId": session, "prompt": [text("Hello")]})
        await peer.close()
    chunks = [update for update in peer.updates() if update["sessionUpdate"] == "agent_message_chunk"]
    return "".join(chunk["content"]["text"] for chunk in chunks)


FACES: dict[str, Face] = {
    "connect": with_connect,
    "supervised": with_supervised,
    "Pool": with_pool,
    "blocking": with_blocking,
    "chat": with_chat,
    "run": with_run,
    "doctor": with_doctor,
    "hub": with_hub,
}
SAMPLE = ("crow", "threads-written")
"""For faces that start two programs for each agent; `make test-all` tries the others."""
AT_ONCE = 3
"""Agents that run at the same time: all at once would only wait for each other."""


async def tried(face: Face, cells: list[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """What each cell (the agent, and the dialect that is asked for) gave."""
    room = asyncio.Semaphore(AT_ONCE)

    async def cell(spoken: str, dialect: str) -> str:
        async with room:
            return str(await face([*AGENT, spoken], dialect))

    return dict(zip(cells, await asyncio.gather(*starmap(cell, cells)), strict=True))


@pytest.mark.parametrize("name", FACES)
async def test_every_face_understands_an_agent_of_every_dialect(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    """Found out by itself."""
    cells = [(spoken, "auto") for spoken in (SAMPLE if name in ("run", "hub") else SPOKEN)]
    assert await tried(FACES[name], cells) == dict.fromkeys(cells, SAID)
    record_property(COUNTED, f"dialects: {name} understands {len(cells)} kinds of agents by itself")


@pytest.mark.slow
@pytest.mark.bound(240)
@pytest.mark.parametrize("name", ["run", "hub"])
async def test_run_and_the_hub_understand_the_others_too(name: str) -> None:
    cells = [(spoken, "auto") for spoken in SPOKEN if spoken not in SAMPLE]
    assert await tried(FACES[name], cells) == dict.fromkeys(cells, SAID)


@pytest.mark.parametrize("name", ["connect", "blocking"])
async def test_a_dialect_may_be_named(name: str) -> None:
    """All faces hand the name to one of these two."""
    cells = list(SPOKEN.items())
    assert await tried(FACES[name], cells) == dict.fromkeys(cells, SAID)


async def test_check_examines_an_agent_of_another_dialect_through_the_interpreter() -> None:
    cells = [("crow", "crow"), ("v1", "v1")]
    assert await tried(with_check, cells) == dict.fromkeys(cells, SAID)


def test_check_says_what_an_agent_speaks_that_is_no_agent_of_v1(capfd: pytest.CaptureFixture[str]) -> None:
    main(["check", "agent", "--quiet", "--scene", "bare", "--", *AGENT, "crow"])
    assert "the agent speaks crow" in (told := capfd.readouterr().err)
    assert "--dialect crow examines it through the interpreter" in told


@every(
    "words",
    [
        ["run", "--agent", "x", "Hello"],
        ["chat", "--agent", "x"],
        ["doctor", "x"],
        ["check", "agent", "--", "x"],
        ["agents", "add", "x", "y"],
    ],
    ids=lambda words: words[0],
)
def test_every_command_that_takes_an_agent_takes_each_dialect_by_name(words: list[str]) -> None:
    parts = 2 if words[0] in ("check", "agents") else 1
    parser = make_parser()
    for dialect in (*DIALECTS, "auto"):
        parsed = parser.parse_args([*words[:parts], "--dialect", dialect, *words[parts:]])
        assert parsed.dialect == dialect
