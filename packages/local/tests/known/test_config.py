"""Our configuration file: what is taken from it, and what each mistake is told like."""

from pathlib import Path

import pytest

from dragoman.errors import LocalMistake
from dragoman_local.known import AgentSource, read_config
from dragoman_local.known.config import ConfigMistake, parse_config
from tests.every import every

GOOD = """
default_agent = "mine"

[agents.mine]
title = "My agent"
command = ["my-agent", "--acp"]
env = { LOG_LEVEL = "debug" }
allow = ["OPENAI_API_KEY"]

[agents.short]
command = "other 'two words'"
"""


def test_a_whole_file_is_read() -> None:
    config = parse_config(GOOD, path="c.toml")
    mine, short = config.agents["mine"], config.agents["short"]
    assert config.default_agent == "mine"
    assert (mine.command, dict(mine.env), mine.allow) == (
        ("my-agent", "--acp"),
        {"LOG_LEVEL": "debug"},
        ("OPENAI_API_KEY",),
    )
    assert (mine.title, mine.source) == ("My agent", AgentSource.CONFIG)
    assert short.command == ("other", "two words")


def test_a_file_that_is_not_there_is_empty(tmp_path: Path) -> None:
    config = read_config(tmp_path / "none.toml")
    assert (config.agents, config.default_agent) == ({}, None)


@every(
    ("text", "line", "reason"),
    [
        ("\nagents = 3\n", 2, "agents must be tables"),
        ('colour = "red"\n', 1, "unknown key 'colour'. Choose from agents, default_agent"),
        ("default_agent = 3\n", 1, "default_agent must be the name"),
        ('[agents.a]\ncommand = ["a"]\ncolour = 1\n', 3, "unknown key 'colour'. Choose from command, env"),
        ("# hi\n[agents.a]\nenv = {}\n", 2, "the command is missing"),
        ("[agents]\na = 3\n", 2, "an agent is a table"),
        ('[agents."-x"]\ncommand = ["a"]\n', 1, "'-x' is not a name"),
        ("[agents.a]\ncommand = 3\n", 2, "command must be a list of words"),
        ("[agents.a]\ncommand = [1]\n", 2, "command must be a list of words"),
        ("[agents.a]\ncommand = []\n", 2, "the command is empty"),
        ('[agents.a]\ncommand = "it\'s"\n', 2, "this is not a command line: no closing quotation"),
        ('[agents.a]\ncommand = ["a\\u0000"]\n', 2, "NUL"),
        ('[agents.a]\ntitle = 3\ncommand = ["a"]\n', 2, "title must be text"),
        ('[agents.a]\ncommand = ["a"]\nenv = 3\n', 3, "env must be a table"),
        ('[agents.a]\ncommand = ["a"]\n[agents.a.env]\nA = "1"\nB = 2\n', 5, "the value of B must be text"),
        ('[agents.a]\ncommand = ["a"]\nenv = { "A B" = "1" }\n', 3, "not a name of a variable"),
        ('[agents.a]\ncommand = ["a"]\nallow = "A"\n', 3, "allow must be a list of names"),
        ('[agents.a]\ncommand = ["a"]\nallow = [3]\n', 3, "not a name of a variable"),
        ("[agents.a\n", 1, "not valid TOML"),
        ('x = "\n', 1, "not valid TOML"),
        ("a = 1\nb = \n", 2, "not valid TOML"),
    ],
)
def test_a_mistake_is_told_with_file_and_line(text: str, line: int, reason: str) -> None:
    with pytest.raises(ConfigMistake) as caught:
        parse_config(text, path="c.toml")
    assert str(caught.value).startswith(f"c.toml:{line}: ")
    assert reason in str(caught.value)


@pytest.mark.parametrize("line", ['allow = ["sk-secret-value"]', 'env = { "sk-secret-value" = "x" }'])
def test_a_secret_in_the_wrong_place_is_not_repeated(line: str) -> None:
    with pytest.raises(ConfigMistake) as caught:
        parse_config(f'[agents.a]\ncommand = ["a"]\n{line}\n', path="c.toml")
    assert "secret" not in str(caught.value)


def test_the_values_of_variables_are_in_no_representation() -> None:
    assert "debug" not in repr(parse_config(GOOD, path="c.toml"))


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(LocalMistake, match="not UTF-8"):
        read_config(path)


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalMistake, match="cannot read"):
        read_config(tmp_path)


def test_windows_line_ends_are_fine() -> None:
    assert set(parse_config(GOOD.replace("\n", "\r\n"), path="c.toml").agents) == {"mine", "short"}


def test_the_example_on_the_page_is_valid() -> None:
    page = (Path(__file__).parents[4] / "docs" / "known-agents.md").read_text("utf-8")
    example = page.split("```toml\n")[1].split("```")[0]
    config = parse_config(example, path="known-agents.md")
    assert (config.default_agent, config.agents["mine"].title) == ("mine", "My agent")
