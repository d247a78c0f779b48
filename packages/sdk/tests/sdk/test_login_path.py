"""The login shell is asked for its PATH once, within its time, and nothing of it stays behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman.sdk import login_path as module
from dragoman.sdk.login_path import LoginPath, ask_login_shell, join_paths, login_path
from dragoman.testing.pace import patience
from tests.transport.programs import alive, eventually

posix = pytest.mark.skipif(os.name == "nt", reason="PATH is the same for all programs there")


def shell(folder: Path, script: str) -> str:
    """A shell that does this before what it is told with -c."""
    path = folder / "shell"
    path.write_text(f'#!/bin/sh\n{script}\nshift 3\nexec /bin/sh -c "$1"\n', encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def ours(shell_path: str, **more: str) -> dict[str, str]:
    return {"PATH": "/ours:/bin:/usr/bin", "SHELL": shell_path, "HOME": "/tmp", **more}


@posix
async def test_the_shells_path_comes_first_when_no_shell_started_us(tmp_path: Path) -> None:
    login = shell(tmp_path, 'echo "Welcome!"; export PATH="/tools:/bin:$PATH"')
    assert await ask_login_shell(ours(login)) == LoginPath("/tools:/bin:/ours:/usr/bin")


@posix
async def test_ours_comes_first_when_a_shell_started_us(tmp_path: Path) -> None:
    login = shell(tmp_path, 'export PATH="/tools:/bin"')
    found = await ask_login_shell(ours(login, SHLVL="1"))
    assert found == LoginPath("/ours:/bin:/usr/bin:/tools")


@posix
async def test_a_shell_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    login = shell(tmp_path, f"sleep 1000 & echo $! > {tmp_path}/pid; wait")
    found = await ask_login_shell(ours(login), seconds=patience(0.5))
    assert found.path == "/ours:/bin:/usr/bin"
    assert found.note is not None
    assert "took longer than" in found.note
    pid = int((tmp_path / "pid").read_text())
    await eventually(lambda: not alive(pid))


@posix
async def test_what_a_shell_leaves_running_does_not_live_on(tmp_path: Path) -> None:
    login = shell(tmp_path, f"setsid sleep 1000 & echo $! > {tmp_path}/pid")
    assert (await ask_login_shell(ours(login))).note is None
    pid = int((tmp_path / "pid").read_text())
    await eventually(lambda: not alive(pid))


@posix
@pytest.mark.parametrize("script", ["exit 3", "exec 1>&-", "kill -9 $$"])
async def test_a_shell_that_says_nothing_leaves_us_with_our_own(tmp_path: Path, script: str) -> None:
    found = await ask_login_shell(ours(shell(tmp_path, script)))
    assert found.path == "/ours:/bin:/usr/bin"
    assert found.note is not None
    assert "did not say its PATH" in found.note


@posix
async def test_a_shell_that_is_not_there_is_named() -> None:
    found = await ask_login_shell(ours("/no/such/shell"))
    assert (found.path, found.note is not None) == ("/ours:/bin:/usr/bin", True)
    assert "/no/such/shell" in str(found.note)


@posix
async def test_it_is_asked_once_in_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    login = shell(tmp_path, f"echo asked >> {tmp_path}/log")
    monkeypatch.setattr(module, "_cached_path", None)
    monkeypatch.setenv("SHELL", login)
    fds = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert await login_path() is await login_path()
    assert (tmp_path / "log").read_text() == "asked\n"
    if fds:
        assert len(os.listdir("/proc/self/fd")) <= fds


def test_every_folder_is_there_once() -> None:
    assert join_paths("/a:/b::/a", "/b:/c") == "/a:/b:/c"
