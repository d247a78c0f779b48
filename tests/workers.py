"""Runs tests in several processes that share one collection: `pytest -p tests.workers --workers 3`.

The tests are collected once. Then workers fork off, which saves each of them the imports and the collection.
A worker takes one file after the other, in the order of the run, and a file's tests stay in one worker, like
those of a folder whose files share what they start. The controller runs no test; it tells pytest what the
workers report, as if it had run the tests itself. A worker that dies costs the test that it ran, which has
failed, and another worker goes on with the rest of the file.

A worker has its own folder below the folder of the run, and `PYTEST_WORKER` in its environment.
"""

from __future__ import annotations

import atexit
import os
import random
import signal
import struct
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import pytest
from _pytest import tmpdir

WORKER = "PYTEST_WORKER"
"""The variable that names the worker to its tests and their programs."""

REPORTING = ("terminalreporter", "lfplugin", "nfplugin", "junitxml", "dragoman-progress")
"""Plugins that are for the controller alone."""

TOGETHER = ("web", "vscode")
"""Folders whose files share a hub and a browser, or a build of the extension."""

SHARING = {"test_boxes.py": "test_layers.py", "test_budget.py": "test_layers.py"}
"""Files that need what another one has read, which takes seconds: all modules as Python."""

NUMBER = struct.Struct("=i")

Items: TypeAlias = list[pytest.Item]
Message: TypeAlias = tuple[str, Any]
"""`file` and its number, `start` and `finish` with the test's id, `report` with the report."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=1, help="processes that share the tests (1: this one)")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    options = session.config.option
    if options.workers < 2 or options.collectonly or session.testsfailed or not hasattr(os, "fork"):
        return None  # pytest's own loop
    Controller(session, options.workers).run()
    return True


def whole_of(file: Path) -> Path:
    """What one worker takes at once: the file, or its folder if a worker starts something for all of it, or
    the file whose work it shares.
    """
    return file.parent if file.parent.name in TOGETHER else file.with_name(SHARING.get(file.name, file.name))


def folder_of_run(base: Path) -> Path:
    """The folder that the workers of a run share, for pytest's base folder of one of them."""
    return base.parent if WORKER in os.environ else base


class Controller:
    """Starts the workers, tells pytest what they report, and replaces one that dies."""

    def __init__(self, session: pytest.Session, count: int) -> None:
        self._session = session
        files: dict[Path, Items] = {}
        # pytest may put the tests of a file apart, by the fixtures that they share
        for item in session.items:
            files.setdefault(whole_of(item.path), []).append(item)
        self._files = list(files.values())
        self._count = min(count, len(self._files))
        self._workers: dict[Connection, WorkerState] = {}
        self._started = 0
        self._queue, self._feed = os.pipe()
        self._folder = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]

    def run(self) -> None:
        """Until every test has been run, or pytest wants to stop."""
        # A pipe is the queue: whoever reads a number has the file. All of them fit into its buffer.
        os.write(self._feed, b"".join(map(NUMBER.pack, range(len(self._files)))))
        os.close(self._feed)
        try:
            for _ in range(self._count):
                self._start([])
            while self._workers:
                for connection in wait(list(self._workers)):
                    assert isinstance(connection, Connection)
                    self._receive(connection)
                if self._session.shouldfail:
                    raise self._session.Failed(self._session.shouldfail)
                if self._session.shouldstop:
                    raise self._session.Interrupted(self._session.shouldstop)
            assert not os.read(self._queue, NUMBER.size), "no worker has taken the last files"
        finally:
            os.close(self._queue)
            self._end()

    def _start(self, first: Items) -> None:
        """A worker that runs these tests, then files of the queue."""
        name = f"worker{self._started}"
        self._started += 1
        reader, writer = Pipe(duplex=False)
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            reader.close()
            for connection in self._workers:
                connection.close()
            work(self._session, name, self._folder, chain(first, self._take_files(writer)), writer)
        writer.close()
        self._workers[reader] = WorkerState(name, pid, first)

    def _take_files(self, writer: Connection) -> Iterator[Items]:
        """In a worker: its files, each asked for when the one before has a single test left."""
        while number := os.read(self._queue, NUMBER.size):
            (index,) = NUMBER.unpack(number)
            writer.send([("file", index)])
            yield self._files[index]

    def _receive(self, connection: Connection) -> None:
        worker = self._workers[connection]
        try:
            messages = connection.recv()
        except (EOFError, OSError):
            self._on_end(connection, worker)
            return
        for name, value in messages:
            self._on_message(worker, name, value)

    def _on_message(self, worker: WorkerState, name: str, value: Any) -> None:
        hook = self._session.config.hook
        if name == "file":
            worker.items += self._files[value]
        elif name == "start":
            worker.on_start(value)
            hook.pytest_runtest_logstart(nodeid=worker.current.nodeid, location=worker.current.location)
        elif name == "report":
            report = hook.pytest_report_from_serializable(config=self._session.config, data=value)
            hook.pytest_runtest_logreport(report=report)
        else:
            hook.pytest_runtest_logfinish(nodeid=worker.current.nodeid, location=worker.current.location)
            worker.on_finish()

    def _on_end(self, connection: Connection, worker: WorkerState) -> None:
        """All is well if it has nothing left to do."""
        connection.close()
        del self._workers[connection]
        code = os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1])
        rest = worker.items
        if worker.is_running:
            item, *rest = rest
            hook = self._session.config.hook
            text = f"{worker.name} ended with status {code} in the middle of this test"
            report = pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")
            hook.pytest_runtest_logreport(report=report)
            hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        elif code:
            self._session.shouldfail = f"{worker.name} ended with status {code}"
        if rest and not self._session.shouldfail:
            self._start(rest)

    def _end(self) -> None:
        """Workers that still run: the run was stopped. They end what their fixtures have started."""
        for worker in self._workers.values():
            os.kill(worker.pid, signal.SIGINT)
        for connection, worker in self._workers.items():
            connection.close()
            os.waitpid(worker.pid, 0)


class WorkerState:
    """What the controller knows of a worker: the tests that it has yet to end, and whether one is running."""

    def __init__(self, name: str, pid: int, items: Items) -> None:
        self.name = name
        self.pid = pid
        self.items = list(items)
        self.is_running = False

    @property
    def current(self) -> pytest.Item:
        return self.items[0]

    def on_start(self, nodeid: str) -> None:
        assert nodeid == self.current.nodeid
        self.is_running = True

    def on_finish(self) -> None:
        self.is_running = False
        del self.items[0]


class Sender:
    """The plugin that stands for the terminal in a worker.

    What it has to say waits for the start of the next test, unless a test has failed: messages cost time.
    """

    def __init__(self, config: pytest.Config, send: Callable[[list[Message]], None]) -> None:
        self._config = config
        self._send = send
        self._messages: list[Message] = []

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._messages.append(("start", nodeid))
        self.flush()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """How the body went, and all that did not pass: nobody asks whether a fixture went well."""
        if report.outcome != "passed" or report.when == "call":
            hook = self._config.hook
            data = hook.pytest_report_to_serializable(config=self._config, report=report)
            self._messages.append(("report", data))
        if report.failed:
            self.flush()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._messages.append(("finish", nodeid))

    def flush(self) -> None:
        self._send(self._messages)
        self._messages = []


def chain(first: Items, files: Iterator[Items]) -> Iterator[pytest.Item]:
    yield from first
    for items in files:
        yield from items


def work(
    session: pytest.Session, name: str, folder: Path, items: Iterator[pytest.Item], writer: Connection
) -> NoReturn:
    """The whole life of a worker."""
    status = 1
    try:
        sender = Sender(session.config, writer.send)
        _prepare(session, name, folder, sender)
        _run(session, items)
        sender.flush()
        status = 0
    except KeyboardInterrupt:
        session._setupstate.teardown_exact(None)
    except BaseException:  # noqa: BLE001  a process that forked off has nobody above it
        traceback.print_exc()
    finally:
        # No exit of an interpreter: what the controller has opened and registered is the controller's.
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _prepare(session: pytest.Session, name: str, folder: Path, sender: Sender) -> None:
    config = session.config
    atexit._clear()
    random.seed()
    os.environ[WORKER] = name
    (folder / name).mkdir()
    config._tmp_path_factory._basetemp = folder / name  # type: ignore[attr-defined]
    tmpdir.make_numbered_dir = FolderMaker().make  # type: ignore[attr-defined]
    plugins = config.pluginmanager
    for plugin in filter(plugins.has_plugin, REPORTING):
        plugins.unregister(name=plugin)
    plugins.register(sender, "dragoman-sender")
    if (capture := plugins.getplugin("capturemanager")) is not None:
        capture.stop_global_capturing()  # its files are shared with the controller and the other workers
        capture.start_global_capturing()
        capture.suspend_global_capture()


class FolderMaker:
    """Makes the folders of tests. pytest reads the names of all folders before it makes one more, which takes
    milliseconds once there are thousands.
    """

    def __init__(self) -> None:
        self._counts: Counter[Path] = Counter()

    def make(self, root: Path, prefix: str, mode: int = 0o700) -> Path:
        """A new folder; the first one ends with a zero."""
        start = root / prefix
        while True:
            found = root / f"{prefix}{self._counts[start]}"
            self._counts[start] += 1
            try:
                found.mkdir(mode=mode)
                return found
            except FileExistsError:  # a test has made it
                continue


def _run(session: pytest.Session, items: Iterator[pytest.Item]) -> None:
    """Each with its successor, for which fixtures may be kept."""
    item = next(items, None)
    while item is not None:
        following = next(items, None)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail or session.shouldstop:
            session._setupstate.teardown_exact(None)
            break
        item = following
