"""Which agent answers when a command line names none."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from tests import forks
from tests.apps.run.run_process import DRAGOMAN, home, run
from tests.apps.run.teletype import in_terminal

ANSWER = """
on prompt
  say "I am {name}."
"""


def install(folder: Path, *names: str) -> None:
    """Programs on PATH that answer with their name."""
    (folder / "bin").mkdir(exist_ok=True)
    for name in names:
        script = folder / f"{name}.script"
        script.write_text(ANSWER.format(name=name))
        program = folder / "bin" / name
        program.write_text(
            f"#!/bin/sh\nexec {shlex.join([*forks.DRAGOMAN, 'agent', 'script', str(script)])}\n"
        )
        program.chmod(0o755)


def environment(folder: Path) -> dict[str, str]:
    """With no other agents than ours on PATH, whatever this machine has."""
    return home(folder, PATH=str(folder / "bin"))


def test_no_built_in_agent_answers_in_the_place_of_a_missing_one(tmp_path: Path) -> None:
    done = run("Explain this folder", folder=tmp_path, env=environment(tmp_path))
    assert (done.status, done.out) == (2, "")
    assert "no agent named, and none is installed" in done.err
    assert "dragoman agents install" in done.err


@pytest.mark.parametrize(
    "words", [["mcp"], ["mcp", "--http"], ["serve", "--openai", "--listen", "127.0.0.1:0"]], ids=" ".join
)
def test_neither_does_one_behind_another_protocol(words: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [*DRAGOMAN, *words],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=patience(50),
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "no agent named, and none is installed" in done.stderr


def test_the_only_agent_that_is_installed_answers_and_is_named(tmp_path: Path) -> None:
    install(tmp_path, "codex-acp")
    done = run("Hello", folder=tmp_path, env=environment(tmp_path))
    assert (done.status, done.out) == (0, "I am codex-acp.\n")
    assert done.err == "dragoman run: using codex, the only agent installed here\n"


def test_without_a_terminal_several_agents_are_a_mistake_that_names_them(tmp_path: Path) -> None:
    install(tmp_path, "codex-acp", "claude-agent-acp")
    done = run("Hello", folder=tmp_path, env=environment(tmp_path))
    assert (done.status, done.out) == (2, "")
    assert "several are installed: claude, codex" in done.err
    assert "dragoman agents default claude" in done.err


def test_the_default_is_chosen_by_a_command(tmp_path: Path) -> None:
    install(tmp_path, "codex-acp", "claude-agent-acp")

    def agents(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*DRAGOMAN, "agents", *words],
            cwd=tmp_path,
            env=environment(tmp_path),
            capture_output=True,
            text=True,
            timeout=patience(50),
            check=False,
        )

    assert agents("default").stdout == "You have no default agent.\n"
    assert agents("default", "codex").stdout.startswith("codex is now your default agent.\n")
    assert agents("default").stdout == "codex\n"
    assert run("Hello", folder=tmp_path, env=environment(tmp_path)) == (0, "I am codex-acp.\n", "")
    assert agents("default", "cluade").returncode == 2
    assert agents("default", "/bin/cat").returncode == 2
    assert json.loads(agents("--json").stdout)["default"] == "codex"


def test_a_person_chooses_once_or_for_good(tmp_path: Path) -> None:
    install(tmp_path, "codex-acp", "claude-agent-acp")
    with in_terminal("Hello", folder=tmp_path, env=environment(tmp_path)) as person:
        assert "  1  claude  Claude Code\n  2  codex   Codex\n" in person.read_until("Number (1 to 2): ")
        person.type("3\n")
        person.read_until("Choose a number from 1 to 2.\n")
        person.type("2\n")
        person.read_until("[y/N] ")
        person.type("\n")
        assert person.wait() == 0
        assert "I am codex-acp." in person.shown
    with in_terminal("Hello", folder=tmp_path, env=environment(tmp_path)) as person:
        person.read_until("Number (1 to 2): ")
        person.type("claude\n")
        person.read_until("[y/N] ")
        person.type("y\n")
        assert person.wait() == 0
        assert "I am claude-agent-acp." in person.shown
    assert run("Hello", folder=tmp_path, env=environment(tmp_path)).out == "I am claude-agent-acp.\n"


def test_whoever_chooses_nothing_starts_nothing(tmp_path: Path) -> None:
    install(tmp_path, "codex-acp", "claude-agent-acp")
    with in_terminal("Hello", folder=tmp_path, env=environment(tmp_path)) as person:
        person.read_until("Number (1 to 2): ")
        person.type("\x04")
        assert person.wait() == 2
        assert "you chose no agent" in person.shown
