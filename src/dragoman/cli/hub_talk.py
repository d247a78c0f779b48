"""A few words with a hub, for commands that ask it something and end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

SECONDS = 30.0


class Refused(Exception):
    """The hub answered with an error."""


def hub_of(url: str | None, token_file: str | None) -> tuple[str, dict[str, str]]:
    """The address of the hub that is meant, and the header for it. Raises `LocalMistake`."""
    from dragoman.cli.hub_status import NotAnswered, address_file, find_hub, socket_address
    from dragoman.cli.tokens import authorization
    from dragoman.errors import LocalMistake

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
    """Calls, one after the other; what is told in between is not listened to."""

    def __init__(self, transport: Any) -> None:
        import asyncio

        self._transport = transport
        self._answers: asyncio.Queue[Any] = asyncio.Queue()
        self._number = 0
        transport.start(self)

    async def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        import asyncio
        import json

        from dragoman.errors import LinkClosed

        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._transport.write(json.dumps(message).encode() + b"\n")
        async with asyncio.timeout(SECONDS):
            while True:
                answer = await self._answers.get()
                if answer is None:
                    raise LinkClosed("the hub hung up")
                if answer.get("id") == self._number and "method" not in answer:
                    break
        if "error" in answer:
            raise Refused(answer["error"].get("message", "the hub refused"))
        result: dict[str, Any] = answer["result"]
        return result

    def feed(self, block: bytes) -> None:
        import json

        for line in block.splitlines():
            self._answers.put_nowait(json.loads(line))

    def oversized(self, size: int) -> None:
        self._answers.put_nowait(None)

    def ended(self, reason: BaseException | None) -> None:
        self._answers.put_nowait(None)


@asynccontextmanager
async def talking(url: str, headers: dict[str, str]) -> AsyncIterator[Talk]:
    """From the handshake on."""
    from dragoman.transport.websocket import open_websocket

    transport = await open_websocket(url, headers=headers)
    try:
        talk = Talk(transport)
        params = {"protocolVersion": 1, "_meta": {"dragoman": {"lazy": True}}}
        await talk.call("initialize", params)
        yield talk
    finally:
        await transport.aclose()
