"""Edits of our file: what was wanted, and nothing else."""

import os
import stat
import sys
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from dragoman.errors import LocalMistake
from dragoman_local.known import AgentSource, KnownAgent, read_config
from dragoman_local.known.config import parse_config
from dragoman_local.known.config_edit import add_agents, as_table, remove_agent, set_default

BEFORE = """# my agents
default_agent = "keep" # for now

[agents.keep]   # the good one
command = ["keep",
  "me"]

# about the other one
[agents.old]
command = "old"
[agents.old.env]
A = "1"

# the end
"""


def an_agent(name: str, *command: str, env: dict[str, str] | None = None) -> KnownAgent:
    return KnownAgent(name=name, command=command or ("x",), env=env or {}, source=AgentSource.CONFIG)


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "config.toml"
    path.write_bytes(text.encode())
    return path


def test_a_first_agent_makes_the_file_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.toml"
    add_agents([an_agent("a", "run", "it", env={"K": "v"})], path=path)
    assert path.read_text() == '[agents.a]\ncommand = ["run", "it"]\nenv = { K = "v" }\n'
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_addition_leaves_every_other_line(tmp_path: Path) -> None:
    path = written(tmp_path, BEFORE)
    add_agents([an_agent("new", "n")], path=path)
    assert path.read_text() == BEFORE + '\n[agents.new]\ncommand = ["n"]\n'


def test_a_removal_takes_the_tables_of_the_agent_and_no_comment(tmp_path: Path) -> None:
    path = written(tmp_path, BEFORE)
    remove_agent("old", path=path)
    gone = '[agents.old]\ncommand = "old"\n[agents.old.env]\nA = "1"\n'
    assert path.read_text() == BEFORE.replace(gone, "")


def test_replacing_again_and_again_does_not_make_the_file_grow(tmp_path: Path) -> None:
    path = written(tmp_path, BEFORE)
    add_agents([an_agent("new", "n")], path=path)
    once = path.read_text()
    for _ in range(3):
        add_agents([an_agent("new", "n")], path=path)
    assert path.read_text() == once


def test_windows_line_ends_stay(tmp_path: Path) -> None:
    path = written(tmp_path, BEFORE.replace("\n", "\r\n"))
    add_agents([an_agent("new", "n")], path=path)
    assert path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n")


@pytest.mark.parametrize(
    "text", ["[agents]\na = { command = ['x'] }\nb.command = ['y']\n", "agents.a.command = 'x'\n"]
)
def test_an_agent_in_another_form_is_removed_too(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    remove_agent("a", path=path)
    assert "a" not in read_config(path).agents


def test_a_form_that_cannot_be_edited_is_left_alone(tmp_path: Path) -> None:
    text = "agents = { a = { command = ['x'] }, b = { command = ['y'] } }\n"
    path = written(tmp_path, text)
    with pytest.raises(LocalMistake, match="by hand"):
        remove_agent("a", path=path)
    with pytest.raises(LocalMistake, match="by hand"):
        add_agents([an_agent("c")], path=path)
    assert path.read_text() == text


def test_a_file_with_a_mistake_is_not_touched(tmp_path: Path) -> None:
    path = written(tmp_path, "[agents.a\n")
    with pytest.raises(LocalMistake, match=":1: not valid TOML"):
        add_agents([an_agent("b")], path=path)
    assert path.read_text() == "[agents.a\n"


def test_what_is_not_there_cannot_be_removed(tmp_path: Path) -> None:
    with pytest.raises(LocalMistake, match="no agent 'x'; it has keep, old"):
        remove_agent("x", path=written(tmp_path, BEFORE))


def test_a_name_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalMistake, match="not a name for an agent"):
        add_agents([an_agent("two words")], path=tmp_path / "config.toml")
    assert not (tmp_path / "config.toml").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="permissions and links of POSIX")
def test_mode_and_link_of_the_file_stay(tmp_path: Path) -> None:
    real = written(tmp_path, BEFORE)
    real.chmod(0o640)
    link = tmp_path / "link.toml"
    link.symlink_to(real)
    add_agents([an_agent("new")], path=link)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert "new" in read_config(real).agents


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(LocalMistake, match="cannot write"):
        add_agents([an_agent("a")], path=tmp_path / "config.toml")


def test_nothing_is_left_beside_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, BEFORE)
    add_agents([an_agent("new")], path=path)
    assert os.listdir(tmp_path) == ["config.toml"]


words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@given(st.lists(words, min_size=1), st.dictionaries(st.from_regex(r"\A[A-Z_]{1,5}\Z"), words))
def test_any_agent_is_read_back_as_it_was_written(command: list[str], env: dict[str, str]) -> None:
    agent = an_agent("a.b-c", *command, env=env)
    read = parse_config(as_table(agent), path="x").agents["a.b-c"]
    assert (read.command, dict(read.env)) == (tuple(command), env)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'default_agent = "new"\n'),
        ("[agents.a]\ncommand = 'a'\n", "default_agent = \"new\"\n\n[agents.a]\ncommand = 'a'\n"),
        (BEFORE, BEFORE.replace('default_agent = "keep" # for now\n', 'default_agent = "new"\n')),
    ],
    ids=["no file", "no default", "another default"],
)
def test_the_default_is_named_and_every_other_line_stays(before: str, after: str, tmp_path: Path) -> None:
    path = written(tmp_path, before)
    set_default("new", path=path)
    assert path.read_text() == after
