"""A real endpoint on a real port, in a thread of its own for the length of a module, and its agent.

The agent does what the first word of a prompt says: `count N` says N numbers, `flood` says 64 MiB, `wait`
waits until it is cancelled, `ask` asks for permission, anything else is said back.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dragoman import Agent, Turn
from dragoman.sdk.serve import serving
from dragoman.testing.pace import deadline
from dragoman.transport.http_server import Bounds
from dragoman.transport.messages import MessageTransport
from dragoman_hub.api.endpoint import AcpEndpoint, Visit
from dragoman_hub.api.listener import Keepalive, open_listener, open_socket
from dragoman_hub.gate.admission import Admission, Grant, hash_token, local_hosts, new_token
from dragoman_local.workspace.kernel import free_large_blocks

MEBIBYTE = 1024 * 1024
BLOCK = "x" * 65536
DEADLINE = 15.0
"""Seconds for what must happen at some time; nothing here depends on how soon it does."""


class Stage:
    """What the tests see of it, from their own threads."""

    kind = "serve"

    def __init__(self, *, bounds: Bounds | None = None, keepalive: Keepalive | None = None) -> None:
        self.token, self.other_token, self.narrow_token = new_token(), new_token(), new_token()
        self.port = 0
        self.address = ""
        self.said = 0  # bytes, by `flood`
        self.ended = threading.Event()  # a turn that waited or flooded has ended
        self.accepted = 0
        self._bounds = bounds
        self._keepalive = keepalive
        self._ready = threading.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    @property
    def headers(self) -> dict[str, str]:
        return {"host": f"127.0.0.1:{self.port}", "authorization": f"Bearer {self.token}"}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/acp"

    @property
    def running(self) -> int:
        """Connections whose agents are not gone yet."""
        return len(self._tasks)

    def start(self) -> None:
        free_large_blocks()  # as the process of a hub does; what C keeps is not what the hub holds
        self._thread.start()
        assert self._ready.wait(DEADLINE)

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive()

    def end_agents(self) -> None:
        self._loop.call_soon_threadsafe(lambda: [task.cancel() for task in self._tasks])

    async def _run(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        bound = open_socket("127.0.0.1", 0, tls=None, insecure=False)
        self.address, self.port = bound.getsockname()[:2]
        grants = {hash_token(self.token): Grant("one"), hash_token(self.other_token): Grant("other")}
        endpoint = AcpEndpoint(
            Admission(grants, hosts=local_hosts(self.port)), self._accept, bounds=self._bounds
        )
        async with open_listener(endpoint, bound, keepalive=self._keepalive):
            self._ready.set()
            await self._stopping.wait()
            endpoint.leave()
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks)

    def _accept(self, transport: MessageTransport, visit: Visit) -> None:
        self.accepted += 1
        task = asyncio.create_task(self._serve(transport))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, transport: MessageTransport) -> None:
        async with serving(self._agent(), transport) as link:
            await link.wait_ended()

    def _agent(self) -> Agent:
        agent = Agent("stage")

        @agent.prompt
        async def reply(turn: Turn) -> None:
            order, _, rest = turn.text.partition(" ")
            try:
                await self._obey(turn, order, rest)
            finally:
                if order in ("wait", "flood"):
                    self.ended.set()

        return agent

    async def _obey(self, turn: Turn, order: str, rest: str) -> None:
        if order == "count":
            for number in range(int(rest)):
                await turn.say(f"{number} ")
        elif order == "flood":
            for _ in range(1024):
                await turn.say(BLOCK)
                self.said += len(BLOCK)
        elif order == "wait":
            await turn.say("waiting")
            await asyncio.Event().wait()
        elif order == "ask":
            async with turn.tool("look", kind="read") as call:
                await turn.say(f"you said {bool(await call.ask())}")
        else:
            await turn.say(turn.text)


@contextmanager
def staged(
    like: Stage | type[Stage] = Stage, *, bounds: Bounds | None = None, keepalive: Keepalive | None = None
) -> Iterator[Stage]:
    """One of the same kind as `like`."""
    kind = like if isinstance(like, type) else type(like)
    stage = kind(bounds=bounds, keepalive=keepalive)
    stage.start()
    try:
        yield stage
    finally:
        stage.stop()


def memory() -> int:
    """Bytes of this process that are in memory; server and clients together."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def until(true: object) -> None:
    """Wait for something that a thread does; `true` says whether it has."""
    assert callable(true)
    async with deadline(DEADLINE):
        while not true():  # noqa: ASYNC110 -- nothing else tells of it across threads
            await asyncio.sleep(0.01)
