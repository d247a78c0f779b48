"""The index of idempotency keys on NATS: whatever a lost node has left undone, every key is found."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dragoman.errors import JournalError
from dragoman_hub.nats import NatsStore
from dragoman_hub.nats import key_index as module
from dragoman_hub.nats.jetstream import JetStream
from dragoman_hub.nats.key_index import NatsKeyIndex
from dragoman_hub.nats.layout import token_of
from dragoman_local.contracts.journals import entries, hub_note, keyed_turn
from dragoman_local.journal import Entry, KeyEntries
from dragoman_local.journal.idempotency import KeyedEntry
from tests.nats.places import fresh, opened
from tests.nats_servers import Servers

pytestmark = pytest.mark.bound(60)


def turns(first: int, last: int) -> list[Entry]:
    return [entry for number in range(first, last) for entry in keyed_turn(f"k{number}")]


def keys_of(place: NatsStore) -> NatsKeyIndex:
    return place.journal._keys


async def kept(place: NatsStore) -> dict[str, int]:
    """All that the bucket of keys holds."""
    jetstream: JetStream = place.journal._jetstream
    bucket = keys_of(place)._bucket
    return await jetstream.counts(bucket.stream, bucket.root + ">")


@asynccontextmanager
async def lost_before_indexing(server: Servers, prefix: str) -> AsyncIterator[NatsStore]:
    """A node that is lost after each record, before the record's keys are in the index."""
    async with opened(server, prefix) as place:
        keys_of(place).on_stored = lambda *_: None  # type: ignore[method-assign]
        yield place


async def find(place: NatsStore, number: int) -> KeyEntries | None:
    return await place.journal.find_key("s", f"k{number}")


async def test_keys_of_a_node_that_was_lost_before_it_indexed_them_are_found(server: Servers) -> None:
    prefix = fresh()
    async with opened(server, prefix) as place:
        await place.journal.append("s", turns(0, 3))
    async with lost_before_indexing(server, prefix) as place:
        await place.journal.append("s", turns(3, 5))
    async with opened(server, prefix) as place:
        assert await find(place, 4) == KeyEntries(prompt=17, answer=20)
        assert await find(place, 1) == KeyEntries(prompt=5, answer=8)
        assert await find(place, 5) is None


async def test_a_node_that_goes_on_first_indexes_what_the_one_before_left_undone(server: Servers) -> None:
    prefix = fresh()
    async with lost_before_indexing(server, prefix) as place:
        await place.journal.append("s", turns(0, 2))
    async with opened(server, prefix) as place:
        await place.journal.append("s", turns(2, 3))
    async with opened(server, prefix) as place:
        for number in range(3):
            assert await find(place, number) == KeyEntries(prompt=number * 4 + 1, answer=number * 4 + 4)


async def test_nodes_that_append_to_one_stream_by_turns_leave_no_key_out(server: Servers) -> None:
    prefix = fresh()
    async with opened(server, prefix) as one, lost_before_indexing(server, prefix) as two:
        for number in range(6):
            await (two if number % 2 else one).journal.append("s", [*entries(1), *turns(number, number + 1)])
    async with opened(server, prefix) as place:
        for number in range(6):
            assert await find(place, number) == KeyEntries(prompt=number * 5 + 2, answer=number * 5 + 5)


async def test_an_index_that_no_node_has_written_is_made_when_it_is_needed(
    server: Servers, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "NOTED_ENTRIES", 100)
    prefix = fresh()
    async with lost_before_indexing(server, prefix) as place:
        await place.journal.append("s", [hub_note("made", ""), *turns(0, 60)])
        assert await kept(place) == {}
    caplog.set_level(logging.INFO, module.__name__)
    async with opened(server, prefix) as place:
        assert await find(place, 0) == KeyEntries(prompt=2, answer=5)
        assert await find(place, 59) == KeyEntries(prompt=238, answer=241)
        assert len(await kept(place)) == 60
    assert [record.getMessage() for record in caplog.records] == [
        "journal: making the index of keys of stream s from 241 entries"
    ]


async def test_making_an_index_goes_on_where_it_was_broken_off(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix, written = fresh(), 0
    async with lost_before_indexing(server, prefix) as place:
        await place.journal.append("s", turns(0, 20))
    real = NatsKeyIndex._write

    async def fail_at_eleventh(index: NatsKeyIndex, *arguments: Any) -> None:
        nonlocal written
        written += 1
        if written == 11:
            raise JournalError("the network is gone")
        await real(index, *arguments)

    monkeypatch.setattr(NatsKeyIndex, "_write", fail_at_eleventh)
    async with opened(server, prefix) as place:
        with pytest.raises(JournalError, match="the network is gone"):
            await find(place, 19)
        assert await find(place, 19) == KeyEntries(prompt=77, answer=80)
        assert await find(place, 5) == KeyEntries(prompt=21, answer=24)
    assert written == 41, "what was written before was written again"


async def test_lookups_at_the_same_time_make_an_index_once(server: Servers) -> None:
    prefix = fresh()
    async with lost_before_indexing(server, prefix) as place:
        await place.journal.append("s", turns(0, 10))
    async with opened(server, prefix) as place:
        found = await asyncio.gather(*(find(place, number) for number in range(10)))
        assert found == [KeyEntries(prompt=number * 4 + 1, answer=number * 4 + 4) for number in range(10)]


async def test_a_stream_that_was_never_made_is_not_found_by_its_key(server: Servers) -> None:
    async with opened(server, fresh()) as place:
        await keys_of(place).claim("never", token_of("never"), "m")
        assert await place.journal.find_stream_by_key("m") is None
        await place.journal.append("s", [hub_note("made", "m")])
        assert await place.journal.find_stream_by_key("m") == "s"


async def test_nothing_of_a_deleted_stream_stays_in_the_index(server: Servers) -> None:
    async with opened(server, fresh()) as place:
        await place.journal.append("s", [hub_note("made", "m"), *turns(0, 5)])
        await find(place, 4)
        assert len(await kept(place)) == 7
        await place.journal.delete("s")
        assert await kept(place) == {}


async def test_a_late_word_of_a_lost_node_about_a_stream_that_was_made_anew_counts_for_nothing(
    server: Servers,
) -> None:
    prefix = fresh()
    async with opened(server, prefix) as place, opened(server, prefix) as late:
        await late.journal.append("s", turns(0, 1))
        life = (await late.journal._tails.read(token_of("s"))).life
        await place.journal.delete("s")
        await place.journal.append("s", entries(9))
        await keys_of(late)._write(token_of("s"), life, KeyedEntry("answer", "k0", 4))
        assert await find(place, 0) is None
