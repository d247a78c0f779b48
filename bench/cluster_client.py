"""A client that does little besides counting, so that hubs and servers are measured and not it.

Over our WebSocket transport; updates are counted where they come, in blocks, and never read.
"""

from __future__ import annotations

import asyncio
import json
import time
from types import TracebackType
from typing import Any

from dragoman.transport.contract import Transport
from dragoman.transport.websocket import open_websocket

UPDATE = b'"method":"session/update"'
WITHIN = 300.0


class CountingClient:
    """`updates` are those that came so far; with `keep`, each one's text and when it came are in `texts`."""

    def __init__(self, url: str, headers: dict[str, str], *, keep: bool = False) -> None:
        self.updates = 0
        self.texts: list[tuple[str, float]] = []
        self._url, self._headers, self._keep = url, headers, keep
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._ids = self._awaited = 0
        self._enough = asyncio.Event()
        self._transport: Transport | None = None

    async def __aenter__(self) -> CountingClient:
        self._transport = await open_websocket(self._url, headers=self._headers)
        self._transport.start(self)
        await self.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._transport is not None
        await self._transport.aclose()

    async def make(self, cwd: str) -> str:
        return str((await self.call("session/new", {"cwd": cwd, "mcpServers": []}))["sessionId"])

    async def load(self, session: str) -> int:
        """How many updates came before the answer."""
        before = self.updates
        await self.call("session/load", {"sessionId": session, "cwd": "/", "mcpServers": []})
        return self.updates - before

    async def prompt(self, session: str, **order: Any) -> str:
        prompt = [{"type": "text", "text": json.dumps(order)}]
        return str(
            (await self.call("session/prompt", {"sessionId": session, "prompt": prompt}))["stopReason"]
        )

    async def until(self, updates: int) -> None:
        """So many have come."""
        self._awaited, self._enough = updates, asyncio.Event()
        async with asyncio.timeout(WITHIN):
            await self._enough.wait()

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        assert self._transport is not None
        self._ids += 1
        waiting = self._waiting[self._ids] = asyncio.get_running_loop().create_future()
        request = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}
        self._transport.write(json.dumps(request).encode() + b"\n")
        async with asyncio.timeout(WITHIN):
            answer = await waiting
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    # The sink.

    def feed(self, block: bytes) -> None:
        found = block.count(UPDATE)
        self.updates += found
        if self.updates >= self._awaited:
            self._enough.set()
        if self._keep or block.count(b"\n") != found:
            self._read(block)

    def _read(self, block: bytes) -> None:
        now = time.monotonic()
        for line in block.splitlines():
            if UPDATE not in line:
                answer = json.loads(line)
                waiting = self._waiting.pop(answer.get("id", 0), None)
                if waiting is not None and "method" not in answer and not waiting.done():
                    waiting.set_result(answer)
            elif self._keep:
                update = json.loads(line)["params"]["update"]
                if update["sessionUpdate"] == "agent_message_chunk":
                    self.texts.append((update["content"]["text"], now))

    def on_oversized(self, size: int) -> None:
        raise RuntimeError(f"a message of {size} bytes")

    def on_end(self, reason: BaseException | None) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionError(str(reason)))
