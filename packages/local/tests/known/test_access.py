"""Agents that only the login shell knows."""

import os
import sys
from pathlib import Path

import pytest

from dragoman.errors import LocalMistake
from dragoman.sdk import login_path
from dragoman_local.known import AgentConfig, AgentSource, KnownAgent, reach_agent

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="login shells are POSIX's")

EMPTY = AgentConfig(path="none")


@pytest.fixture(autouse=True)
def more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that only the login shell has on its PATH; with one agent in it."""
    (tmp_path / "more").mkdir()
    shell = f'#!/bin/sh\necho asked >> {tmp_path}/log\nPATH="{tmp_path}/more:$PATH" exec /bin/sh -c "$4"\n'
    for name, text in {"shell": shell, "more/opencode": "#!/bin/sh\n"}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("SHELL", str(tmp_path / "shell"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(login_path, "_cached_path", None)
    return tmp_path / "more"


async def test_an_agent_that_only_the_login_shell_has_is_found_with_its_path(more: Path) -> None:
    reached = await reach_agent("opencode", config=EMPTY)
    assert reached.agent.source is AgentSource.PATH
    assert reached.path is not None
    assert str(more) in reached.path.split(os.pathsep)


async def test_a_command_of_the_configuration_gets_that_path_too(more: Path) -> None:
    mine = KnownAgent(name="mine", command=("opencode", "acp"), source=AgentSource.CONFIG)
    reached = await reach_agent("mine", config=AgentConfig(path="x", agents={"mine": mine}))
    assert (reached.agent, reached.path is not None) == (mine, True)


@pytest.mark.parametrize("text", ["echo", "sh -c true", "/no/such/agent", "unix:/run/x.sock"])
async def test_the_shell_is_not_asked_when_our_path_will_do(text: str, tmp_path: Path) -> None:
    assert (await reach_agent(text, config=EMPTY)).path is None
    assert not (tmp_path / "log").exists()


async def test_what_neither_has_is_told() -> None:
    with pytest.raises(LocalMistake, match="did you mean opencode"):
        await reach_agent("opencod", config=EMPTY)
