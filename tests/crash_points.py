"""Runs an act in a fork of this process and kills it on the way: at one of its steps, or at any moment.

A step is whatever changes something outside: a file that is opened, moved, removed or synced, a folder, a
statement of SQLite, words to a server. The fork ends just before it, as if it was killed: nothing is cleaned
up, and nothing is flushed. What the kernel was given stays, as after a kill and unlike after a power cut.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

KILLED = 77

EVENTS = frozenset(
    {"open", "os.chmod", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate"}
)
"""What Python reports of itself before it does it; `fsync` and statements are not among them."""


def kill_at(step: int, act: Callable[[], object]) -> bool:
    """Do it in a fork that ends before the step of this number; says whether it got so far."""
    number = os.fork()
    if not number:
        _in_fork(act, step)
    status = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
    assert status in (0, KILLED), f"the fork ended with {status}"
    return status == KILLED


def count_steps(act: Callable[[], object]) -> tuple[int, float]:
    """How many steps an act has, and how long it takes; it is done."""
    read, write = os.pipe()
    began, number = time.perf_counter(), os.fork()
    if not number:
        _in_fork(act, None, on_end=lambda steps: os.write(write, str(steps).encode()))
    os.close(write)
    with open(read, "rb") as answer:
        steps = int(answer.read() or b"0")
    assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 0, "what is to be killed does not even run"
    return steps, time.perf_counter() - began


def kill_within(seconds: float, act: Callable[[], object], dice: random.Random) -> bool:
    """Do it in a fork that gets SIGKILL at a random moment of so many seconds; says whether that ended it."""
    number = os.fork()
    if not number:
        _in_fork(act, None)
    threading.Event().wait(seconds * dice.random())
    os.kill(number, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
    assert status in (0, -signal.SIGKILL), f"the fork ended with {status}"
    return status != 0


def _in_fork(
    act: Callable[[], object], last: int | None, *, on_end: Callable[[int], object] = lambda _: None
) -> NoReturn:
    steps, lock = 0, threading.Lock()

    def step(*_: object) -> None:
        nonlocal steps
        with lock:
            steps += 1
            if steps == last:
                os._exit(KILLED)

    connect, fsync = sqlite3.connect, os.fsync

    def traced_connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.set_trace_callback(step)
        return connection

    def counted_fsync(descriptor: int) -> None:
        step()
        fsync(descriptor)

    def counted(write: Callable[..., None]) -> Callable[..., None]:
        def counted_write(writer: asyncio.StreamWriter, data: Any) -> None:
            step()
            write(writer, data)

        return counted_write

    try:
        writer: Any = asyncio.StreamWriter
        writer.write, writer.writelines = counted(writer.write), counted(writer.writelines)
        sqlite3.connect, os.fsync = traced_connect, counted_fsync  # type: ignore[assignment]
        sys.addaudithook(lambda event, _: step() if event in EVENTS else None)
        act()
        on_end(steps)
        os._exit(0)
    except BaseException:  # noqa: BLE001  # a fork of a test must never run the rest of the tests
        traceback.print_exc()
        os._exit(1)
