"""Whoever is killed while it copies a journal to NATS or back loses nothing, and the next run finishes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from dragoman_hub.nats import open_nats, read_address
from dragoman_local.journal import Journal, SqliteJournal, StreamInfo
from dragoman_local.journal.journal_copy import CopyClock, all_streams, copy_journal
from tests.journal.streams import frames
from tests.journal.test_file_exchange_kills import COUNT, LOGGED, expected, make_journal, try_kills
from tests.journal.test_file_exchange_kills import pytestmark as pytestmark
from tests.nats.places import fresh
from tests.nats_servers import Servers, started

Place = str | Path
Content = tuple[list[StreamInfo], dict[str, list[bytes]]]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with started(tmp_path_factory.mktemp("nats")) as running:
        yield running


@asynccontextmanager
async def opened(place: Place, clock: CopyClock) -> AsyncIterator[Journal]:
    """As `dragoman journal copy` opens it."""
    if isinstance(place, Path):
        async with SqliteJournal(place, redact=None, clock=clock) as journal:
            yield journal
    else:
        options = msgspec.structs.replace(read_address(place), redact=None)
        async with open_nats(place, options=options, clock=clock) as store:
            yield store.journal


async def copy(source: Place, target: Place) -> None:
    clock = CopyClock()
    async with opened(source, CopyClock()) as original, opened(target, clock) as journal:
        async for _ in copy_journal(original, journal, clock):
            pass


async def content(place: Place) -> Content:
    async with opened(place, CopyClock()) as journal:
        infos = [info async for info in all_streams(journal)]
        return infos, {info.stream: await frames(journal, info.stream) for info in infos}


def test_a_copy_to_nats_is_finished_by_the_next_run(tmp_path: Path, servers: Servers) -> None:
    word = fresh("kill")

    def place(folder: Path) -> str:
        return f"{servers.url}/{word}{folder.name}?shards=1"

    def check(folder: Path) -> None:
        asyncio.run(copy(folder / "j.db", place(folder)))
        original = asyncio.run(content(folder / "j.db"))
        assert original[1] == expected(COUNT + LOGGED)
        assert asyncio.run(content(place(folder))) == original

    try_kills(
        tmp_path,
        lambda folder: make_journal(folder / "j.db", is_logged=True),
        lambda folder: asyncio.run(copy(folder / "j.db", place(folder))),
        check,
        is_exchange=False,
    )


def test_a_copy_from_nats_is_finished_by_the_next_run(tmp_path: Path, servers: Servers) -> None:
    source = f"{servers.url}/{fresh('kill')}?shards=1"
    make_journal(tmp_path / "original.db", is_logged=False)
    original = asyncio.run(content(tmp_path / "original.db"))
    asyncio.run(copy(tmp_path / "original.db", source))

    def check(folder: Path) -> None:
        asyncio.run(copy(source, folder / "j.db"))
        assert asyncio.run(content(folder / "j.db")) == original
        assert asyncio.run(content(source)) == original

    try_kills(
        tmp_path,
        lambda _: None,
        lambda folder: asyncio.run(copy(source, folder / "j.db")),
        check,
        is_exchange=False,
    )
