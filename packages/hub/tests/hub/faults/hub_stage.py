"""The same stage with a whole hub behind the door: its sessions, its journal in a file, its pool of agents.

A turn whose last client has left is cancelled here, as a hub can be told to; and its agent, which is one for
all clients, lives in this process too.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from dragoman.sdk.serve import serving
from dragoman.transport.memory import memory_pair
from dragoman_hub.agents.channel import DirectChannel
from dragoman_hub.agents.pool import AgentSpec
from dragoman_hub.api.app import HubApp
from dragoman_hub.api.listener import open_listener, open_socket
from dragoman_hub.engine.options import HubOptions
from dragoman_hub.gate.admission import Admission, Grant, hash_token, local_hosts
from dragoman_hub.hub import Hub
from dragoman_local.journal import open_journal
from tests.hub.faults.stage import Stage


class HubStage(Stage):
    """What is counted as accepted is whom the hub took as a client."""

    kind = "hub"
    connections = 1000
    hub: Hub

    @property
    def running(self) -> int:
        return len(self.hub.clients)

    def end_agents(self) -> None:
        self._loop.call_soon_threadsafe(lambda: self._loop.create_task(self._end_agents()))

    async def _end_agents(self) -> None:
        for seat in self.hub.pool.seats.values():
            if seat.process is not None:
                await seat.process.channel.aclose()

    async def _run(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        async with AsyncExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            bound = open_socket("127.0.0.1", 0, tls=None, insecure=False)
            self.address, self.port = bound.getsockname()[:2]
            app = await stack.enter_async_context(self._app(folder))
            async with open_listener(app, bound, keepalive=self._keepalive):
                self._ready.set()
                await self._stopping.wait()
                app.endpoint.leave()
                await self.hub.aclose()

    @asynccontextmanager
    async def _app(self, folder: Path) -> AsyncIterator[HubApp]:
        async with AsyncExitStack() as stack:
            journal = await stack.enter_async_context(open_journal(folder / "hub.db", durability="normal"))
            spec = AgentSpec(name="stage", open=lambda: self._open(stack))
            options = HubOptions(default_agent="stage", on_last_leave="cancel")
            self.hub = await stack.enter_async_context(Hub(journal, {"stage": spec}, options=options))
            grants = {hash_token(self.token): Grant("one"), hash_token(self.other_token): Grant("other")}
            grants[hash_token(self.narrow_token)] = Grant("narrow", frozenset({"observe", "prompt"}))
            app = HubApp(
                self.hub,
                Admission(grants, hosts=local_hosts(self.port)),
                bounds=self._bounds,
                connections=self.connections,
            )
            accept = self.hub.accept

            def counted(*arguments: object, **named: object) -> object:
                self.accepted += 1
                return accept(*arguments, **named)  # type: ignore[arg-type]

            self.hub.accept = counted  # type: ignore[method-assign, assignment]
            yield app

    async def _open(self, stack: AsyncExitStack) -> DirectChannel:
        ours, theirs = memory_pair()
        await stack.enter_async_context(serving(self._agent(), theirs))
        return DirectChannel(ours)
