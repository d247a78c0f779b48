"""Locks on files, and that the package starts where POSIX modules are missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.system import files
from dragoman.testing.pace import patience
from dragoman_app.cli.commands import COMMANDS

HERE = Path(__file__).parent
WITHOUT_POSIX = str(HERE / "without_posix.py")


def without_posix(*words: str, home: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "TMPDIR": str(home)}
    return subprocess.run(
        [sys.executable, WITHOUT_POSIX, *words],
        cwd=home,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(120),
    )


@pytest.mark.slow  # the next one imports what commands need
def test_every_module_can_be_imported_without_posix(tmp_path: Path) -> None:
    done = without_posix("import", home=tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stdout + done.stderr


EVERY_COMMAND = """
import contextlib, io, sys
sys.path.insert(0, sys.argv[1])
import without_posix
without_posix.hide_modules()
without_posix.hide_names()
from dragoman_app.cli import main
from dragoman_app.cli.commands import COMMANDS
lines = [[*row.name.split(), "--help"] for row in COMMANDS]
lines += [["where"], ["where", "--json"], ["where", "address"]]
lines += [["config", "show", "hub"], ["config", "check"]]
for words in lines:
    sys.argv, out, err = ["dragoman", *words], io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main()
    except SystemExit as end:
        status = end.code
    except BaseException as error:
        status = repr(error)
    if status or not out.getvalue() or err.getvalue():
        print(*words, status, err.getvalue())
print(len(lines))
"""


def test_every_command_works_without_posix_as_far_as_it_needs_no_agent(tmp_path: Path) -> None:
    """In one process each costs more than all of them in one: the parser is the same."""
    done = subprocess.run(
        [sys.executable, "-c", EVERY_COMMAND, str(HERE)],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(120),
    )
    assert done.stderr == ""
    assert done.stdout.split() == [str(len(COMMANDS) + 5)], done.stdout


def test_a_policy_is_checked_and_explained_without_posix(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text('[[rule]]\ndecision = "deny"\ncommand = "git push"\n')
    checked = without_posix("config", "check", "policy", "--file", "policy.toml", home=tmp_path)
    assert checked.returncode == 0, checked.stderr
    asked = ("policy", "explain", "--policy", "policy.toml", "--command", "git push")
    explained = without_posix(*asked, home=tmp_path)
    assert explained.stdout.startswith("deny: git push"), explained.stderr


def test_an_agent_is_run_and_its_commands_are_logged_without_posix(tmp_path: Path) -> None:
    done = without_posix("run", "--agent", "echo", "--approve", "all", "/run echo hi", home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "It ended with 0." in done.stdout
    assert (tmp_path / ".local/state/dragoman/audit.jsonl").read_text().count("echo hi")


def test_a_secret_is_refused_where_a_terminal_cannot_be_asked_not_to_show_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from dragoman.errors import LocalMistake
    from dragoman_local.workspace.policy.terminal import TerminalLines

    monkeypatch.setitem(sys.modules, "termios", None)
    leader, follower = os.openpty()
    try:
        with pytest.raises(LocalMistake, match="no POSIX terminals"), TerminalLines(follower)._silent():
            pass
    finally:
        os.close(leader)
        os.close(follower)


# Locks.


def test_a_lock_keeps_others_out_until_its_file_is_closed(tmp_path: Path) -> None:
    first, second = (os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT) for _ in range(2))
    assert files.try_lock(first)
    assert not files.try_lock(second)
    os.close(first)
    assert files.try_lock(second)
    os.close(second)


def test_those_who_share_a_lock_keep_others_out_together(tmp_path: Path) -> None:
    first, second, third = (os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT) for _ in range(3))
    files.share(first)
    files.share(second)
    assert not files.try_lock(third)
    for descriptor in (first, second):
        os.close(descriptor)
    assert files.try_lock(third)
    os.close(third)


class Windows:
    """The part of Windows' module that locks use: bytes of files, each for one descriptor."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        self.locked: dict[tuple[int, int], int] = {}

    def locking(self, descriptor: int, mode: int, count: int) -> None:
        assert (mode, count) == (self.LK_NBLCK, 1)
        place = (os.fstat(descriptor).st_ino, os.lseek(descriptor, 0, os.SEEK_CUR))
        if self.locked.setdefault(place, descriptor) != descriptor:
            raise PermissionError


def test_where_there_is_no_flock_windows_locks_a_byte_that_no_file_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    windows = Windows()
    monkeypatch.setattr(files, "fcntl", None)
    monkeypatch.setattr(files, "msvcrt", windows)
    first, second = (os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT) for _ in range(2))
    os.write(first, b"123")
    assert files.try_lock(first)
    assert not files.try_lock(second)
    assert os.lseek(first, 0, os.SEEK_CUR) == 3
    assert all(at > 1_000_000 for _, at in windows.locked)
    files.share(second)
    os.close(first)
    os.close(second)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_only_a_regular_file_is_opened_and_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("words")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    with files.open_regular(tmp_path / "text") as file:
        assert file.read() == b"words"
    for name in ("pipe", "link", "."):
        with pytest.raises(OSError, match="not a regular file"):
            files.open_regular(tmp_path / name)
