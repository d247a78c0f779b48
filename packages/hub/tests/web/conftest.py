"""A real hub behind a wire that can be cut, a real browser, and pages that remember their complaints."""

from __future__ import annotations

import inspect
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from dragoman.testing.pace import patience
from dragoman_hub.gate.grants_store import TokenStore
from tests import forks
from tests.agent_shelf import archive_entry, keep_list
from tests.browser import launch, open_driver
from tests.house import children
from tests.subagents.family import arguments
from tests.web.page_sight import go, shows_session
from tests.web.random_scrolls import say

AGENT = Path(__file__).parent / "guide.script"
STEERABLE = Path(__file__).parents[4] / "tests/steerable_agent.py"
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 800}
BROWSING = {"viewport": DESK, "accept_downloads": True, "reduced_motion": "reduce"}
PICTURES = Path(__file__).parents[4] / "docs" / "pictures" if os.environ.get("DRAGOMAN_PICTURES") else None
"""`DRAGOMAN_PICTURES=1 pytest packages/hub/tests/web` draws the pictures of the documentation anew."""

SECONDS = 60_000
"""How long anything may take on a machine that has other things to do, in milliseconds."""


class Wire:
    """A way to the hub that can be cut and mended: every byte goes through here."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.target = 0
        self.is_cut = False
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def _start(self, work: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                if self.is_cut:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self.target))
                self._open |= {near, far}
            self._start(self._join, near, far)

    def _join(self, near: socket.socket, far: socket.socket) -> None:
        with near, far:
            back = threading.Thread(target=self._carry, args=(far, near), daemon=True)
            back.start()
            self._carry(near, far)
            back.join()
            with self._lock:
                self._open -= {near, far}

    def _carry(self, source: socket.socket, to: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                to.sendall(data)
        except OSError:
            pass
        for end in (source, to):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # the other half was faster

    def cut(self) -> None:
        with self._lock:
            self.is_cut = True
            for end in self._open:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            self._open.clear()

    def mend(self) -> None:
        self.is_cut = False

    def close(self) -> None:
        self.cut()
        with closing(self._listener):
            self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)


class HubStarts:
    """The processes of one hub, each after the one before it, where the wire leads."""

    def __init__(self, folder: Path, wire: Wire, env: dict[str, str], command: list[str]) -> None:
        self._folder = folder
        self._wire = wire
        self._env = env
        self._command = [*command, "--listen", "127.0.0.1:0"]
        self._processes: list[Any] = []

    def start(self) -> str:
        """Its address, without the wire."""
        with open(self._folder / "log", "ab") as log:
            process = forks.start(self._command, cwd=Path.cwd(), env=self._env, stderr=log.fileno())
        self._processes.append(process)
        told = forks.first_line(process, self._folder / "log")
        direct = str(json.loads(told)["page"].partition("#")[0])
        self._wire.target = int(direct.rstrip("/").rpartition(":")[2])
        return direct

    def kill(self) -> None:
        """At once, as a system does that is out of memory."""
        self._wire.cut()
        self._processes[-1].kill()
        self._processes[-1].wait(patience(30))

    def restart(self) -> None:
        self.start()
        self._wire.mend()

    def close(self) -> None:
        last = self._processes[-1]
        last.send_signal(signal.SIGTERM)  # no turn is left, so it ends at once, and its agents with it
        try:
            last.wait(patience(30))
        finally:
            last.kill()
        for process in self._processes:
            process.stdout.close()


@dataclass
class RunningHub:
    """`url` leads through the wire, `direct` does not."""

    url: str
    direct: str
    token: str
    wire: Wire
    folder: Path
    watcher: str
    """A token that is good for watching only."""
    starts: HubStarts


@contextmanager
def running_hub(
    folder: Path, *more_agents: str, wire: Wire | None = None, settings: str = "", shelf: bool = False
) -> Iterator[RunningHub]:
    """A hub of its own whose files lie in a folder, with three agents; more of the first by their names.
    `settings` are further lines of its configuration. With a `shelf`, agents can be added to it: one that
    works, one whose archive is damaged, and one whose archive never comes.
    """
    wire = wire or Wire()
    agent = [*forks.DRAGOMAN, "agent", "script", str(AGENT)]
    steerable = forks.forked([sys.executable, str(STEERABLE), "steering"])
    (folder / "hub.toml").write_text(
        f'hosts = ["127.0.0.1:{wire.port}"]\njournal = "{folder}/hub.db"\n'
        f'default_agent = "guide"\nknown_agents = {json.dumps(shelf)}\n{settings}\n'
        f'[agents.guide]\ncommand = {json.dumps(agent)}\ntitle = "Guide"\ndescription = "Shows everything"\n'
        f"[agents.family]\ncommand = {json.dumps(arguments('claude'))}\n"
        f"[agents.steerable]\ncommand = {json.dumps(steerable)}\n"
        "[push]\nprivate = true\n"  # the push service of the tests is on this machine
    )
    with open(folder / "hub.toml", "a", encoding="utf-8") as config:
        config.writelines(f"[agents.{name}]\ncommand = {json.dumps(agent)}\n" for name in more_agents)
    if shelf:
        stock_shelf(folder)
    tokens = TokenStore(folder / "tokens.json")
    owner, watcher = tokens.add("owner"), tokens.add("watcher", scopes=["observe"])
    homes = {f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("DATA", "CONFIG", "STATE", "CACHE")}
    command = [sys.executable, "-m", "dragoman", "hub", "--config", str(folder / "hub.toml"), "--json"]
    starts = HubStarts(folder, wire, {**os.environ, **homes}, command)
    try:
        direct = starts.start()
        (folder / "work").mkdir()
        url = f"http://127.0.0.1:{wire.port}/"
        yield RunningHub(url, direct, owner, wire, folder / "work", watcher, starts)
    finally:
        wire.cut()  # a browser may be there for longer than its hub
        starts.close()
        wire.close()


def stock_shelf(folder: Path) -> None:
    """Agents that the hub of this folder can install without a network."""
    entries = [
        archive_entry(folder, "tiny", description="Says what it was told", website="https://tiny.example/"),
        archive_entry(folder, "damaged", sha256="0" * 64),
        archive_entry(folder, "slow"),
    ]
    (folder / "slow-1.0.0.tar.gz").unlink()
    os.mkfifo(folder / "slow-1.0.0.tar.gz")
    keep_list(folder / "data" / "dragoman", folder, entries)


@dataclass
class Visitor:
    """Somebody with a browser of their own: pages they open, and what those complained about."""

    context: Any
    hub: RunningHub
    complaints: list[str] = field(default_factory=list)

    def open(
        self,
        *,
        url: str | None = None,
        viewport: dict[str, int] = DESK,
        signed_in: bool = True,
        token: str = "",
    ) -> Any:
        page = self.context.new_page()
        page.set_viewport_size(viewport)
        page.set_default_timeout(patience(SECONDS))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._console)
        page.goto((url or self.hub.url) + (f"#token={token or self.hub.token}" if signed_in else ""))
        if signed_in:
            page.wait_for_selector(".app[data-health=live]")
        return page

    def start(self, folder: Path | None = None, *, agent: str = "", viewport: dict[str, int] = DESK) -> Any:
        """A page with a new session, which the hub was asked for without a page; `start_session` clicks."""
        session = say(self.hub.direct, self.hub.token, folder or self.hub.folder, [], agent=agent)
        return self.read(session, viewport=viewport)

    def read(self, session: str, *, viewport: dict[str, int] = DESK) -> Any:
        """A page with this session, which is opened by its address."""
        page = self.open(viewport=viewport)
        go(page, f"#/s/{session}")
        page.wait_for_selector(".composer textarea:enabled")
        return page

    def _console(self, message: Any) -> None:
        # A cut connection and a wrong token are what some tests are about, and a browser says so by itself.
        expected = ("net::ERR_", "WebSocket connection to", "status of 401", "status of 410")
        if message.type == "error" and not any(words in message.text for words in expected):
            self.complaints.append(message.text)


class SharedParts:
    """The hub and the browsers that a worker starts once for several files: starting them costs more than
    most of the tests do.
    """

    def __init__(self) -> None:
        self._parts: dict[str, Any] = {}
        self._stack = ExitStack()
        self.processes: set[int] = set()

    def get(self, name: str, start: Callable[[], AbstractContextManager[Any]]) -> Any:
        """The part of this name; it is started when it is wanted first."""
        if name not in self._parts:
            before = children()
            self._parts[name] = self._stack.enter_context(start())
            self.processes |= children().keys() - before.keys()
        return self._parts[name]

    def browser(self, *, is_whole: bool = False) -> Any:
        driver = self.get("driver", open_driver)
        name = "whole browser" if is_whole else "browser"
        return self.get(name, lambda: launch(driver, is_whole=is_whole))

    def close(self) -> None:
        self._parts.clear()
        self._stack.close()
        left = {pid: name for pid, name in children().items() if pid in self.processes}
        self.processes.clear()
        if left:
            pytest.fail(f"child processes left behind: {left}", pytrace=False)


SHARED = SharedParts()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """What is shared ends with the tests of this folder, and before a test with a loop of asyncio: beside an
    open browser none can run.
    """
    is_near = nextitem is not None and nextitem.path.parent == Path(__file__).parent
    if not is_near or inspect.iscoroutinefunction(getattr(nextitem, "obj", None)):
        SHARED.close()


@pytest.fixture(autouse=True, scope="module")
def no_child_left_behind() -> Iterator[None]:
    """As everywhere; what is shared stays for the next file."""
    before = children()
    yield
    left = {
        pid: name for pid, name in children().items() if pid not in before and pid not in SHARED.processes
    }
    if left:
        pytest.fail(f"child processes left behind: {left}", pytrace=False)


@pytest.fixture(scope="session")
def shared() -> Iterator[SharedParts]:
    yield SHARED
    SHARED.close()  # when the run was stopped between two tests


@pytest.fixture(scope="module")
def browser(shared: SharedParts) -> Any:
    return shared.browser()


@pytest.fixture(scope="module")
def hub(
    shared: SharedParts, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> RunningHub:
    """The hub that files share, with a folder for this file. Sessions of other files are on it too."""
    one: RunningHub = shared.get("hub", lambda: running_hub(tmp_path_factory.mktemp("hub")))
    folder = one.folder / request.path.stem
    folder.mkdir()
    return replace(one, folder=folder)


@pytest.fixture
def visitor(shared: SharedParts, browser: Any, hub: RunningHub) -> Iterator[Visitor]:
    """Somebody whose browser has been here before: it keeps the token and the page."""
    context = shared.get("context", lambda: closing(browser.new_context(**BROWSING)))
    one = Visitor(context, hub)
    yield one
    for page in context.pages:
        page.close()
    hub.wire.mend()
    assert one.complaints == []


@pytest.fixture
def stranger(browser: Any, hub: RunningHub) -> Iterator[Visitor]:
    """Somebody with a new browser: nothing is kept in it, and nobody has signed in."""
    with closing(browser.new_context(**BROWSING)) as context:
        one = Visitor(context, hub)
        yield one
    hub.wire.mend()
    assert one.complaints == []


def start_session(page: Any, folder: Path, *, agent: str = "") -> None:
    page.click("button[aria-label='New session']")
    page.fill("#new-cwd", str(folder))
    if agent:
        page.check(f"dialog input[value='{agent}']", force=True)
    before = page.evaluate("location.hash")
    page.click("dialog button[type=submit]")
    page.wait_for_function("before => location.hash !== before", arg=before)
    shows_session(page)
    page.wait_for_selector(".composer textarea:enabled")


def send(page: Any, text: str) -> None:
    page.fill(".composer textarea", text)
    page.press(".composer textarea", "Enter")


def draw(page: Any, name: str) -> None:
    """A picture for the documentation, when one was asked for."""
    if PICTURES is not None:
        PICTURES.mkdir(exist_ok=True)
        page.screenshot(path=PICTURES / f"{name}.png")
