"""Two agents have one identity only if the same is run."""

import sys
from pathlib import Path

import pytest

from dragoman_local.known.agent import AgentSource, KnownAgent
from dragoman_local.known.identity import identity_of, identity_of_command
from tests.every import every


def typed(*words: str) -> KnownAgent:
    return KnownAgent(name=Path(words[0]).name, command=words, source=AgentSource.COMMAND)


def test_a_name_that_somebody_gave_is_the_agent_and_a_program_by_its_path_is_that_file(
    tmp_path: Path,
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "claude").touch()
    (tmp_path / "bin").symlink_to("real")
    named = KnownAgent(name="claude", command=("claude-agent-acp",), source=AgentSource.PATH)
    own = KnownAgent(name="mine", command=("/x/claude", "--acp"), source=AgentSource.CONFIG)
    assert [identity_of(agent, "/") for agent in (named, own, typed("mine"))] == ["claude", "mine", "mine"]
    assert identity_of(typed("bin/claude"), str(tmp_path)) == str(tmp_path / "real" / "claude")


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two folders with the same files."""
    folder = tmp_path_factory.mktemp("places").resolve()
    for name in ("one", "two"):
        (folder / name / "venv" / "bin").mkdir(parents=True)
        (folder / name / "agent.py").touch()
        (folder / name / "venv" / "bin" / "python").symlink_to(sys.executable)
    return folder


@every(
    ("first", "second"),
    [
        (["python3", "a.py"], ["python3", "b.py"]),
        (["python3", "one/agent.py"], ["python3", "two/agent.py"]),
        (["one/venv/bin/python", "-m", "it"], ["two/venv/bin/python", "-m", "it"]),
        (["python3", "-m", "one"], ["python3", "-m", "two"]),
        (["npx", "one"], ["npx", "two"]),
        (["uvx", "--from", "one", "agent"], ["uvx", "--from", "two", "agent"]),
        (["env", "A=1", "python3", "-m", "it"], ["env", "A=2", "python3", "-m", "it"]),
        (["docker", "run", "-i", "one"], ["docker", "run", "-i", "two"]),
        (["my-agent", "--acp"], ["my-agent", "--acp", "--yolo"]),
        (["my-agent", "a b"], ["my-agent", "a", "b"]),
        (["my-agent"], ["my-agent", ""]),
        (["my-agent", "--token=ghp_" + "a1B2" * 9], ["my-agent", "--token=ghp_" + "c3D4" * 9]),
    ],
)
def test_what_runs_something_else_is_another_agent(places: Path, first: list[str], second: list[str]) -> None:
    one, other = (identity_of_command(words, str(places)) for words in (first, second))
    assert one != other
    assert "a1B2a1B2" not in one
    assert identity_of_command(first, "") != identity_of_command(second, "")


def test_one_script_is_one_agent_however_it_is_named(places: Path) -> None:
    spellings = ["one/agent.py", "./one/../one/agent.py", str(places / "one" / "agent.py")]
    assert len({identity_of_command(["python3", spelling], str(places)) for spelling in spellings}) == 1
    in_its_folder = identity_of_command(["python3", "agent.py"], str(places / "one"))
    assert in_its_folder == identity_of_command(["python3", spellings[0]], str(places))
