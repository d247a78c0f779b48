"""A client over the package `websockets` alone: it counts messages and looks for the answer, nothing more.

What a hub can give at best is seen with it, because it costs less than any SDK.
"""

from __future__ import annotations

import json
import time
from types import TracebackType
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

LARGEST = 64 * 1024 * 1024


class BareClient:
    def __init__(self, url: str, headers: dict[str, str], *, cwd: str) -> None:
        self._cwd = cwd
        self._opening = connect(
            url, additional_headers=headers, compression=None, max_size=LARGEST, ping_interval=None
        )
        self._connection: ClientConnection | None = None
        self._id = 0
        self.first_message_at = 0.0
        """When the first message came before the answer to the last call, by `time.perf_counter`."""

    async def __aenter__(self) -> BareClient:
        self._connection = await self._opening
        await self.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._connection is not None
        await self._connection.close()

    async def new_session(self) -> str:
        made, _ = await self.call("session/new", {"cwd": self._cwd, "mcpServers": []})
        return str(made["sessionId"])

    async def prompt(self, session: str, text: str) -> int:
        """How many messages came before the answer."""
        prompt = [{"type": "text", "text": text}]
        return (await self.call("session/prompt", {"sessionId": session, "prompt": prompt}))[1]

    async def load(self, session: str) -> int:
        return (await self.call("session/load", {"sessionId": session, "cwd": self._cwd, "mcpServers": []}))[
            1
        ]

    async def call(self, method: str, params: dict[str, Any]) -> tuple[Any, int]:
        """The result, and how many messages came before it."""
        assert self._connection is not None
        self._id += 1
        request = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        await self._connection.send(json.dumps(request))
        receive = self._connection.recv
        answered = b'"id":%d' % self._id
        before = 0
        while True:
            message = await receive(decode=False)
            assert isinstance(message, bytes)
            if answered in message[:64] and b'"method"' not in message[:64]:
                answer = json.loads(message)
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"], before
            if not before:
                self.first_message_at = time.perf_counter()
            before += 1
