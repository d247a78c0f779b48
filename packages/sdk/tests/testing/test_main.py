"""`python -m dragoman.testing`: a client's script as a command."""

from pathlib import Path

import pytest

from dragoman.testing.__main__ import main
from tests.forks import DRAGOMAN

ECHO = [*DRAGOMAN, "agent", "echo"]
STORY = """
client
  initialize
  new
  prompt hello
  await turn "You said: hello"
"""


@pytest.fixture
def story(tmp_path: Path) -> Path:
    path = tmp_path / "story.script"
    path.write_text(STORY)
    return path


def test_a_story_that_goes_as_written_ends_with_zero(story: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(story), *ECHO]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_story_that_does_not_ends_with_one_and_the_line(
    story: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    story.write_text(STORY.replace("await turn", "expect turn").replace("hello", "goodbye", 1))
    assert main([str(story), *ECHO]) == 1
    assert "story.script, line 6: expected a turn" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "command", "why"),
    [
        ("client\n  dance", ECHO, "line 2: 'dance' is not a verb"),
        (None, ECHO, "No such file"),
        ("client", ["no-such-agent"], "cannot start 'no-such-agent'"),
    ],
)
def test_what_cannot_be_played_ends_with_two(
    text: str | None, command: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "story.script"
    if text is not None:
        path.write_text(text)
    assert main([str(path), *command]) == 2
    assert why in capsys.readouterr().err


def test_a_story_without_an_agent_is_a_mistake(story: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([str(story)])
    assert stopped.value.code == 2
    assert "the agent's command is missing" in capsys.readouterr().err
