"""The client library, behind a few words: the one module that imports `nats`, and only when it is needed.

It knows how the library is told who we are and what it does wrong: it would go on without TLS where the
server has none, it keeps trying for ever where a login is refused, and it swallows a cancellation while it
writes. So TLS is checked before anything secret is said, a refusal ends the opening, and nothing here waits
to write.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from dragoman.errors import JournalError
from dragoman.journal.nats.login import login
from dragoman.journal.nats.options import NatsOptions
from dragoman.journal.nats.replies import NoReply, end_tasks

log = logging.getLogger(__name__)

RECONNECT_SECONDS = 0.2
PING_SECONDS = 2
PINGS = 2
"""A server that says nothing for so many pings is gone, and another one is tried: four to six seconds."""

CLOSE_SECONDS = 3.0
"""For the last words to a server that may not listen."""

BUFFER_BYTES = 32 * 1024 * 1024
"""What is written while nobody reads it; more is refused."""


OnNatsMessage: TypeAlias = Callable[[str, bytes, str, bytes], None]
"""Hears a subject, what was said, where an answer goes, and the headers as they came."""


class NatsRefused(JournalError):
    """The servers are there and do not want us."""


class NatsClient:
    """A connection of the library. `lost`, `back` and `over` are told of its ups and downs."""

    def __init__(self, library: Any) -> None:
        self._nats = library
        self.closing = False

    @property
    def info(self) -> dict[str, Any]:
        """What the server said of itself; the library has no other way to it."""
        said: dict[str, Any] = self._nats._server_info
        return said

    @property
    def max_payload(self) -> int:
        most: int = self._nats.max_payload
        return most

    def new_inbox(self) -> str:
        name: str = self._nats.new_inbox()
        return name

    async def say(self, subject: str, data: bytes, reply: str, headers: dict[str, str] | None) -> None:
        import nats.errors

        try:
            await self._nats.publish(subject, data, reply=reply, headers=headers)
        except nats.errors.MaxPayloadError:
            raise JournalError(f"the server takes no more than {self.max_payload} bytes at once") from None
        except nats.errors.Error as error:  # it is being connected again
            raise NoReply(f"nothing can be sent now: {type(error).__name__}") from None

    async def hear(self, subject: str, heard: OnNatsMessage) -> Callable[[], Awaitable[None]]:
        """Subscribe; returns how to end it. `heard` is called while the connection is read."""
        import nats.errors

        number = self._nats._sid + 1  # the one that it will have
        self._nats.hearers[number] = heard
        try:
            subscription = await self._nats.subscribe(subject)
        except nats.errors.Error as error:
            raise JournalError(f"nothing can be heard now: {type(error).__name__}") from None

        async def end() -> None:
            self._nats.hearers.pop(number, None)
            try:
                await subscription.unsubscribe()
            except nats.errors.Error:
                pass  # the connection is over, and the subscription with it

        return end

    async def close(self) -> None:
        self.closing = True
        tasks = [
            self._nats._reading_task,
            self._nats._ping_interval_task,
            self._nats._flusher_task,
            self._nats._reconnection_task,
        ]
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._nats.close()
        except (OSError, TimeoutError):  # the server is gone, and the library stops halfway or waits for it
            _abort(self._nats)
        await end_tasks([task for task in tasks if task is not None and task is not asyncio.current_task()])


async def connect_client(
    options: NatsOptions,
    *,
    inbox: str,
    lost: Callable[[], None],
    back: Callable[[], None],
    over: Callable[[], None],
    denied: Callable[[str], None],
) -> NatsClient:
    """Connect within `options.connect_seconds`, or say why not."""
    trouble: list[BaseException] = []
    library = _checked(options, trouble)
    client = NatsClient(library)

    async def erred(error: BaseException) -> None:
        log.debug("the connection has an error: %s", type(error).__name__)
        text = str(error).lower()
        if "permissions violation" in text:
            denied(text)
        elif "authorization" in text or isinstance(error, ssl.SSLCertVerificationError):
            trouble.append(error)

    def telling(tell: Callable[[], None]) -> Callable[[], Awaitable[None]]:
        async def told() -> None:
            if not client.closing:
                tell()

        return told

    arguments: dict[str, Any] = {
        "servers": [f"{'tls' if options.tls else 'nats'}://{server}" for server in options.servers],
        "name": "dragoman",
        "inbox_prefix": inbox,
        "error_cb": erred,
        "disconnected_cb": telling(lost),
        "reconnected_cb": telling(back),
        "closed_cb": telling(over),
        "max_reconnect_attempts": -1,
        "reconnect_time_wait": RECONNECT_SECONDS,
        "ping_interval": PING_SECONDS,
        "max_outstanding_pings": PINGS,
        "pending_size": BUFFER_BYTES,
        "flush_timeout": 5.0,
        **login(options),
    }
    connecting = asyncio.get_running_loop().create_task(library.connect(**arguments))
    try:
        await _until_connected(connecting, trouble, options)
    except BaseException:
        await end_tasks([connecting])
        await client.close()
        raise
    return client


def _checked(options: NatsOptions, trouble: list[BaseException]) -> Any:
    """A client of the library that does not go on without TLS, and hands over what it hears at once."""
    try:
        from nats.aio.client import Client as Library
    except ImportError:
        raise JournalError("a journal on NATS needs its client: pip install 'dragoman[nats]'") from None

    class Checked(Library):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.hearers: dict[int, OnNatsMessage] = {}

        def _connect_command(self) -> bytes:
            if options.tls and not self._server_info.get("tls_required"):
                trouble.append(NatsRefused(f"{options.shown}: the server speaks no TLS"))
                raise ConnectionRefusedError("no TLS")
            command: bytes = super()._connect_command()
            return command

        async def _attempt_reconnect(self) -> None:
            _abort(self)  # or it would wait for a last word of a server that cannot be reached
            await super()._attempt_reconnect()

        async def _process_msg(
            self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes | None
        ) -> None:
            # The library would read every character of every header, and hand each message to a task. All
            # that we listen to is heard here.
            heard = self.hearers.get(sid)
            if heard is not None:
                try:
                    heard(subject.decode(), data, reply.decode(), headers or b"")
                except Exception:  # what cannot be taken must not end the reading
                    log.exception("what was heard could not be taken")

    return Checked()


def _abort(library: Any) -> None:
    """Drop the connection at once. There is nothing in it that is not sent again."""
    writer = getattr(library._transport, "_io_writer", None)
    if writer is not None:
        writer.transport.abort()


async def _until_connected(
    connecting: asyncio.Task[Any], trouble: list[BaseException], options: NatsOptions
) -> None:
    """The library tries without end; what will not change ends it here."""
    loop = asyncio.get_running_loop()
    until = loop.time() + options.connect_seconds
    while not connecting.done():
        if trouble:
            raise _refusal(trouble[0], options)
        if loop.time() > until:
            raise JournalError(f"{options.shown} cannot be reached: is a server running there?")
        await asyncio.wait([connecting], timeout=0.1)
    error = connecting.exception()
    if error is not None:
        raise _refusal(trouble[0] if trouble else error, options)


def _refusal(error: BaseException, options: NatsOptions) -> JournalError:
    if isinstance(error, JournalError):
        return error
    if isinstance(error, ssl.SSLError):
        return NatsRefused(
            f"{options.shown}: TLS failed ({error.reason or type(error).__name__}); is the ca right?"
        )
    if "authorization" in str(error).lower():
        return NatsRefused(
            f"{options.shown}: the server refuses this user; check user, password, token or creds"
        )
    return JournalError(f"{options.shown} cannot be reached: {type(error).__name__}")
