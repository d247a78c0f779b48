"""`dragoman chat`: its command line, and once the whole of it in a real terminal."""

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from dragoman_app.cli import main

DRAGOMAN = [sys.executable, "-m", "dragoman"]


def test_help_has_examples_and_exit_statuses(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["chat", "--help"])
    shown = capsys.readouterr().out
    assert "dragoman chat --agent review" in shown
    assert "exit status:" in shown


def test_without_a_terminal_it_says_what_to_do(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda _: False)
    assert main(["chat", "--agent", "echo"]) == 2
    assert "Without a terminal, use `dragoman run`" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--cwd", "/nowhere/at/all"], "is not a folder"),
        (["--hub", "not-an-address"], "is not a hub address"),
        (["--hub", "ws://here/acp,there"], "'there' is not a hub address"),
        (["--hub", "ws://here/acp", "--sandbox", "read-only"], "can't use the sandbox profile"),
        (["--resume", "last"], "nothing is recorded yet"),
        (["--policy", "/nowhere.toml"], "/nowhere.toml"),
    ],
)
def test_mistakes_are_found_before_the_screen(
    arguments: list[str], why: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda _: True)
    assert main(["chat", *arguments]) == 2
    assert why in capfd.readouterr().err


def test_nobody_pays_for_the_screen_who_does_not_use_it() -> None:
    code = """
import sys
from dragoman_app.cli import main
try:
    main(["--help"])
except SystemExit:
    pass
import dragoman_app.agents.echo, dragoman_app.apps.chat
print("textual" in sys.modules, "rich" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False False"


TMUX = shutil.which("tmux")


@pytest.mark.skipif(TMUX is None, reason="tmux is not installed: there is no terminal to try it in")
@pytest.mark.timeout(90)
def test_it_runs_in_a_real_terminal(tmp_path: Path) -> None:
    socket = tmp_path / "tmux"
    folder = tmp_path / "project"
    folder.mkdir()
    agent = shlex.quote(f"{sys.executable} {Path(__file__).parents[2] / 'cli' / 'editing_agent.py'}")
    command = [*DRAGOMAN, "chat", "--agent", agent, "--cwd", str(folder), "--approve", "all"]

    def tmux(*words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(socket), *words],
            capture_output=True,
            text=True,
            check=True,
            timeout=patience(30),
        )
        return done.stdout

    def see(text: str) -> None:
        until = time.monotonic() + patience(40)
        shown = ""
        while time.monotonic() < until:
            shown = tmux("capture-pane", "-p", "-t", "chat")
            if text in shown:
                return
            time.sleep(0.05)
        raise AssertionError(f"{text!r} was not seen:\n{shown}")

    ended = tmp_path / "ended"
    line = " ".join([*command, ";", "echo", "$?", ">", str(ended)])
    tmux("-f", "/dev/null", "new-session", "-d", "-s", "chat", "-x", "80", "-y", "24", line)
    try:
        see("● ready")
        tmux("send-keys", "-t", "chat", "a.py: made = 1", "Enter")
        see("Changed on disk: 1 file, +1 -0")
        tmux("send-keys", "-t", "chat", "/rewind", "Enter")
        see("Put files back to before turn 1?")
        tmux("send-keys", "-t", "chat", "r")
        see("Files put back to before turn 1: a.py.")
        assert not (folder / "a.py").exists()
        tmux("send-keys", "-t", "chat", "/rewind undo", "Enter")
        see("Rewind undone: a.py.")
        assert (folder / "a.py").read_text() == "made = 1\n"
        tmux("send-keys", "-t", "chat", "F1")
        see("Saying something")
        tmux("send-keys", "-t", "chat", "C-q")
        until = time.monotonic() + patience(40)
        while not (ended.exists() and ended.read_text()) and time.monotonic() < until:
            time.sleep(0.05)
        assert ended.read_text() == "0\n"
    finally:
        subprocess.run(
            ["tmux", "-S", str(socket), "kill-server"], capture_output=True, check=False, timeout=patience(30)
        )
