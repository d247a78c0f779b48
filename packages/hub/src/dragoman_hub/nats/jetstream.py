"""Our requests to JetStream: create streams with our settings, read messages by subject and sequence, store
them reliably.

Reads come in two kinds. `last` and `next_message` go to the leader of a stream and are true when they are
answered; `batch` is answered by any replica, which may lag, and is for reading much. A publish says what the
server said of it, and whether that is known at all.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from dragoman.decoders import json_decoder
from dragoman.errors import JournalError, JournalFull
from dragoman_hub.nats.connection import ANSWER_SECONDS, NatsConnection
from dragoman_hub.nats.replies import NoReply, read_headers

API = "$JS.API"
NOT_FOUND, NO_STREAM, NAME_TAKEN = 10037, 10059, 10058
MOVED, MOVED_IN_FLIGHT = 10071, 10164
STORE_FAILED = 10077
FULL = frozenset({10023, 10026, 10027, 10028, 10047})
"""Errors of full streams, accounts and disks. A store that failed for one of `BOUNDS` returns the same."""

BOUNDS = ("maximum", "no space", "insufficient", "exceeded")

AGAIN = frozenset({10008, 10009, 10015, 10076, 10120, 10158, 10201})
"""Temporary errors: no leader at the moment, or the same message still in transit."""

NO_PEERS = frozenset({10005, 10074})
NOT_YET = NO_PEERS | {NO_STREAM}
PEER_SECONDS = 8.0
"""The seconds for servers to appear: a new cluster does not know all its servers yet, and a server that is
behind does not know a new stream yet. A cluster that is too small never gets more.
"""

FIRST_ANSWER_SECONDS, MOST_ANSWER_SECONDS = 0.75, 3.0
"""The seconds of one try. An answer takes milliseconds; a leader that steps down never answers, and a retry
helps.
"""

PAUSES = (0.02, 0.05, 0.1, 0.2, 0.25)
"""The pauses between tries; the last one is repeated."""


class ApiError(Struct, frozen=True):
    code: int = 0
    err_code: int = 0
    description: str = ""

    @property
    def is_full(self) -> bool:
        has_bound = any(word in self.description for word in BOUNDS)
        return self.err_code in FULL or (self.err_code == STORE_FAILED and has_bound)

    @property
    def is_transient(self) -> bool:
        """Whether the same request may succeed later."""
        return not self.is_full and (self.err_code in AGAIN or self.code == 503)


class _ApiMessage(Struct, frozen=True):
    subject: str = ""
    seq: int = 0
    hdrs: str = ""
    data: str = ""


class _ApiAnswer(Struct, frozen=True):
    """The fields of all answers that we look at."""

    error: ApiError | None = None
    message: _ApiMessage | None = None
    config: dict[str, Any] = {}
    state: dict[str, Any] = {}
    total: int = 0
    purged: int = 0


class PublishAck(Struct, frozen=True):
    """The server's answer to a publish."""

    seq: int = 0
    error: ApiError | None = None
    duplicate: bool = False

    @property
    def has_moved(self) -> bool:
        return self.error is not None and self.error.err_code in (MOVED, MOVED_IN_FLIGHT)

    @property
    def true_last(self) -> int | None:
        """The last sequence of the subject, if the server returns it."""
        text = "" if self.error is None else self.error.description.rpartition(":")[2].strip()
        return int(text) if text.isdigit() else None


class StoredMessage(Struct, frozen=True, gc=False):
    """A stored message."""

    subject: str
    seq: int
    headers: Mapping[str, str]
    data: bytes


class MessageBatch(Struct, frozen=True):
    """Messages in order, and the number of further ones."""

    messages: Sequence[StoredMessage]
    remaining: int


_answers = json_decoder(_ApiAnswer)
_acks = json_decoder(PublishAck)
_encode = msgspec.json.encode


class JetStream:
    """Requests over a connection; each is repeated until it is answered, or until `patience` is over."""

    def __init__(self, wire: NatsConnection, *, patience: float = 20.0) -> None:
        self.wire = wire
        self.patience = patience

    # Streams.

    async def ensure(self, settings: dict[str, Any], *, chosen_fields: frozenset[str]) -> dict[str, Any]:
        """Create a stream, or change an existing one to the chosen settings; return its state.

        What nobody chose stays as somebody else has set it.
        """
        name = settings["name"]
        answer = await self.api(f"STREAM.INFO.{name}", {}, allow=(NO_STREAM,))
        if answer.error is not None:
            answer = await self.api(f"STREAM.CREATE.{name}", settings, allow=(NAME_TAKEN,))
            if answer.error is not None:  # another node was first
                answer = await self.api(f"STREAM.INFO.{name}", {})
        if answer.config.get("subjects") != settings["subjects"]:
            raise JournalError(f"JetStream's stream {name} belongs to something else: choose another prefix")
        changes = {field: settings[field] for field in chosen_fields if field in settings}
        if any(answer.config.get(field) != value for field, value in changes.items()):
            answer = await self.api(f"STREAM.UPDATE.{name}", {**answer.config, **changes})
        return answer.config

    async def counts(self, stream: str, subjects: str) -> dict[str, int]:
        """Return the number of messages of each subject of a stream."""
        counts: dict[str, int] = {}
        while True:
            body = {"subjects_filter": subjects, "offset": len(counts)}
            answer = await self.api(f"STREAM.INFO.{stream}", body)
            page = answer.state.get("subjects") or {}
            counts |= page
            if not page or len(counts) >= answer.total:
                return counts

    async def purge(self, stream: str, subjects: str) -> int:
        return (await self.api(f"STREAM.PURGE.{stream}", {"filter": subjects})).purged

    # Messages.

    async def last(self, stream: str, subject: str, *, patience: float | None = None) -> StoredMessage | None:
        """Return the last message of a subject, from the leader."""
        return await self._get(stream, {"last_by_subj": subject}, patience)

    async def next_message(
        self, stream: str, subject: str, seq: int, *, patience: float | None = None
    ) -> StoredMessage | None:
        """Return the first message of a subject at or after a sequence, from the leader."""
        return await self._get(stream, {"seq": max(1, seq), "next_by_subj": subject}, patience)

    async def _get(self, stream: str, body: dict[str, Any], patience: float | None) -> StoredMessage | None:
        answer = await self.api(f"STREAM.MSG.GET.{stream}", body, allow=(NOT_FOUND,), patience=patience)
        message = answer.message
        if message is None:
            return None
        headers = read_headers(b64decode(message.hdrs))[1]
        return StoredMessage(message.subject, message.seq, headers, b64decode(message.data))

    async def batch(
        self,
        stream: str,
        subjects: str,
        seq: int,
        *,
        most: int,
        most_bytes: int,
        patience: float | None = None,
    ) -> MessageBatch:
        """Return messages of subjects at or after a sequence, from any replica."""
        body = _encode({"seq": max(1, seq), "next_by_subj": subjects, "batch": most, "max_bytes": most_bytes})
        tries = RetryBudget(self.patience if patience is None else patience)
        while True:
            try:
                replies = await self.wire.ask_many(
                    f"{API}.DIRECT.GET.{stream}", body, within=tries.answer_seconds()
                )
            except NoReply as error:
                await tries.again(error)
                continue
            end = replies.pop()
            if end.status not in (204, 404):
                await tries.again(NoReply(f"a read was answered with {end.status}"))
                continue
            messages = [
                StoredMessage(
                    reply.headers["Nats-Subject"],
                    int(reply.headers["Nats-Sequence"]),
                    reply.headers,
                    reply.data,
                )
                for reply in replies
            ]
            return MessageBatch(messages, int(end.headers.get("Nats-Num-Pending") or 0))

    async def publish(
        self, subject: str, data: bytes, headers: Mapping[str, str], *, within: float = ANSWER_SECONDS
    ) -> PublishAck:
        """Try to publish once; `NoReply` if the result is unknown. An answer that only asks for patience does
        not count.
        """
        reply = await self.wire.ask(subject, data, headers=headers, within=within)
        try:
            ack = _acks.decode(reply.data)
        except msgspec.MsgspecError:
            raise NoReply("a server answered with something else") from None
        if ack.error is not None and ack.error.is_transient:
            raise NoReply(ack.error.description)
        return ack

    async def api(
        self,
        what: str,
        body: dict[str, Any],
        *,
        allow: tuple[int, ...] = (),
        patience: float | None = None,
    ) -> _ApiAnswer:
        """Send a request of JetStream itself; an error that is not in `allow` is raised."""
        tries = RetryBudget(self.patience if patience is None else patience)
        data = _encode(body) if body else b""
        while True:
            try:
                reply = await self.wire.ask(f"{API}.{what}", data, within=tries.answer_seconds())
            except NoReply as error:
                await tries.again(error)
                continue
            try:
                answer = _answers.decode(reply.data)
            except msgspec.MsgspecError:
                raise JournalError("JetStream answered with something that cannot be read") from None
            error_said = answer.error
            if error_said is None or error_said.err_code in allow:
                return answer
            if error_said.err_code in NOT_YET and tries.elapsed_seconds < PEER_SECONDS:
                await tries.again(NoReply(error_said.description))
                continue
            if error_said.is_transient:
                await tries.again(NoReply(error_said.description))
                continue
            raise refusal(error_said)


class RetryBudget:
    """How often, how long and until when a request is repeated."""

    def __init__(self, patience: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._began = self._try_began = self._loop.time()
        self._until = self._began + patience
        self._answer = FIRST_ANSWER_SECONDS
        self._count = 0

    @property
    def elapsed_seconds(self) -> float:
        return self._loop.time() - self._began

    @property
    def remaining(self) -> float:
        return max(0.05, self._until - self._loop.time())

    def answer_seconds(self) -> float:
        """Return the seconds for the try that begins now."""
        self._try_began = self._loop.time()
        return min(self._answer, self.remaining)

    async def again(self, error: NoReply) -> None:
        """Pause before the next try; raise the error if there is none."""
        now = self._loop.time()
        if now >= self._until:
            raise error
        if now - self._try_began >= self._answer:  # it was silence, and not a refusal: perhaps all is slow
            self._answer = min(2 * self._answer, MOST_ANSWER_SECONDS)
        pause = PAUSES[min(self._count, len(PAUSES) - 1)]
        self._count += 1
        await asyncio.sleep(min(pause, self.remaining))


def refusal(error: ApiError) -> JournalError:
    """Return the journal error for a server's refusal."""
    if error.is_full:
        return JournalFull(f"there is no room for more: {error.description}")
    if error.err_code in NO_PEERS:
        return JournalError(f"{error.description}: are there fewer servers than replicas?")
    if error.err_code in (10039, 10035) or "not enabled" in error.description:
        return JournalError(
            "JetStream is not enabled for this account: jetstream {} in the server's settings"
        )
    return JournalError(f"NATS refuses this: {error.description}")
