"""The end of a serving process, tried on real ones: a signal is heard, and nothing holds the end up."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest

from dragoman import Limits
from dragoman.sdk.shutdown import END_WITHIN, SIGNALS, ShutdownSignals, time_to_end
from dragoman.testing.pace import patience
from tests.every import every
from tests.forks import forked

PROGRAM = """
import asyncio, contextlib, sys, time
from dragoman.sdk import shutdown as room
room.END_WITHIN = {within}
async def swallow():
    print("ready", flush=True)
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
async def block():
    print("ready", flush=True)
    time.sleep(60)
async def wait():
    print("ready", flush=True)
    await leaving.end_event.wait()
async def main():
    leaving.listen()
    task = asyncio.create_task({work}())
    await leaving.end_event.wait()
    leaving.begin()
    task.cancel()
    await task
with room.ShutdownSignals() as leaving:
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(main())
print("left", flush=True)
"""


def ended(work: str, number: int, *, within: float = 0.2) -> tuple[int, bytes]:
    """The exit status of such a program after the signal, and what it said then."""
    program = PROGRAM.replace("{work}", work).replace("{within}", str(within))
    with subprocess.Popen(forked([sys.executable, "-c", program]), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        said, _ = process.communicate(timeout=patience(20))
        return process.returncode, said


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_is_a_wish_to_end_and_not_an_exception(number: int) -> None:
    assert ended("wait", number, within=15) == (0, b"left\n")


@every("work", ["swallow", "block"])
@every("number", SIGNALS)
def test_who_does_not_let_go_is_left_behind(work: str, number: int) -> None:
    assert ended(work, number) == (1, b"")


def test_the_handlers_of_signals_are_given_back() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with ShutdownSignals():
        assert [signal.getsignal(number) for number in SIGNALS] != before
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with ShutdownSignals():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_end_in_time_stops_the_watch() -> None:
    before = set(threading.enumerate())
    with ShutdownSignals() as leaving:
        leaving.begin()
        leaving.begin()
        watching = [thread for thread in threading.enumerate() if thread not in before]
        assert len(watching) == 1
    watching[0].join(timeout=patience(END_WITHIN))
    assert not watching[0].is_alive()


def test_a_thread_that_is_not_the_main_one_can_serve_too() -> None:
    entered: list[bool] = []

    def run() -> None:
        with ShutdownSignals() as leaving:
            entered.append(not leaving.end_event.is_set())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert entered == [True]


def test_whoever_grants_work_more_time_to_end_gets_it() -> None:
    assert time_to_end(Limits()) == END_WITHIN
    assert time_to_end(Limits(end_seconds=30)) > 30
