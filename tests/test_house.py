"""The guards of every test bite: a leak fails, a hang fails, an error keeps its own face."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator

import pytest
import pytest_timeout  # type: ignore[import-untyped]

from dragoman.testing.pace import patience
from tests.boxes import folders_of_tests
from tests.house import FIRST, UTF_8, Watchdog, children, guarded


async def test_a_task_left_behind_fails_the_test_and_is_ended() -> None:
    started: list[asyncio.Task[None]] = []

    async def leaks() -> None:
        started.append(asyncio.create_task(asyncio.Event().wait(), name="straggler"))  # type: ignore[arg-type]

    with pytest.raises(pytest.fail.Exception, match="straggler"):
        await guarded(leaks, seconds=5)()
    assert started[0].cancelled()


async def test_a_finished_task_is_no_leak() -> None:
    async def tidy() -> None:
        await asyncio.create_task(asyncio.sleep(0))

    await guarded(tidy, seconds=5)()


async def test_a_generator_that_asyncio_is_closing_is_no_leak() -> None:
    async def numbers() -> AsyncGenerator[int, None]:
        try:
            yield 1
        finally:
            await asyncio.sleep(0.01)

    async def lets_go() -> None:
        generator = numbers()
        await anext(generator)
        del generator
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    await guarded(lets_go, seconds=5)()


async def test_a_hanging_test_is_ended_by_its_bound() -> None:
    async def hangs() -> None:
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await guarded(hangs, seconds=0.01)()


async def test_an_error_of_the_test_is_not_hidden_by_a_leak() -> None:
    async def breaks() -> None:
        task = asyncio.create_task(asyncio.Event().wait())
        raise LookupError(task.get_name())

    with pytest.raises(LookupError):
        await guarded(breaks, seconds=5)()


def test_one_thread_watches_the_time_limits_of_all_tests() -> None:
    names = [thread.name for thread in threading.enumerate()]
    assert "watchdog" in names
    assert not any("pytest_timeout" in name for name in names)


def test_a_test_beyond_its_time_limit_is_ended_and_one_that_has_ended_is_not(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []
    is_over = threading.Event()

    def end(item: pytest.Item, settings: pytest_timeout.Settings) -> None:
        ended.append(f"{item.name} after {settings.timeout} s")
        is_over.set()
        watchdog.pytest_timeout_cancel_timer()

    monkeypatch.setattr(pytest_timeout, "timeout_timer", end)
    watchdog = Watchdog(look_every=0.01)
    watchdog.pytest_timeout_set_timer(request.node, pytest_timeout.Settings(0.02, "thread", False, False))
    watchdog.pytest_timeout_cancel_timer()
    watchdog.pytest_timeout_set_timer(request.node, pytest_timeout.Settings(0.03, "thread", False, False))
    assert is_over.wait(patience(5))
    assert ended == [f"{request.node.name} after 0.03 s"]


@pytest.mark.skipif(sys.platform != "linux", reason="children are read from /proc")
def test_children_lists_running_and_unreaped_processes() -> None:
    program = [sys.executable, "-c", "print('up', flush=True); input()"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin
        assert child.stdout
        child.stdout.readline()  # until it speaks it may still be in the middle of exec, without a name
        assert "input()" in children()[child.pid]
        child.stdin.write(b"\n")
        child.stdin.close()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # ended, and nobody has asked for its status
        assert children()[child.pid] == "ended, not reaped"
    assert child.pid not in children()


def test_every_file_that_begins_first_is_there() -> None:
    folders = folders_of_tests().values()
    assert [name for name in FIRST if not any((folder / name).exists() for folder in folders)] == []


def test_hypothesis_knows_what_utf_8_can_say() -> None:
    encodable, changed = UTF_8
    text = "".join(map(chr, encodable))
    assert text.encode("utf-8").decode("utf-8") == text
    assert not changed.intervals
    assert len(text) == sys.maxunicode + 1 - 0x800  # all but the halves of pairs
    for half in "\ud800", "\udfff":
        assert half not in text
