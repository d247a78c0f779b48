"""The conversation in the terminal, with its input from a pipe."""

import os
import subprocess
import sys
from pathlib import Path

from dragoman.testing.pace import patience
from tests.forks import DRAGOMAN, forked

ROOT = Path(__file__).parent.parent.parent


ECHO = (*DRAGOMAN, "agent", "echo")


def talk(text: str, *agent: str) -> subprocess.CompletedProcess[str]:
    command = forked([sys.executable, str(ROOT / "examples" / "talk.py"), *(agent or ECHO)])
    return subprocess.run(
        command, input=text, capture_output=True, text=True, check=False, timeout=patience(30)
    )


def test_without_a_command_the_folder_is_reviewed_and_mended(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import os\nx = 1\n")
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "talk.py")],
        input="review a.py\nfix it\n1\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(50),
        cwd=tmp_path,
        env={**os.environ, "XDG_DATA_HOME": str(tmp_path / "data")},
    )
    assert "python/unused-import" in done.stdout, done.stderr
    assert "-import os" in done.stdout
    assert (tmp_path / "a.py").read_text() == "x = 1\n"


def test_lines_are_answered_until_the_input_ends() -> None:
    done = talk("Hello\n\n/think\nzoë\n")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        *("You said: Hello", "(What could I say?)", "I have thought about it.", "You said: zoë"),
    ]
    assert done.stderr == ""


def test_a_question_is_answered_by_the_next_line(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    assert "Done." in talk(f"/ask {mark}\n1\n").stdout
    assert mark.exists()
    mark.unlink()
    assert "Not allowed." in talk(f"/ask {mark}\n2\n").stdout
    assert "Not allowed." in talk(f"/ask {mark}\n").stdout  # nobody is there to answer
    assert not mark.exists()


def test_a_failure_of_the_agent_does_not_end_the_conversation() -> None:
    assert talk("/fail\nstill there?\n").stdout.splitlines()[-1] == "You said: still there?"


def test_an_agent_cannot_move_the_cursor() -> None:
    assert talk("\x1b[2J\x07 hi\n").stdout == "You said: \ufffd[2J\ufffd hi\n"


def test_an_agent_that_is_not_there_is_named() -> None:
    done = talk("Hello\n", "no-such-agent")
    assert done.returncode == 1
    assert "cannot start 'no-such-agent'" in done.stderr
    assert "Traceback" not in done.stderr
