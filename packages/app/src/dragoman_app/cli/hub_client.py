"""A short conversation with a hub, for commands that request something and end.

No client of the SDK is in between: a client offers files, handles requests and keeps sessions. Whoever asks
how the hub stands, or what waits there, does nothing of that, and must get an answer also when an agent
cannot be started.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import msgspec

from dragoman.errors import (
    BadAnswer,
    CallFailed,
    CallTimeout,
    DragomanError,
    JournalError,
    LinkClosed,
    LocalMistake,
)
from dragoman.transport.contract import Transport
from dragoman.transport.websocket import open_websocket
from dragoman_app.apps.console import MISTAKEN, CommandFailed, ErrorStatus
from dragoman_app.apps.files import FileAct, authorization
from dragoman_local.journal.history import history_path

JsonObject: TypeAlias = dict[str, Any]
"""Decoded JSON of a hub; every value is checked before use."""

SECONDS = 30.0
"""The most seconds for each answer: a hub may have to read much, or to start its default agent."""

INTRODUCTION = {
    "protocolVersion": 1,
    "clientCapabilities": {},
    "clientInfo": {"name": "dragoman", "version": "1"},
    "_meta": {"dragoman": {"lazy": True}},
}


class HubNotAnswered(CommandFailed):
    """There is no hub, or the hub refuses."""


class HubErrors:
    """A block in which an error between a command and a hub ends the command with a status."""

    def __init__(self, *, mistake: int = MISTAKEN, unreachable: int = 9, act: FileAct = "read") -> None:
        self._others = (
            ErrorStatus(LocalMistake, JournalError, status=mistake),
            ErrorStatus(DragomanError, OSError, status=unreachable, act=act),
        )

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, CallFailed):
            raise CommandFailed(f"the hub refused: {error.message}", status=1) from error
        for other in self._others:
            other.__exit__(kind, error, trace)


def hub_and_token(url: str | None, token_file: str | None) -> tuple[str, dict[str, str]]:
    """Return the address of the hub, and the header for it. Raises `LocalMistake`."""
    headers = authorization(token_file)
    if not headers:
        raise LocalMistake(
            "the hub needs a token. Set DRAGOMAN_TOKEN, or use --token-file. Create a token: dragoman hub "
            "token add NAME"
        )
    return (socket_address(url) if url else find_hub(address_file())), headers


def address_file() -> Path:
    return history_path().parent / "hub" / "address"


def find_hub(path: Path) -> str:
    """Return the address that this user's hub has stored. The file must belong to the user, because our token
    goes to this address.
    """
    why = "name a hub's address, or start a hub: dragoman hub"
    try:
        with open(path, "rb") as file:
            about = os.fstat(file.fileno())
            document = msgspec.json.decode(file.read(65536))
    except OSError:
        raise HubNotAnswered(f"you have no running hub; {why}", status=9) from None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise HubNotAnswered(f"can't understand {path}; {why}", status=9) from None
    if hasattr(os, "getuid") and (about.st_uid != os.getuid() or about.st_mode & 0o022):
        raise HubNotAnswered(f"ignored {path}, because other people can write to it; {why}", status=9)
    url, pid = (document.get("url"), document.get("pid")) if isinstance(document, dict) else (None, None)
    if not isinstance(url, str) or not isinstance(pid, int):
        raise HubNotAnswered(f"can't understand {path}; {why}", status=9)
    if not _lives(pid):
        raise HubNotAnswered(f"the hub at {url} (process {pid}) is no longer running; {why}", status=9)
    return socket_address(url)


def _lives(pid: int) -> bool:
    if sys.platform == "win32" or pid <= 0:
        return pid > 0  # there, to ask would end it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def socket_address(url: str) -> str:
    """Return the WebSocket address of a hub, from any form of its address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise LocalMistake(f"{url!r} is not an address. Use ws://HOST:PORT/acp") from None
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    if scheme not in ("ws", "wss") or not parts.netloc:
        raise LocalMistake(f"{url!r} is not a hub address. Use ws://HOST:PORT/acp")
    path = parts.path if parts.path.strip("/") else "/acp"
    return urlunsplit((scheme, parts.netloc, path, parts.query, ""))


class HubCaller:
    """Calls a hub; messages between calls are ignored. The sink of its transport."""

    def __init__(self, wire: Transport) -> None:
        self._wire = wire
        self._waiting: dict[int, asyncio.Future[JsonObject]] = {}
        self._next = 0
        self._end_reason: BaseException | None = None
        wire.start(self)

    async def call(self, method: str, params: object = None) -> JsonObject:
        """Call a method; return the result. Raises `CallFailed` with the hub's error, and other errors of the
        connection.
        """
        answer = await self._answer(method, {} if params is None else params)
        error, result = answer.get("error"), answer.get("result")
        if isinstance(error, dict):
            code, message = error.get("code"), error.get("message")
            raise CallFailed(code if isinstance(code, int) else 0, str(message), method=method)
        if not isinstance(result, dict):
            raise BadAnswer(f"{method} got an answer that is not an object")
        return result

    async def _answer(self, method: str, params: object) -> JsonObject:
        if self._end_reason is not None:
            raise self._end_reason
        self._next += 1
        number = self._next
        future: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
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

    def on_oversized(self, size: int) -> None:
        self.on_end(BadAnswer(f"the answer is too large ({size} bytes)"))

    def on_end(self, reason: BaseException | None) -> None:
        self._end_reason = (
            reason if isinstance(reason, BadAnswer) else LinkClosed("the hub ended the connection")
        )
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(self._end_reason)


@asynccontextmanager
async def open_hub(url: str, headers: dict[str, str]) -> AsyncIterator[HubCaller]:
    """Connect to a hub. Raises `LinkClosed` if there is no hub or it refuses."""
    wire = await open_websocket(url, headers=headers)
    try:
        talk = HubCaller(wire)
        await talk.call("initialize", INTRODUCTION)
        yield talk
    finally:
        await wire.aclose()
