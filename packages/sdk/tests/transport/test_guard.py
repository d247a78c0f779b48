from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress

import pytest

from dragoman.transport import tree
from dragoman.transport.guard import TreeGuard, _pipes
from tests.transport.programs import alive, eventually, shell


def start_of(pid: int) -> int:
    found = tree.look_up(pid)
    assert found is not None
    return found.start


@pytest.fixture
def program() -> Iterator[subprocess.Popen[bytes]]:
    """A shell and its child, in a group of their own that is gone after the test."""
    env = {**os.environ, tree.MARK: "guarded"}
    process = subprocess.Popen(shell("sleep 1000; :"), env=env, start_new_session=True)
    yield process
    with suppress(ProcessLookupError):  # a guard may have ended it
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def process_of(guard: TreeGuard) -> subprocess.Popen[bytes]:
    assert guard._shell is not None
    return guard._shell


def abandon(guard: TreeGuard) -> subprocess.Popen[bytes]:
    """Close its pipe as the system does when its owner is gone; return the guard's process, which is ours
    to reap.
    """
    _pipes.remove(guard._pipe)
    os.close(guard._pipe)
    return process_of(guard)


async def test_a_guard_that_lost_its_owner_ends_the_tree(program: subprocess.Popen[bytes]) -> None:
    guard = TreeGuard("guarded")
    guard.watch(program.pid, start=start_of(program.pid))
    shell = abandon(guard)
    await eventually(lambda: not alive(program.pid))
    assert shell.wait() == 0
    program.wait()


async def test_a_guard_that_was_never_told_the_root_finds_it_by_the_mark(
    program: subprocess.Popen[bytes],
) -> None:
    shell = abandon(TreeGuard("guarded"))
    await eventually(lambda: not alive(program.pid))
    shell.wait()
    program.wait()


async def test_without_a_python_the_group_is_ended(
    program: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/removed/python")
    guard = TreeGuard("guarded")
    guard.watch(program.pid, start=start_of(program.pid))
    shell = abandon(guard)
    await eventually(lambda: not alive(program.pid))
    shell.wait()
    program.wait()


async def test_a_frozen_application_is_not_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.frozen", True, raising=False)
    guard = TreeGuard("guarded")
    assert process_of(guard).args[4] == ""  # type: ignore[index]
    guard.dismiss()


def test_a_dismissed_guard_is_gone_and_leaves_the_tree_alone(program: subprocess.Popen[bytes]) -> None:
    before = len(os.listdir("/proc/self/fd"))
    guard = TreeGuard("guarded")
    guard.watch(program.pid, start=start_of(program.pid))
    guard.dismiss()
    guard.dismiss()
    assert not os.path.exists(f"/proc/{process_of(guard).pid}")
    assert len(os.listdir("/proc/self/fd")) == before
    assert alive(program.pid)


def test_a_guard_that_was_killed_is_no_reason_to_fail(program: subprocess.Popen[bytes]) -> None:
    guard = TreeGuard("guarded")
    process_of(guard).kill()
    process_of(guard).wait()
    guard.watch(program.pid, start=start_of(program.pid))
    guard.dismiss()


def test_without_a_shell_there_is_no_guard_but_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    before = len(os.listdir("/proc/self/fd"))

    def refuse(*args: object, **kwargs: object) -> None:
        raise FileNotFoundError(2, "No such file or directory", "/bin/sh")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    guard = TreeGuard("guarded")
    guard.watch(1, start=1)
    guard.dismiss()
    assert "no guard for a process tree" in caplog.text
    assert len(os.listdir("/proc/self/fd")) == before
