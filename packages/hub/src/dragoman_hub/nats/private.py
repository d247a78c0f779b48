"""All uses of nats-py, and of its private parts. No other module imports it.

`PrivateNats` stands on these parts of nats-py 2.16: `_process_msg` and `_sid` (a message is handed over while
the connection is read, its headers as they came, instead of through a task for each subscription),
`_connect_command` and `_server_info` (TLS is checked before anything secret is sent), `_attempt_reconnect`
and `_transport` (a server that cannot be reached is not waited for), and the tasks that `close` may leave
behind.

`PublicNats` does the same with the public part alone, and is taken when one of those is not there: messages
take a turn of the loop more, a server is asked for its INFO line by a connection of our own before a login,
and closing waits for the library.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeAlias
from urllib.parse import urlsplit

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from dragoman.errors import JournalError
from dragoman_hub.nats.replies import NoReply

log = logging.getLogger(__name__)

PROBE_SECONDS = 2.0
"""The seconds for the INFO line of one server."""

OnNatsMessage: TypeAlias = Callable[[str, bytes, str, bytes], None]
"""Called with a subject, the data, the answer's subject, and the raw headers."""

CheckInfo: TypeAlias = Callable[[Mapping[str, object]], None]
"""Called with a server's INFO before a login; raises to send no login."""

_METHODS = ("_process_msg", "_connect_command", "_attempt_reconnect")
_ATTRIBUTES = ("_sid", "_server_info", "_transport")
_TASKS = ("_reading_task", "_ping_interval_task", "_flusher_task", "_reconnection_task")


class NatsLibrary(Protocol):
    """The interface that both versions of the library offer."""

    @property
    def is_clustered(self) -> bool: ...
    @property
    def server_version(self) -> str: ...
    @property
    def max_payload(self) -> int: ...
    def new_inbox(self) -> str: ...
    async def connect(self, **arguments: Any) -> None: ...
    async def send(self, subject: str, data: bytes, reply: str, headers: dict[str, str] | None) -> None: ...
    async def listen(self, subject: str, on_message: OnNatsMessage) -> Callable[[], Awaitable[None]]: ...
    async def close(self) -> None: ...
    def abort(self) -> None: ...
    def tasks(self) -> list[asyncio.Task[Any]]: ...


def has_private_parts() -> bool:
    """Whether this version of nats-py has all parts that `PrivateNats` uses."""
    return all(hasattr(Client, name) for name in _METHODS) and all(
        hasattr(Client(), name) for name in (*_ATTRIBUTES, *_TASKS)
    )


def open_library(check_info: CheckInfo) -> NatsLibrary:
    return PrivateNats(check_info) if has_private_parts() else PublicNats(check_info)


class PublicNats:
    """Uses only the public part of nats-py."""

    def __init__(self, check_info: CheckInfo, client: Client | None = None) -> None:
        self._nats = client or Client()
        self._check_info = check_info
        self._has_begun = False

    @property
    def is_clustered(self) -> bool:
        return bool(self._nats.discovered_servers) or len(self._nats.servers) > 1

    @property
    def server_version(self) -> str:
        return str(self._nats.connected_server_version)

    @property
    def max_payload(self) -> int:
        return self._nats.max_payload

    def new_inbox(self) -> str:
        return self._nats.new_inbox()

    async def connect(self, **arguments: Any) -> None:
        for address in arguments["servers"]:
            info = await read_info(address)
            if info is not None:
                self._check_info(info)
        self._has_begun = True
        await self._nats.connect(**arguments)

    async def send(self, subject: str, data: bytes, reply: str, headers: dict[str, str] | None) -> None:
        try:
            await self._nats.publish(subject, data, reply=reply, headers=headers)
        except nats.errors.MaxPayloadError:
            raise JournalError(f"the server takes no more than {self.max_payload} bytes at once") from None
        except nats.errors.Error as error:  # it is being connected again
            raise NoReply(f"nothing can be sent now: {type(error).__name__}") from None

    async def listen(self, subject: str, on_message: OnNatsMessage) -> Callable[[], Awaitable[None]]:
        """Subscribe; return a function that ends it."""

        async def take(message: Msg) -> None:
            _hand_over(on_message, message.subject, message.data, message.reply, raw_headers(message.headers))

        return await self._subscribe(subject, take)

    async def _subscribe(
        self, subject: str, callback: Callable[[Msg], Awaitable[None]] | None
    ) -> Callable[[], Awaitable[None]]:
        try:
            subscription = await self._nats.subscribe(subject, cb=callback)
        except nats.errors.Error as error:
            raise JournalError(f"cannot subscribe now: {type(error).__name__}") from None

        async def end() -> None:
            try:
                await subscription.unsubscribe()
            except nats.errors.Error:
                pass  # the connection is over, and the subscription with it

        return end

    async def close(self) -> None:
        if self._has_begun:  # the library cannot close what was never connected
            await self._nats.close()

    def abort(self) -> None:
        """Close the connection: there is no public way to drop it at once."""

    def tasks(self) -> list[asyncio.Task[Any]]:
        return []


class _CheckedClient(Client):
    """Does not log in without TLS where it is wanted; hands over messages while the connection is read."""

    def __init__(self, check_info: CheckInfo) -> None:
        super().__init__()
        self.check_info = check_info
        self.listeners: dict[int, OnNatsMessage] = {}

    def _connect_command(self) -> bytes:
        self.check_info(self._server_info)
        command: bytes = super()._connect_command()
        return command

    async def _attempt_reconnect(self) -> None:
        self.abort()  # or it would wait for a last word of a server that cannot be reached
        await super()._attempt_reconnect()

    async def _process_msg(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes | None
    ) -> None:
        # The library would read every character of every header, and hand each message to a task.
        listener = self.listeners.get(sid)
        if listener is not None:
            _hand_over(listener, subject.decode(), data, reply.decode(), headers or b"")

    def abort(self) -> None:
        """Drop the connection at once. There is nothing in it that is not sent again."""
        writer = getattr(self._transport, "_io_writer", None)
        if writer is not None:
            writer.transport.abort()


class PrivateNats(PublicNats):
    """Uses the private parts in the module's list."""

    def __init__(self, check_info: CheckInfo) -> None:
        self._checked_client = _CheckedClient(check_info)
        super().__init__(check_info, self._checked_client)

    @property
    def is_clustered(self) -> bool:
        return bool(self._checked_client._server_info.get("cluster"))

    @property
    def server_version(self) -> str:
        return str(self._checked_client._server_info.get("version", ""))

    async def connect(self, **arguments: Any) -> None:
        self._has_begun = True
        await self._checked_client.connect(**arguments)

    async def listen(self, subject: str, on_message: OnNatsMessage) -> Callable[[], Awaitable[None]]:
        number = self._checked_client._sid + 1  # the one that it will have
        self._checked_client.listeners[number] = on_message
        unsubscribe = await self._subscribe(subject, None)

        async def end() -> None:
            self._checked_client.listeners.pop(number, None)
            await unsubscribe()

        return end

    def abort(self) -> None:
        self._checked_client.abort()

    def tasks(self) -> list[asyncio.Task[Any]]:
        tasks = [getattr(self._checked_client, name) for name in _TASKS]
        return [task for task in tasks if task is not None]


def _hand_over(on_message: OnNatsMessage, subject: str, data: bytes, reply: str, headers: bytes) -> None:
    try:
        on_message(subject, data, reply, headers)
    except Exception:  # one message that cannot be taken must not end the reading
        log.exception("a message on %s could not be taken", subject)


def raw_headers(fields: Mapping[str, str] | None) -> bytes:
    """Return the raw headers; the library has removed the status in the first line."""
    if not fields:
        return b""
    rest = {name: value for name, value in fields.items() if name not in ("Status", "Description")}
    first = " ".join(filter(None, ("NATS/1.0", fields.get("Status", ""), fields.get("Description", ""))))
    return "\r\n".join([first, *(f"{name}: {value}" for name, value in rest.items()), "", ""]).encode()


async def read_info(address: str) -> dict[str, object] | None:
    """Return a server's greeting to a new connection; None if it can't be reached."""
    parts = urlsplit(address)
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
            try:
                line = await reader.readline()
            finally:
                writer.transport.abort()
            info: dict[str, object] = json.loads(line.removeprefix(b"INFO "))
    except (OSError, TimeoutError, ValueError):
        return None
    return info
