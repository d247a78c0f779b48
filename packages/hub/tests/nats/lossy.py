"""A connection that can be told to lose what passes over it; everything else is the real one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TypeAlias

import pytest

from dragoman_hub.nats import NatsStore, store
from dragoman_hub.nats.connection import ANSWER_SECONDS, NatsConnection
from dragoman_hub.nats.options import NatsOptions
from dragoman_hub.nats.replies import NoReply, ServerReply
from tests.nats.places import opened
from tests.nats_servers import Servers

Then: TypeAlias = Callable[[], Awaitable[object]]


class Lossy(NatsConnection):
    """`lose_answer` and `lose_question` lose as many of what is asked on subjects that begin so."""

    latest: Lossy

    def __init__(self, options: NatsOptions, *, inbox: str) -> None:
        super().__init__(options, inbox=inbox)
        Lossy.latest = self
        self._answers: list[tuple[str, Then | None]] = []
        self._questions: list[tuple[str, Then | None]] = []
        self.replies: list[Callable[[list[ServerReply]], list[ServerReply]]] = []
        """Each changes the answers to one batch of records."""
        self.read = 0
        """Records that came in batches."""
        self.asked = 0
        """Requests for records of streams: where a stream ends, and batches."""
        self.lost = 0
        self.silences = 0
        """So many reads of the register are not answered."""

    def lose_answer(self, subject: str, *, times: int = 1, then: Then | None = None) -> None:
        self._answers += [(subject, then)] * times

    def lose_question(self, subject: str, *, times: int = 1, then: Then | None = None) -> None:
        self._questions += [(subject, then)] * times

    async def ask(
        self,
        subject: str,
        data: bytes,
        *,
        headers: Mapping[str, str] | None = None,
        within: float = ANSWER_SECONDS,
    ) -> ServerReply:
        if self._questions and subject.startswith(self._questions[0][0]):
            await self._drop(self._questions)
        self.asked += ".STREAM.MSG.GET." in subject
        reply = await super().ask(subject, data, headers=headers, within=within)
        if self._answers and subject.startswith(self._answers[0][0]):
            await self._drop(self._answers)
        return reply

    async def ask_many(
        self, subject: str, data: bytes, *, within: float = ANSWER_SECONDS
    ) -> list[ServerReply]:
        if subject.endswith("_register") and self.silences:
            self.silences -= 1
            await asyncio.sleep(within)
            raise NoReply("nothing was said")
        replies = await super().ask_many(subject, data, within=within)
        if ".DIRECT.GET.KV_" in subject:
            return replies  # buckets are read at any time
        self.asked += 1
        if self.replies:
            replies = self.replies.pop(0)(replies)
        self.read += len(replies) - 1
        return replies

    async def _drop(self, among: list[tuple[str, Then | None]]) -> None:
        _, then = among.pop(0)
        self.lost += 1
        if then is not None:
            await then()
        raise NoReply("lost")


@asynccontextmanager
async def lossy(
    servers: Servers, prefix: str, monkeypatch: pytest.MonkeyPatch, *, query: str = "shards=1"
) -> AsyncIterator[tuple[NatsStore, Lossy]]:
    """A place over such a connection."""
    with monkeypatch.context() as patched:
        patched.setattr(store, "NatsConnection", Lossy)
        opening = opened(servers, prefix, query=query)
        made = await opening.__aenter__()
    wire = Lossy.latest
    try:
        yield made, wire
    finally:
        await opening.__aexit__(None, None, None)
