"""The connection to the NATS servers: requests with one answer or many, subscriptions, and recovery after
every loss.

The client library reconnects by itself; where it gives up, a new one is made, and what was listened to is
listened to again. Whoever waits for an answer when the connection goes is told at once. What was sent then
may or may not have arrived: callers find out, nothing is decided here. No secret is in any text of this
module.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from dragoman.errors import JournalClosed, JournalError
from dragoman_hub.nats.client import NatsClient, connect_client
from dragoman_hub.nats.options import NatsOptions
from dragoman_hub.nats.replies import NoReply, NoResponders, PendingReply, ServerReply, end_tasks

log = logging.getLogger(__name__)

ANSWER_SECONDS = 2.0
"""The seconds of one try. An answer takes milliseconds; after an election, a retry helps."""

REVIVAL_SECONDS = 0.5

OnSubjectMessage: TypeAlias = Callable[[str, bytes, str], None]


class NatsConnection:
    """One connection. `inbox` is the subject below which answers arrive."""

    def __init__(self, options: NatsOptions, *, inbox: str) -> None:
        self._options = options
        self._inbox = inbox
        self._client: NatsClient | None = None
        self._pending_replies: dict[str, PendingReply] = {}
        self._listening: list[NatsSubscription] = []
        self._ask_count = 0
        self._own_inbox = ""
        self._closing = False
        self._reviving: asyncio.Task[None] | None = None
        self._connected_event = asyncio.Event()

    async def open(self) -> None:
        await self._connect()

    async def aclose(self) -> None:
        if self._closing:
            return
        self._closing = True
        await end_tasks([self._reviving])
        if self._client is not None:
            await self._client.close()
        self._fail_pending("the journal is closed")

    @property
    def is_clustered(self) -> bool:
        return self._live.library.is_clustered

    @property
    def version(self) -> tuple[int, ...]:
        """The version of the server, as numbers."""
        parts = self._live.library.server_version.split("-")[0].split(".")
        return tuple(int(part) for part in parts if part.isdigit())

    @property
    def max_payload(self) -> int:
        return self._live.library.max_payload

    @property
    def is_connected(self) -> bool:
        return self._connected_event.is_set()

    async def wait_until_connected(self, *, within: float) -> None:
        """Wait for a connection; raise `NoReply` if there is none in time."""
        _ = self._live
        if not self._connected_event.is_set():
            try:
                async with asyncio.timeout(within):
                    await self._connected_event.wait()
            except TimeoutError:
                raise NoReply(f"{self._options.safe_address} cannot be reached") from None

    # Speaking.

    async def publish(
        self, subject: str, data: bytes, *, reply: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        await self._live.library.send(subject, data, reply, dict(headers) if headers else None)

    async def ask(
        self,
        subject: str,
        data: bytes,
        *,
        headers: Mapping[str, str] | None = None,
        within: float = ANSWER_SECONDS,
    ) -> ServerReply:
        """Return the first answer; a notice without responders raises `NoReply`, like silence."""
        # A server that wakes up may answer too, behind the one that took its place.
        reply = (await self._ask(subject, data, headers, within, many=False))[0]
        if reply.status == 503:
            raise NoResponders(f"no server answers for {self._options.prefix} now")
        return reply

    async def ask_many(
        self, subject: str, data: bytes, *, within: float = ANSWER_SECONDS
    ) -> list[ServerReply]:
        """Return all answers up to one with a status, which is the last of the list."""
        replies = await self._ask(subject, data, None, within, many=True)
        if replies[-1].status == 503:
            raise NoResponders(f"no server answers for {self._options.prefix} now")
        return replies

    async def _ask(
        self,
        subject: str | None,
        data: bytes,
        headers: Mapping[str, str] | None,
        within: float,
        *,
        many: bool,
    ) -> list[ServerReply]:
        """Send a request to a subject, or with None to the connection's own inbox."""
        await self.wait_until_connected(within=within)
        self._ask_count += 1
        token = f"{self._ask_count:x}"
        pending = self._pending_replies[token] = PendingReply(subject or "", within, many=many)
        try:
            inbox = f"{self._own_inbox}.{token}"
            if subject is None:
                await self.publish(inbox, data)
            else:
                await self.publish(subject, data, reply=inbox, headers=headers)
            return await pending.wait()
        finally:
            self._pending_replies.pop(token, None)

    async def listen(self, subject: str, on_message: OnSubjectMessage) -> NatsSubscription:
        """Subscribe: after the return, `on_message` gets every message of the subject."""
        listening = NatsSubscription(self, subject, on_message)
        self._listening.append(listening)
        try:
            await listening.begin(self._live)
            await self._settle()
        except BaseException:
            await listening.aclose()
            raise
        return listening

    async def _settle(self) -> None:
        """Wait until the server has read everything sent before: it sends our own message back after that.
        The library has a way too, which must not be cancelled.
        """
        await self._ask(None, b"", None, ANSWER_SECONDS * 2, many=False)

    def forget(self, listening: NatsSubscription) -> None:
        if listening in self._listening:
            self._listening.remove(listening)

    # The connection's life.

    @property
    def _live(self) -> NatsClient:
        if self._client is None or self._closing:
            raise JournalClosed("the journal is closed, or was never opened")
        return self._client

    async def _connect(self) -> None:
        client = await connect_client(
            self._options,
            inbox=self._inbox,
            on_lost=self._on_lost,
            on_back=self._on_back,
            on_over=self._on_over,
            on_denied=self._on_denied,
        )
        self._client = client
        self._own_inbox = client.library.new_inbox()
        await client.library.listen(f"{self._own_inbox}.*", self._on_reply)
        for listening in self._listening:
            await listening.begin(client)
        self._connected_event.set()

    def _on_lost(self) -> None:
        self._connected_event.clear()
        self._fail_pending("the connection was lost")

    def _on_denied(self, text: str) -> None:
        """The server does not answer what it does not allow; it says so, in small letters by now."""
        for pending in list(self._pending_replies.values()):
            if f'"{pending.subject.lower()}"' in text:
                pending.deny(f"this user of {self._options.safe_address} may not use {pending.subject}")

    def _on_back(self) -> None:
        self._connected_event.set()

    def _on_over(self) -> None:
        """The library has given up, which it does for some errors that say nothing about tomorrow."""
        self._connected_event.clear()
        self._fail_pending("the connection was lost")
        if not self._closing and (self._reviving is None or self._reviving.done()):
            self._reviving = asyncio.get_running_loop().create_task(self._revive(), name="nats revival")

    async def _revive(self) -> None:
        while not self._closing:
            try:
                await self._connect()
                return
            except JournalError as error:
                log.warning("still without a connection: %s", error)
                await asyncio.sleep(REVIVAL_SECONDS)  # a refusal comes at once

    def _fail_pending(self, why: str) -> None:
        for pending in list(self._pending_replies.values()):
            pending.fail(why)

    def _on_reply(self, subject: str, data: bytes, _: str, headers: bytes) -> None:
        pending = self._pending_replies.get(subject.rpartition(".")[2])
        if pending is not None:
            pending.on_reply(subject, data, headers)


class NatsSubscription:
    """One subscription, which survives reconnects."""

    def __init__(self, wire: NatsConnection, subject: str, on_message: OnSubjectMessage) -> None:
        self._wire = wire
        self._subject = subject
        self._on_message = on_message
        self._stop: Callable[[], Awaitable[None]] | None = None

    async def begin(self, client: NatsClient) -> None:
        def hear(subject: str, data: bytes, answer: str, _: bytes) -> None:
            self._on_message(subject, data, answer)

        self._stop = await client.library.listen(self._subject, hear)

    async def aclose(self) -> None:
        self._wire.forget(self)
        stop, self._stop = self._stop, None
        if stop is not None:
            await stop()
