"""What tests of the journal on NATS share: places with names of their own on servers of a module."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count

from dragoman_hub.nats import NatsStore, open_nats
from dragoman_local.journal import Journal
from tests.nats_servers import Servers

_numbers = count()


def fresh(word: str = "t") -> str:
    """A prefix that nobody has used."""
    return f"{word}{next(_numbers)}"


def opened(
    servers: Servers, prefix: str, *, query: str = "shards=2"
) -> AbstractAsyncContextManager[NatsStore]:
    return open_nats(f"{servers.url}/{prefix}?{query}")


@asynccontextmanager
async def fresh_journal(servers: Servers) -> AsyncIterator[Journal]:
    async with opened(servers, fresh()) as place:
        yield place.journal
