"""From what a person types to an agent."""

import os
import sys
from pathlib import Path

import pytest

from dragoman.errors import LocalMistake
from dragoman_local.known import AgentConfig, AgentSource, KnownAgent, find_agent, known_agents
from dragoman_local.known.lookup import missing_agents, well_known_for
from dragoman_local.known.wellknown import WELL_KNOWN

EMPTY = AgentConfig(path="none")
MINE = KnownAgent(name="Mine", command=("my-agent", "--acp"), source=AgentSource.CONFIG)
ECHO = KnownAgent(name="echo", command=("other-echo",), source=AgentSource.CONFIG)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="programs are found by their mode")


def a_path(folder: Path, *programs: str) -> str:
    """A PATH of one folder with these programs in it."""
    for name in programs:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return str(folder)


def test_a_name_of_the_configuration_wins_over_ours(tmp_path: Path) -> None:
    config = AgentConfig(path="x", agents={"echo": ECHO})
    assert find_agent("echo", config=config, path=str(tmp_path)) is ECHO
    assert find_agent("echo", config=EMPTY, path=str(tmp_path)).source is AgentSource.BUILT_IN


def test_names_do_not_care_about_case(tmp_path: Path) -> None:
    config = AgentConfig(path="x", agents={"Mine": MINE})
    assert find_agent(" mine ", config=config, path=str(tmp_path)) is MINE


def test_a_well_known_agent_is_found_on_the_path_by_name_and_alias(tmp_path: Path) -> None:
    path = a_path(tmp_path, "gemini")
    found = find_agent("gemini-cli", config=EMPTY, path=path)
    assert (found.name, found.command) == ("gemini", ("gemini", "--experimental-acp"))
    assert (found.source, "GEMINI_API_KEY" in found.allow) == (AgentSource.PATH, True)


def test_the_first_of_its_commands_that_is_there_wins(tmp_path: Path) -> None:
    path = a_path(tmp_path, "claude-code-acp")
    assert find_agent("claude", config=EMPTY, path=path).command == ("claude-code-acp",)
    a_path(tmp_path, "claude-agent-acp")
    assert find_agent("claude", config=EMPTY, path=path).command == ("claude-agent-acp",)


def test_a_program_with_the_name_of_an_agent_that_needs_another_is_not_started(tmp_path: Path) -> None:
    with pytest.raises(LocalMistake, match=r"looked on PATH for claude-agent-acp .* npm install"):
        find_agent("claude", config=EMPTY, path=a_path(tmp_path, "claude"))


def test_who_asks_for_it_gets_a_missing_agent(tmp_path: Path) -> None:
    found = find_agent("claude", config=EMPTY, path=str(tmp_path), or_missing=True)
    assert found.command == ("claude-agent-acp",)


def test_a_command_line_is_split_as_a_shell_would(tmp_path: Path) -> None:
    found = find_agent("my-agent 'two words' --acp", config=EMPTY, path=str(tmp_path))
    assert (found.name, found.command) == ("my-agent", ("my-agent", "two words", "--acp"))
    assert found.source is AgentSource.COMMAND


@pytest.mark.parametrize("text", ["./agent", "/opt/agent"])
def test_a_path_is_a_command_whatever_is_there(tmp_path: Path, text: str) -> None:
    assert find_agent(text, config=EMPTY, path=str(tmp_path)).command == (text,)


def test_the_home_folder_is_spelled_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    tilde = KnownAgent(name="tilde", command=("~/bin/agent", "~"), source=AgentSource.CONFIG)
    config = AgentConfig(path="x", agents={"tilde": tilde})
    expected = ("/home/ann/bin/agent", "~")
    assert find_agent("tilde", config=config, path=str(tmp_path)).command == expected
    assert find_agent("~/bin/agent '~'", config=config, path=str(tmp_path)).command == expected
    assert known_agents(config=config, path=str(tmp_path))[-1].command == expected


def test_a_program_on_the_path_is_a_command(tmp_path: Path) -> None:
    assert find_agent("tool", config=EMPTY, path=a_path(tmp_path, "tool")).command == ("tool",)


def test_an_address_is_where_an_agent_runs_already(tmp_path: Path) -> None:
    found = find_agent("unix:/run/agent.sock", config=EMPTY, path=str(tmp_path))
    assert (found.source, found.address, found.command) == (AgentSource.ADDRESS, "unix:/run/agent.sock", ())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ecoh", "did you mean echo?"),
        ("min", "did you mean Mine"),
        ("cluade", "did you mean claude"),
        ("xyzzy-17", "choose from code, echo, Mine, review, or give a whole command in quotes"),
        ("codex", "Codex is not installed"),
        ("goose", "install Goose CLI"),
        ("", "no agent was named"),
        ("stdio:", "our own input and output"),
        ("gopher://host", "unknown scheme"),
        ("'open", "not a command line"),
    ],
)
def test_what_is_nothing_gets_a_word_of_help(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(LocalMistake) as caught:
        find_agent(text, config=AgentConfig(path="x", agents={"Mine": MINE}), path=str(tmp_path))
    assert told in str(caught.value)


def test_everything_known_is_listed_once_and_in_order(tmp_path: Path) -> None:
    config = AgentConfig(path="x", agents={"Mine": MINE, "echo": ECHO})
    path = a_path(tmp_path, "opencode", "codex-acp")
    assert [agent.name for agent in known_agents(config=config, path=path)] == [
        "code",
        "codex",
        "echo",
        "Mine",
        "opencode",
        "review",
    ]
    assert "codex" not in {entry.name for entry in missing_agents(config=config, path=path)}


def test_without_a_config_the_file_of_the_user_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "dragoman").mkdir()
    (tmp_path / "dragoman" / "config.toml").write_text('[agents.file]\ncommand = "from-file"\n')
    assert find_agent("file").command == ("from-file",)


def test_the_table_of_well_known_agents_has_each_name_once() -> None:
    names = [name for entry in WELL_KNOWN for name in (entry.name, *entry.aliases)]
    assert len(names) == len(set(names))
    assert all(entry.commands and entry.install for entry in WELL_KNOWN)
    assert all(not os.path.dirname(command[0]) for entry in WELL_KNOWN for command in entry.commands)


def test_an_agent_of_the_list_is_known_by_its_name_or_its_program_on_path() -> None:
    def known(name: str, command: str, source: AgentSource) -> str | None:
        entry = well_known_for(name, (command,), source)
        return None if entry is None else entry.name

    assert known("claude-code", "/opt/any", AgentSource.CONFIG) == "claude"
    assert known("codex-acp", "codex-acp", AgentSource.COMMAND) == "codex"
    assert known("codex-acp", "./codex-acp", AgentSource.COMMAND) is None
    assert known("claude", "python3", AgentSource.COMMAND) is None
