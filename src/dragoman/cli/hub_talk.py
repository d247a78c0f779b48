"""A few words with a hub, for commands that ask it something and end.

No client of the SDK is in between: a client offers files, handles requests and keeps sessions. Whoever asks
how the hub stands, or what waits there, does nothing of that, and must get an answer also when an agent
cannot be started.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from dragoman.errors import BadAnswer, CallFailed, CallTimeout, LinkClosed, LocalMistake
from dragoman.transport.contract import Transport

SECONDS = 30.0
"""For each answer: a hub may have to read much, or to start its default agent to introduce itself."""

INTRODUCTION = {
    "protocolVersion": 1,
    "clientCapabilities": {},
    "clientInfo": {"name": "dragoman", "version": "1"},
    "_meta": {"dragoman": {"lazy": True}},
}


def hub_of(url: str | None, token_file: str | None) -> tuple[str, dict[str, str]]:
    """The address of the hub that is meant, and the header for it. Raises `LocalMistake`, or `OSError` if
    this user has no hub.
    """
    from dragoman.cli.hub_status import NotAnswered, address_file, find_hub, socket_address
    from dragoman.cli.tokens import authorization

    headers = authorization(token_file)
    if not headers:
        raise LocalMistake(
            "a hub wants a token: set DRAGOMAN_TOKEN, or give --token-file. "
            "`dragoman hub token add NAME` makes one"
        )
    try:
        return (socket_address(url) if url else find_hub(address_file())), headers
    except NotAnswered as error:
        raise OSError(str(error)) from None


class Talk:
    """Calls; what is told in between is not listened to. The sink of its transport."""

    def __init__(self, wire: Transport) -> None:
        self._wire = wire
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._next = 0
        self._ended: BaseException | None = None
        wire.start(self)

    async def call(self, method: str, params: object = None) -> dict[str, Any]:
        """The result. Raises `CallFailed` with the hub's error, and whatever else went wrong."""
        answer = await self._answer(method, {} if params is None else params)
        error, result = answer.get("error"), answer.get("result")
        if isinstance(error, dict):
            code, message = error.get("code"), error.get("message")
            raise CallFailed(code if isinstance(code, int) else 0, str(message), method=method)
        if not isinstance(result, dict):
            raise BadAnswer(f"{method} was answered with something else than an object")
        return result

    async def _answer(self, method: str, params: object) -> dict[str, Any]:
        if self._ended is not None:
            raise self._ended
        self._next += 1
        number = self._next
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        question = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        try:
            self._wire.write(msgspec.json.encode(question) + b"\n")
            async with asyncio.timeout(SECONDS):
                return await future
        except TimeoutError:
            raise CallTimeout(method, SECONDS) from None
        finally:
            self._waiting.pop(number, None)

    # The sink.

    def feed(self, block: bytes) -> None:
        for line in block.splitlines():
            try:
                message = msgspec.json.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                continue
            if isinstance(message, dict) and "method" not in message and isinstance(message.get("id"), int):
                future = self._waiting.get(message["id"])
                if future is not None and not future.done():
                    future.set_result(message)

    def oversized(self, size: int) -> None:
        self.ended(BadAnswer(f"an answer of {size} bytes is too large"))

    def ended(self, reason: BaseException | None) -> None:
        self._ended = reason if isinstance(reason, BadAnswer) else LinkClosed("the hub ended the connection")
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(self._ended)


@asynccontextmanager
async def talking(url: str, headers: dict[str, str]) -> AsyncIterator[Talk]:
    """From the handshake on. Raises `LinkClosed` if nobody is there or we are not wanted."""
    from dragoman.transport.websocket import open_websocket

    wire = await open_websocket(url, headers=headers)
    try:
        talk = Talk(wire)
        await talk.call("initialize", INTRODUCTION)
        yield talk
    finally:
        await wire.aclose()
