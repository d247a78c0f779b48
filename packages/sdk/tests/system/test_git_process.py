"""How a command of git ends, as its callers are told."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from dragoman.system.git import GitCommand, ask_repository, read_names
from dragoman.system.git_process import GitFailed, GitTimeout, git_program, run_git
from dragoman.testing.pace import patience
from tests.every import every


def python(code: str) -> GitCommand:
    """In the place of git: a program that ends as a test wants it to."""
    return GitCommand([sys.executable, "-c", code], dict(os.environ))


def run(command: GitCommand, *, cwd: str = "/", feed: bytes = b"", may_be: tuple[int, ...] = (0,)) -> bytes:
    return run_git(command, cwd=cwd, seconds=patience(30), feed=feed, may_be=may_be)


def test_its_output_is_returned_and_it_reads_what_it_is_fed(tmp_path: Path) -> None:
    words = ("hash-object", "--stdin", "--no-filters")
    command = ask_repository(git_program(), words)
    name = "1269488f7fb1f4b56a8c0e5eb48cecbfadfa9219"
    assert run(command, cwd=str(tmp_path), feed=b"data\n").decode().strip() == name


@every(
    ("command", "cwd", "said"),
    [
        (python("raise SystemExit('fatal: so it is\\nand more')"), "/", "git failed with 1: fatal: so it is"),
        (python("raise SystemExit(3)"), "/", "git failed"),
        (GitCommand(["/no/such/program"], {}), "/", "git cannot be started: No such file or directory"),
        (python(""), "/no/such/folder", "git cannot be started: No such file or directory"),
    ],
    ids=["a message", "no message", "no program", "no folder"],
)
def test_a_failure_says_why(command: GitCommand, cwd: str, said: str) -> None:
    with pytest.raises(GitFailed) as failure:
        run(command, cwd=cwd)
    assert str(failure.value) == said


def test_a_status_that_may_be_is_no_failure() -> None:
    command = python("print('x', end=''); raise SystemExit(1)")
    assert run(command, may_be=(0, 1)) == b"x"


def test_a_command_that_does_not_end_is_ended() -> None:
    with pytest.raises(GitTimeout):
        run_git(python("import time; time.sleep(600)"), cwd="/", seconds=0.01)


def test_a_system_without_git_is_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitFailed, match="not installed"):
        git_program()


def test_names_are_read_whatever_bytes_they_are() -> None:
    assert read_names(b"") == []
    assert read_names(b"a b\0c\nd\0\xff\0") == ["a b", "c\nd", os.fsdecode(b"\xff")]
