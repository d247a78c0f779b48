"""The pytest plugin: fixtures for raw and scripted agents, for models, and for golden transcripts.

It is loaded wherever Dragoman is installed and does nothing until a fixture is used. The fixtures are plain
functions that give async context managers, so they need no particular plugin for async tests.

    raw_agent(command)      a `RawPeer`; without a command, that of `--dragoman-agent` or `dragoman_agent`
    scripted_agent(script)  a `ScriptedAgent`, whose `command()` needs no folder
    scripted_model(script)  a `ScriptedModel` that listens, for agents that need one
    golden(frames, name)    compares with golden/NAME.ndjson beside the test file
    acp_cassette(name, …)   the command of an agent: live and recorded the first time, replayed ever after
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from dragoman import testing

if TYPE_CHECKING:  # `testing` imports them when they are used: most test runs use none of it
    from contextlib import AbstractAsyncContextManager

    from dragoman.testing import RawPeer, Script, ScriptedAgent, TranscriptFrame
    from dragoman.testing.models import ModelScript, ModelTurn, ScriptedModel


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("dragoman")
    group.addoption(
        "--update-golden", action="store_true", help="write golden transcripts instead of comparing with them"
    )
    group.addoption(
        "--dragoman-agent", default=None, help="the command of the agent under test, for raw_agent"
    )
    group.addoption(
        "--record-cassettes", action="store_true", help="record cassettes anew instead of replaying them"
    )
    parser.addini("dragoman_agent", "the command of the agent under test, for raw_agent", default="")


class RawAgentFixture(Protocol):
    """The type of the fixture `raw_agent`."""

    def __call__(
        self,
        command: Sequence[str] | str | None = None,
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> RawPeer: ...


@pytest.fixture
def raw_agent(request: pytest.FixtureRequest) -> RawAgentFixture:
    """`async with raw_agent() as peer:` drives the agent under test, byte by byte."""

    def start(
        command: Sequence[str] | str | None = None,
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> RawPeer:
        agent_command = (
            command or request.config.getoption("--dragoman-agent") or request.config.getini("dragoman_agent")
        )
        if not agent_command:
            raise pytest.UsageError(
                "raw_agent needs a command: raw_agent(…), --dragoman-agent or dragoman_agent"
            )
        return testing.RawPeer(agent_command, cwd=cwd, env=env)

    return start


@pytest.fixture
def scripted_agent(tmp_path: Path) -> Callable[[Script | str], ScriptedAgent]:
    """`scripted_agent('on prompt\\n say "Hello"')`: in memory, or as a process by its `command()`."""
    return lambda script: testing.ScriptedAgent(script, folder=tmp_path)


class ModelFixture(Protocol):
    """The type of the fixture `scripted_model`."""

    def __call__(
        self,
        script: ModelScript | str | Sequence[ModelTurn | str],
        *,
        key: str | None = None,
        strict: bool = True,
        port: int = 0,
    ) -> AbstractAsyncContextManager[ScriptedModel]: ...


@pytest.fixture
def scripted_model() -> ModelFixture:
    """`async with scripted_model(['Hello']) as model:` is a model for an agent, at `model.openai_url`."""
    from dragoman.testing import models

    return models.scripted_model


class GoldenFixture(Protocol):
    """The type of the fixture `golden`."""

    def __call__(
        self,
        frames: Iterable[TranscriptFrame | bytes],
        name: str,
        *,
        replace: Mapping[str, str] | None = None,
    ) -> None: ...


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> GoldenFixture:
    """Compare a transcript with `golden/NAME.ndjson` beside the test, or write it with `--update-golden`."""
    folder = request.path.parent / "golden"
    update = True if request.config.getoption("--update-golden") else None

    def compare(
        frames: Iterable[TranscriptFrame | bytes], name: str, *, replace: Mapping[str, str] | None = None
    ) -> None:
        testing.assert_golden(frames, folder / f"{name}.ndjson", update=update, replace=replace)

    return compare


class CassetteFixture(Protocol):
    """The type of the fixture `acp_cassette`."""

    def __call__(self, name: str, live: Sequence[str] | str | None = None) -> list[str]: ...


@pytest.fixture
def acp_cassette(request: pytest.FixtureRequest) -> CassetteFixture:
    """`connect(acp_cassette("review", "my-agent --acp"))`: without a recording, the agent itself, recorded to
    `cassettes/review.ndjson` beside the test; later the recording.
    """
    folder = request.path.parent / "cassettes"
    anew = bool(request.config.getoption("--record-cassettes"))

    def command(name: str, live: Sequence[str] | str | None = None) -> list[str]:
        path = folder / f"{name}.ndjson"
        dragoman = [sys.executable, "-m", "dragoman"]
        if path.exists() and not anew:
            return [*dragoman, "replay", str(path)]
        if live is None:
            raise pytest.UsageError(f"there is no cassette {path}, and no live agent to record one")
        folder.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        words = shlex.split(live) if isinstance(live, str) else list(live)
        return [*dragoman, "tap", "--record", str(path), "--", *words]

    return command
