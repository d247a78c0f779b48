"""Real NATS servers for tests: one or three, on free ports, killed, paused, started again, and ended whatever
happens.

    with started(tmp_path, count=3) as servers:
        servers.url, servers.kill(0), servers.start(0), servers.leader("STREAM")

All of it is plain blocking code, because a fixture of a module has no loop; in a coroutine, what waits is
called by `asyncio.to_thread`. A `Place` puts a server into a network namespace. Nothing here knows what is
stored.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.testing.pace import patience
from tests.ports import KeptPort

READY_SECONDS = 40.0
"""A loaded machine is slow; who waits longer waits for nothing."""

TRIES = 3
"""Another test may take a port between our look and the server's."""


@dataclass(frozen=True)
class Place:
    """Where a server runs: the address that it listens on, and the words before its command, such as
    `("ip", "netns", "exec", "one")`.
    """

    host: str = "127.0.0.1"
    prefix: tuple[str, ...] = ()


def binary() -> str:
    """The server of this environment, or the one on the path."""
    beside = Path(sys.executable).with_name("nats-server")
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    if found is None:
        raise FileNotFoundError("no nats-server: it is part of the development environment")
    return found


@dataclass
class Server:
    """One server and its process, which can be ended and begun again with the same ports and store."""

    name: str
    folder: Path
    place: Place
    port: int
    route: int
    monitor: int
    kept_ports: Sequence[KeptPort] = field(repr=False)
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def ask(self, path: str) -> Any:
        """What the server says about itself."""
        address = f"http://{self.place.host}:{self.monitor}{path}"
        with urllib.request.urlopen(address, timeout=patience(5)) as answer:
            return json.load(answer)

    def begin(self) -> None:
        command = [*_dying_with_us(), *self.place.prefix, binary(), "-c", str(self.folder / "server.conf")]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def end(self, number: int) -> None:
        if self.process is not None:
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGCONT)
                self.process.send_signal(number)
            self.process.wait()
            self.process = None


class Servers:
    """What was started. Servers are named n1, n2, …; a number here counts from 0."""

    def __init__(self, servers: Sequence[Server], *, scheme: str = "nats") -> None:
        self.all = list(servers)
        self.scheme = scheme

    @property
    def hosts(self) -> str:
        """`host:port,host:port`, to put a user before and a path behind."""
        return ",".join(f"{one.place.host}:{one.port}" for one in self.all)

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.hosts}"

    def start(self, number: int, *, wait: bool = True) -> None:
        self.all[number].begin()
        if wait:
            self.wait_ready([number])

    def kill(self, number: int) -> None:
        """As power would go."""
        self.all[number].end(signal.SIGKILL)

    def stop(self, number: int) -> None:
        """As an administrator would do it: leaders step down first."""
        self.all[number].end(signal.SIGTERM)

    def retire(self, number: int) -> None:
        """As an administrator would do it with care: all leads are given up before anything ends."""
        server = self.all[number]
        assert server.process is not None
        server.process.send_signal(signal.SIGUSR2)
        until = time.monotonic() + patience(READY_SECONDS)
        while self._leads(server) and time.monotonic() < until:
            time.sleep(0.02)
        server.end(signal.SIGTERM)

    def pause(self, number: int) -> None:
        process = self.all[number].process
        assert process is not None
        process.send_signal(signal.SIGSTOP)

    def wake(self, number: int) -> None:
        process = self.all[number].process
        assert process is not None
        process.send_signal(signal.SIGCONT)

    def leader(self, stream: str) -> int | None:
        """The number of the server that leads a stream of any account; None while nobody does."""
        for number, server in enumerate(self.all):
            try:
                said = server.ask("/jsz?accounts=true&streams=true")
            except OSError:
                continue
            for account in said.get("account_details", ()):
                for detail in account.get("stream_detail", ()):
                    leader = detail.get("cluster", {}).get("leader", "")
                    if detail["name"] == stream and leader == server.name:
                        return number
        return None

    def _leads(self, server: Server) -> bool:
        try:
            said = server.ask("/jsz?accounts=true&streams=true")
        except OSError:
            return False
        accounts = said.get("account_details", ())
        details = [detail for account in accounts for detail in account.get("stream_detail", ())]
        return any(detail.get("cluster", {}).get("leader") == server.name for detail in details)

    def wait_ready(self, numbers: Sequence[int]) -> None:
        """Until these can store something: they are well, and the cluster has a leader."""
        until = time.monotonic() + patience(READY_SECONDS)
        for number in numbers:
            while not self._is_ready(self.all[number]):
                if time.monotonic() > until:
                    raise TimeoutError(f"{self.all[number].name} is not ready:\n{self.log(number)}")
                time.sleep(0.03)

    def log(self, number: int) -> str:
        """The last lines that a server has written."""
        lines = (self.all[number].folder / "log").read_text(errors="replace").splitlines()
        return "\n".join(lines[-40:])

    def close(self) -> None:
        for server in self.all:
            server.end(signal.SIGKILL)

    def _is_met(self, server: Server) -> bool:
        """Whether the cluster has a leader, and the leader knows every server that runs."""
        name = server.ask("/jsz")["meta_cluster"].get("leader")
        leaders = [one for one in self.all if one.name == name and one.running]
        if not leaders:
            return False
        others = leaders[0].ask("/jsz")["meta_cluster"].get("replicas", [])
        online = {one["name"] for one in others if not one.get("offline") and one.get("current")}
        return {one.name for one in self.all if one.running} <= online | {name}

    def _is_ready(self, server: Server) -> bool:
        if not server.running:
            raise ChildProcessError(f"{server.name} ended")
        try:
            if server.ask("/healthz")["status"] != "ok":
                return False
            return len(self.all) == 1 or self._is_met(server)
        except (OSError, KeyError, ValueError):
            return False


@contextmanager
def started(
    folder: Path,
    *,
    count: int = 1,
    places: Sequence[Place] = (),
    sync: str = "",
    more: str = "",
    scheme: str = "nats",
) -> Iterator[Servers]:
    """Start `count` servers with stores below `folder`. `sync` is the store's `sync_interval` (a cluster
    syncs always unless told otherwise), `more` is added to each one's configuration.
    """
    places = places or [Place()] * count
    servers = _started_once(folder, places, sync=sync or ("always" if count > 1 else ""), more=more)
    servers.scheme = scheme
    try:
        yield servers
    finally:
        servers.close()


def _started_once(folder: Path, places: Sequence[Place], *, sync: str, more: str) -> Servers:
    for attempt in range(TRIES):
        servers = Servers([_configured(folder / f"{attempt}", n, place) for n, place in enumerate(places, 1)])
        for server in servers.all:
            _write_config(server, servers, sync=sync, more=more)
        try:
            for server in servers.all:
                server.begin()
            servers.wait_ready(range(len(servers.all)))
        except ChildProcessError:
            logs = "\n".join(servers.log(number) for number in range(len(servers.all)))
            servers.close()
            if attempt == TRIES - 1 or "address already in use" not in logs:
                raise ChildProcessError(logs) from None
        except BaseException:
            servers.close()
            raise
        else:
            return servers
    raise AssertionError("unreachable")


def _configured(folder: Path, number: int, place: Place) -> Server:
    home = folder / f"n{number}"
    home.mkdir(parents=True)
    kept_ports = [KeptPort(place.host) for _ in range(3)]
    port, route, monitor = (kept_port.number for kept_port in kept_ports)
    return Server(f"n{number}", home, place, port, route, monitor, kept_ports)


def _write_config(server: Server, servers: Servers, *, sync: str, more: str) -> None:
    host = server.place.host
    lines = [
        f"server_name: {server.name}",
        f'listen: "{host}:{server.port}"',
        f'http: "{host}:{server.monitor}"',
        "jetstream {",
        f'  store_dir: "{server.folder}/store"',
        "  max_memory_store: 64MB",
        "  max_file_store: 4GB",
        *([f"  sync_interval: {sync}"] if sync else []),
        "}",
    ]
    if len(servers.all) > 1:
        routes = ", ".join(f'"nats-route://{one.place.host}:{one.route}"' for one in servers.all)
        lines += ["cluster {", "  name: test", f'  listen: "{host}:{server.route}"']
        lines += [f"  routes: [{routes}]", "}"]
    (server.folder / "server.conf").write_text("\n".join([*lines, more, ""]))


def _dying_with_us() -> list[str]:
    """A test run that is killed takes its servers along, where the system has a word for it."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []
