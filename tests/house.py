"""What holds for every test: hypothesis profiles, a bound on async tests, and nothing left behind.

An async test runs under five seconds (`@pytest.mark.bound(20)` says otherwise; a busy machine gets longer,
see `dragoman.testing.pace`) and fails when a task it started is still alive at its end. A module fails when
a child process it started is still there, running or as a zombie. What fixtures started before the test
body counts as theirs.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import inspect
import os
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_timeout  # type: ignore[import-untyped]

# The asserts of a thousand modules are rewritten at each start, which takes as long as all else before the
# first test. What was rewritten is kept, also where nobody wants bytecode; programs of tests do as told.
sys.dont_write_bytecode = False

import hypothesis  # noqa: E402  its modules are among them
from hypothesis.internal import charmap  # noqa: E402
from hypothesis.internal.conjecture import providers  # noqa: E402
from hypothesis.internal.intervalsets import IntervalSet  # noqa: E402

from dragoman.testing.pace import deadline, pace  # noqa: E402
from tests import forks  # noqa: E402
from tests.boxes import folders_of_tests  # noqa: E402
from tests.fork_server import ForkServer  # noqa: E402
from tests.slow import mark_all_but_one  # noqa: E402

pace()  # opens what it reads before any test counts descriptors

BOUND = 5.0

HANG_FACTOR = 4.0
"""pytest-timeout ends the whole worker, and its clock knows no load: it is for hangs alone, and has time."""

# No deadlines, and no check how fast values are drawn: they measure the machine's load, not our code.
# pytest-timeout catches what hangs.
UNTIMED = hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.register_profile("dev", UNTIMED)
hypothesis.settings.register_profile("ci", UNTIMED, derandomize=True, database=None, max_examples=20)
hypothesis.settings.register_profile("thorough", UNTIMED, max_examples=2_000)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "dev")
hypothesis.settings.load_profile(PROFILE)

# Now and then hypothesis draws a constant that stands in our source. It reads all of it at the start, and
# goes through tens of thousands for each new strategy: among so many, few examples have one that matters.
if PROFILE == "ci":
    providers._get_local_constants = lambda: providers._local_constants

# In a fresh checkout each worker would find out what UTF-8 can say, character by character, for seconds.
UTF_8 = (IntervalSet([(0, 0xD7FF), (0xE000, sys.maxunicode)]), IntervalSet())
find_intervals = charmap.intervals_from_codec


def intervals_from_codec(codec: str) -> tuple[IntervalSet, IntervalSet]:
    return UTF_8 if codec == "utf-8" else find_intervals(codec)


charmap.intervals_from_codec = intervals_from_codec  # type: ignore[assignment]

# Each client of a model reads the certificates of all authorities, hundreds of times, and each start of node
# those that are added to its own. Nobody here speaks TLS.
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)
for name in ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"):
    os.environ.pop(name, None)

# Agents get the PATH of the login shell. Whatever the shell of whoever runs the tests does first is not
# ours to try.
os.environ["SHELL"] = "/bin/sh"

# What a shell starts in the background is deaf to SIGINT and SIGQUIT, and so are its children; some of ours
# must hear them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGQUIT") and signal.getsignal(signal.SIGQUIT) is signal.SIG_IGN:
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
# The same for `nohup` and the hangup: a handler, unlike deafness, is not inherited.
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda number, frame: None)


COUNTED = "counted"
"""`record_property(COUNTED, "812 cells of the gate")` in a test puts the line at the end of the run's log."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if name == COUNTED:
                terminalreporter.write_line(f"{value} ({report.nodeid.partition('::')[0]})")


def pytest_collection() -> None:
    """Almost nothing that collecting makes is garbage: looking for it takes a twelfth of the time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Thousands of tests are held until the end: nobody shall look through them, ever."""
    gc.freeze()
    gc.enable()


FIRST = (
    "web/test_serving.py",  # before the browser: beside one no loop of asyncio can run
    "web/",
    "test_docs.py",
    "hub/simulate/",  # needs no program: meanwhile the processes that fork for programs import them
    "requirements/test_frames.py",
    "agents/code/",
    "hub/explore/",
    "interop/",
    "cli/test_ending.py",
)
"""Files that take long, in the order in which they begin: at the end of a run the other workers would wait
for them. Those of `web` mostly wait for frames of a browser, while types are checked.
"""


@pytest.hookimpl(tryfirst=True)  # before slow tests are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_all_but_one(items)
    items.sort(key=lambda item: place_in_run(item.path))
    for item in items:
        if isinstance(item, pytest.Function):
            _guard(item)


@pytest.hookimpl(wrapper=True, tryfirst=True)  # before the workers fork
def pytest_runtestloop(session: pytest.Session) -> Generator[None, Any, Any]:
    """A run of many tests has processes that fork for the programs of all of them."""
    if sys.platform != "linux" or len(session.items) < forks.MANY:
        return (yield)
    servers = [
        ForkServer(*forks.MODULES, address=forks.ADDRESS),
        ForkServer(*forks.MODULES, *forks.LARGE_MODULES, address=forks.ADDRESS + forks.LARGE),
    ]
    forks.has_servers = True
    try:
        return (yield)
    finally:
        forks.has_servers = False
        for server in servers:
            server.close()


@functools.cache
def place_in_run(path: Path) -> int:
    """The lower it is, the earlier the tests of the file begin."""
    homes = (folder for folder in folders_of_tests().values() if path.is_relative_to(folder))
    name = path.relative_to(next(homes, path)).as_posix()
    return next((place for place, start in enumerate(FIRST) if name.startswith(start)), len(FIRST))


class Watchdog:
    """One thread for the time limits of all tests, instead of a thread for each of them.

    pytest-timeout starts and joins a thread around every test, which costs half a millisecond of processor
    time, and on a busy machine the wait for a processor at each hand-over. This one looks every `look_every`
    seconds, and nobody waits for it.
    """

    def __init__(self, *, look_every: float = 1.0) -> None:
        self._look_every = look_every
        self._thread: threading.Thread | None = None
        self._current: tuple[pytest.Item, pytest_timeout.Settings, float] | None = None

    @pytest.hookimpl
    def pytest_timeout_set_timer(self, item: pytest.Item, settings: pytest_timeout.Settings) -> bool:
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, daemon=True, name="watchdog")
            self._thread.start()
        self._current = (item, settings, time.monotonic())
        return True

    @pytest.hookimpl
    def pytest_timeout_cancel_timer(self) -> bool:
        self._current = None
        return True

    def _watch(self) -> None:
        while True:
            time.sleep(self._look_every)
            if (current := self._current) is None:
                continue
            item, settings, began = current
            # The load may have come after the test began.
            if time.monotonic() - began >= settings.timeout * max(HANG_FACTOR, pace()):
                pytest_timeout.timeout_timer(item, settings)  # ends the process, unless somebody debugs


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Watchdog(), "dragoman-watchdog")


def _guard(item: pytest.Function) -> None:
    marker = item.get_closest_marker("bound")
    seconds = float(marker.args[0]) if marker else BOUND
    # Hypothesis calls the inner function once an example, and all parameters of a test share it.
    inner = getattr(getattr(item.obj, "hypothesis", None), "inner_test", None)
    if inspect.iscoroutinefunction(inner):
        if not hasattr(inner, "guarded"):
            item.obj.hypothesis.inner_test = guarded(inner, seconds=seconds)
    elif inspect.iscoroutinefunction(item.obj):
        item.obj = guarded(item.obj, seconds=seconds)


def guarded(
    body: Callable[..., Awaitable[None]], *, seconds: float
) -> Callable[..., Coroutine[Any, Any, None]]:
    """The same test, bounded in time and checked for tasks that outlive it."""

    @functools.wraps(body)
    async def run(*args: object, **kwargs: object) -> None:
        before = asyncio.all_tasks()
        try:
            async with deadline(seconds):
                await body(*args, **kwargs)
        finally:
            left = await _cancel(await _without_generators(asyncio.all_tasks() - before))
        if left:
            pytest.fail(f"tasks left behind: {', '.join(left)}", pytrace=False)

    run.guarded = True  # type: ignore[attr-defined]
    return run


async def _without_generators(tasks: set[asyncio.Task[Any]]) -> set[asyncio.Task[Any]]:
    """The tasks but for those in which asyncio itself closes a generator that somebody has just let go of:
    they have no coroutine of anybody's, and are waited for.
    """
    closing = {task for task in tasks if not hasattr(task.get_coro(), "__qualname__")}
    open_tasks: set[asyncio.Task[Any]] = set()
    if closing:
        _, open_tasks = await asyncio.wait(closing, timeout=1)
    return (tasks - closing) | open_tasks


async def _cancel(tasks: set[asyncio.Task[Any]]) -> list[str]:
    """End what is left, so that one test's leak is not the next test's, and name it."""
    names = sorted(f"{task.get_name()} ({getattr(task.get_coro(), '__qualname__', '?')})" for task in tasks)
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=1)
    return names


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """A command in the test's own process ignores SIGINT at its end. Later children would inherit that."""
    before = signal.getsignal(signal.SIGINT)
    try:
        return (yield)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True, scope="module")
def no_child_left_behind() -> Iterator[None]:
    before = children()
    yield
    left = {pid: name for pid, name in children().items() if pid not in before}
    if left:
        pytest.fail(f"child processes left behind: {left}", pytrace=False)


def children() -> dict[int, str]:
    """Our direct children with their command lines; empty where there is no /proc."""
    pids: set[int] = set()
    for listing in Path("/proc/self/task").glob("*/children"):
        try:
            pids.update(map(int, listing.read_text().split()))
        except OSError:  # the thread ended while we looked
            continue
    return {pid: _command(pid) for pid in pids}


def _command(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:  # it ended while we looked
        return "gone"
    return words.strip() or "ended, not reaped"
