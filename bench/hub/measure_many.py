"""Sessions that stream at once through `dragoman hub`, as it is shipped: hub, agent and clients are processes
of their own.

Arguments: how many updates in all; then how many sessions, one number after the other. Each number is
measured twice, with all sessions in one folder and with a folder for each. The journal is durable. Printed as
JSON: by folders and number of sessions the seconds of wall and of the hub's processor until all turns have
begun, the same from the first prompt to the last answer, the growth of the hub's resident set at its highest,
whether each session was in order, and how far the last session was when half of all updates had come, as a
part of how far the first one was.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from hub.place import HubProcess, running_hub

WORDS = b'"text":"'

FOLDERS = ("one", "own")
"""Whether the sessions share a folder or have one each."""

TOGETHER = 100
"""Sessions that are opened at the same time: they share what the disk takes."""


class Counter:
    """A client of one session over a WebSocket: hears numbers, which must come one after the other."""

    def __init__(self, hub: HubProcess, on_update: Callable[[], None]) -> None:
        self.seen = self._id = 0
        self.in_order = True
        self._on_update = on_update
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._opening = connect(
            hub.url, additional_headers=hub.headers, compression=None, ping_interval=None, max_size=None
        )
        self._connection: ClientConnection | None = None
        self._reading: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Counter:
        self._connection = await self._opening
        self._reading = asyncio.create_task(self._read(self._connection))
        await self.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._connection is not None
        assert self._reading is not None
        await self._connection.close()
        await asyncio.wait([self._reading])

    async def _read(self, connection: ClientConnection) -> None:
        async for message in connection:
            frame = message if isinstance(message, bytes) else message.encode()
            place = frame.find(WORDS)
            if place >= 0:
                number = frame[place + len(WORDS) : frame.find(b'"', place + len(WORDS))]
                self.in_order = self.in_order and number == b"%d" % self.seen
                self.seen += 1
                self._on_update()
            else:
                self._on_answer(json.loads(frame))

    def _on_answer(self, message: dict[str, Any]) -> None:
        waiting = self._answers.pop(message.get("id", 0), None)
        if waiting is not None and "error" in message:
            waiting.set_exception(RuntimeError(str(message["error"])))
        elif waiting is not None:
            waiting.set_result(message["result"])

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        assert self._connection is not None
        self._id += 1
        number = self._id
        self._answers[number] = asyncio.get_running_loop().create_future()
        await self._connection.send(
            json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        )
        return await self._answers[number]

    async def new_session(self, folder: str) -> str:
        session = await self.call("session/new", {"cwd": folder, "mcpServers": []})
        return str(session["sessionId"])

    async def load(self, session: str, folder: str) -> None:
        await self.call("session/load", {"sessionId": session, "cwd": folder, "mcpServers": []})

    async def count(self, session: str, count: int, *, turns: int = 1) -> None:
        """A turn in which the agent counts, as soon as so many turns are open."""
        order = json.dumps({"do": "count", "count": count, "turns": turns})
        prompt = [{"type": "text", "text": order}]
        await self.call("session/prompt", {"sessionId": session, "prompt": prompt})
        if not self.in_order:
            raise RuntimeError("a session lost something or its order")


class Progress:
    """Notices the first update, and when half of everything has come."""

    def __init__(self, total: int) -> None:
        self.clients: list[Counter] = []
        self.fairness = 0.0
        self.begun = asyncio.Event()
        self._half = total // 2
        self._seen = 0

    def on_update(self) -> None:
        self._seen += 1
        if self._seen == 1:
            self.begun.set()
        if self._seen == self._half:
            seen = [client.seen for client in self.clients]
            self.fairness = max(min(seen), 0.001) / max(seen)


@contextlib.asynccontextmanager
async def open_clients(
    hub: HubProcess, number: int, on_update: Callable[[], None]
) -> AsyncIterator[list[Counter]]:
    async with contextlib.AsyncExitStack() as stack:
        clients = [Counter(hub, on_update) for _ in range(number)]
        for client in clients:
            await stack.enter_async_context(client)
        yield clients


async def measure(total: int, sessions: int, folders: str = "one") -> dict[str, Any]:
    progress = Progress(total)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        place = Path(name)
        projects = [place / f"project{0 if folders == 'one' else number}" for number in range(sessions)]
        for project in projects:
            project.mkdir(exist_ok=True)
        async with running_hub(place) as hub:
            empty = hub.memory_kb()
            async with open_clients(hub, sessions, progress.on_update) as clients:
                progress.clients = clients
                names: list[str] = []
                for first in range(0, sessions, TOGETHER):
                    pairs = list(zip(clients, projects, strict=True))[first : first + TOGETHER]
                    names += await asyncio.gather(*(one.new_session(str(where)) for one, where in pairs))
                cpu, begun = hub.cpu(), time.perf_counter()
                async with asyncio.TaskGroup() as turns:
                    for client, session in zip(clients, names, strict=True):
                        turns.create_task(client.count(session, total // sessions, turns=sessions))
                    await progress.begun.wait()
                    start_cpu, start = hub.cpu() - cpu, time.perf_counter() - begun
                return {
                    "start_cpu": start_cpu,
                    "start": start,
                    "wall": time.perf_counter() - begun,
                    "cpu": hub.cpu() - cpu,
                    "peak_kb": hub.memory_kb("VmHWM") - empty,
                    "fairness": progress.fairness,
                    "whole": all(client.seen == total // sessions for client in clients),
                }


async def main(total: int, numbers: list[int]) -> None:
    results: dict[str, dict[int, Any]] = {}
    for folders in FOLDERS:
        for number in numbers:
            results.setdefault(folders, {})[number] = await measure(total, number, folders)
    print(json.dumps(results))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), [int(word) for word in sys.argv[2:]]))
