"""Two questions to a hub over a transport, without a client of the SDK in between.

A client offers files, handles requests and keeps sessions. Somebody who asks how the hub stands does nothing
of that, and must get an answer also when an agent cannot be started.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from dragoman.errors import BadAnswer, CallFailed, CallTimeout, LinkClosed
from dragoman.transport.contract import Transport

INTRODUCTION = {
    "protocolVersion": 1,
    "clientCapabilities": {},
    "clientInfo": {"name": "dragoman-status", "version": "1"},
    "_meta": {"dragoman": {"lazy": True}},
}


class Asking:
    """The sink of the transport; its owner closes the transport."""

    def __init__(self, wire: Transport) -> None:
        self._wire = wire
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._next = 0
        self._ended: BaseException | None = None
        wire.start(self)

    async def introduce(self, seconds: float) -> None:
        await self._call("initialize", INTRODUCTION, seconds)

    async def ask(self, method: str, seconds: float) -> dict[str, Any]:
        """The result. Raises `CallFailed` with the hub's error, and whatever else went wrong."""
        return await self._call(method, {}, seconds)

    async def _call(self, method: str, params: object, seconds: float) -> dict[str, Any]:
        if self._ended is not None:
            raise self._ended
        self._next += 1
        future = self._waiting[self._next] = asyncio.get_running_loop().create_future()
        question = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": params}
        self._wire.write(msgspec.json.encode(question) + b"\n")
        try:
            async with asyncio.timeout(seconds):
                answer = await future
        except TimeoutError:
            raise CallTimeout(method, seconds) from None
        error, result = answer.get("error"), answer.get("result")
        if isinstance(error, dict):
            code, message = error.get("code"), error.get("message")
            raise CallFailed(code if isinstance(code, int) else 0, str(message), method=method)
        if not isinstance(result, dict):
            raise BadAnswer(f"{method} was answered with something else than an object")
        return result

    # The sink.

    def feed(self, block: bytes) -> None:
        for line in block.splitlines():
            try:
                message = msgspec.json.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                continue
            if isinstance(message, dict) and "method" not in message and isinstance(message.get("id"), int):
                future = self._waiting.pop(message["id"], None)
                if future is not None and not future.done():
                    future.set_result(message)

    def oversized(self, size: int) -> None:
        self.ended(BadAnswer(f"an answer of {size} bytes is too large"))

    def ended(self, reason: BaseException | None) -> None:
        self._ended = reason if isinstance(reason, BadAnswer) else LinkClosed("the hub ended the connection")
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(self._ended)
