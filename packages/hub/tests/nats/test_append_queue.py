"""Appends are stored once or not at all, whatever is lost on the way, and keep their order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from dragoman.errors import JournalError, JournalFull, StreamMoved
from dragoman_hub.nats import NatsStore, append_queue
from dragoman_hub.nats.layout import Layout, token_of
from dragoman_local.journal import Journal
from tests.journal.streams import frames, note, notes
from tests.nats.lossy import Lossy, lossy
from tests.nats.places import fresh, opened
from tests.nats_servers import Servers

pytestmark = pytest.mark.bound(40)


async def records(place: NatsStore, prefix: str, stream: str) -> int:
    """How many messages hold a stream."""
    layout = Layout(prefix, shards=1)
    found = await place.journal._jetstream.counts(layout.shard(0), f"{prefix}.j.0.>")
    return found.get(layout.subject_of(token_of(stream)), 0)


@asynccontextmanager
async def beside(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[NatsStore, Lossy, NatsStore, str]]:
    """A node that loses words, another one, and how subjects of records begin; stream `a` has one entry."""
    async with (
        lossy(server, prefix := fresh(), monkeypatch) as (place, wire),
        opened(server, prefix) as other,
    ):
        await place.journal.append("a", [note("1")])
        yield place, wire, other, f"{prefix}.j."


async def test_an_append_whose_acknowledgement_is_lost_is_stored_once(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with lossy(server, prefix := fresh(), monkeypatch) as (place, wire):
        await place.journal.append("a", [note("1")])
        wire.lose_answer(f"{prefix}.j.", times=3)
        assert await place.journal.append("a", [note("2")], after=1) == 2
        assert wire.lost == 3
        assert await place.journal.append("a", [note("3")], after=2) == 3
        assert await frames(place.journal, "a") == [b"1", b"2", b"3"]


async def test_a_first_append_whose_acknowledgement_is_lost_is_stored_once(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with lossy(server, prefix := fresh(), monkeypatch) as (place, wire):
        wire.lose_answer(f"{prefix}.j.")
        assert await place.journal.append("a", [note("1")], after=0) == 1
        assert await frames(place.journal, "a") == [b"1"]


async def test_an_append_is_found_to_be_stored_though_another_node_has_written_behind_it(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with beside(server, monkeypatch) as (place, wire, other, subjects):
        wire.lose_answer(subjects, then=partial(other.journal.append, "a", [note("3")]))
        assert await place.journal.append("a", [note("2")], after=1) == 2
        assert await frames(other.journal, "a") == [b"1", b"2", b"3"]


async def test_what_waits_and_is_not_wanted_any_more_is_not_stored(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with lossy(server, prefix := fresh(), monkeypatch) as (place, wire):
        await place.journal.append("a", [note("1")])
        lost = asyncio.Event()

        async def heard() -> None:
            lost.set()

        wire.lose_question(f"{prefix}.j.", then=heard)
        first = asyncio.create_task(place.journal.append("a", [note("2")], after=1))
        await lost.wait()
        unwanted = [
            asyncio.create_task(place.journal.append("a", [note("3")], after=2)),
            asyncio.create_task(place.journal.append("a", [note("4")], after=7)),
        ]
        await asyncio.sleep(0)
        for one in unwanted:
            one.cancel()
        await asyncio.wait(unwanted)
        assert await first == 2
        assert await place.journal.append("a", [note("5")], after=2) == 3
        assert await frames(place.journal, "a") == [b"1", b"2", b"5"]


async def test_what_is_not_wanted_any_more_is_not_sent_again(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with beside(server, monkeypatch) as (place, wire, other, subjects):
        mine: list[asyncio.Task[int]] = []

        async def elsewhere() -> None:
            await other.journal.append("a", [note("2")])
            mine[0].cancel()

        wire.lose_question(subjects, then=elsewhere)
        mine.append(asyncio.create_task(place.journal.append("a", [note("late")])))
        with pytest.raises(asyncio.CancelledError):
            await mine[0]
        assert await place.journal.append("a", [note("3")]) == 3
        assert await frames(other.journal, "a") == [b"1", b"2", b"3"]


async def test_an_append_that_was_lost_goes_behind_what_another_node_has_written(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with beside(server, monkeypatch) as (place, wire, other, subjects):
        wire.lose_question(subjects, then=partial(other.journal.append, "a", [note("2")]))
        assert await place.journal.append("a", [note("3")]) == 3
        assert await frames(other.journal, "a") == [b"1", b"2", b"3"]


async def test_a_fenced_append_that_was_lost_is_refused_once_another_node_has_written(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with beside(server, monkeypatch) as (place, wire, other, subjects):
        wire.lose_question(subjects, then=partial(other.journal.append, "a", notes(2)))
        with pytest.raises(StreamMoved) as moved:
            await place.journal.append("a", [note("late")], after=1)
        assert (moved.value.expected_last, moved.value.last) == (1, 3)
        assert len(await frames(other.journal, "a")) == 3


async def test_a_fenced_append_that_was_lost_is_refused_by_another_stream_of_the_same_length(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with beside(server, monkeypatch) as (place, wire, other, subjects):

        async def begin_anew() -> None:
            await other.journal.delete("a")
            await other.journal.append("a", [note("new")])

        wire.lose_question(subjects, then=begin_anew)
        with pytest.raises(StreamMoved):
            await place.journal.append("a", [note("late")], after=1)
        assert await frames(other.journal, "a") == [b"new"]


async def test_what_nobody_acknowledges_is_an_error_and_the_next_append_knows_the_truth(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with lossy(server, fresh(), monkeypatch) as (place, wire):
        await place.journal.append("a", [note("1")])
        with monkeypatch.context() as patched:
            patched.setattr(append_queue, "PATIENCE", 0.2)
            patched.setattr(append_queue, "LEAST_PATIENCE", 0.2)
            wire.lose_answer("", times=1000)
            with pytest.raises(JournalError, match="may have been stored"):
                await place.journal.append("a", [note("2")], after=1)
            wire._answers.clear()
        with pytest.raises(StreamMoved):
            await place.journal.append("a", [note("2")], after=1)
        assert await place.journal.append("a", [note("3")], after=2) == 3
        assert await frames(place.journal, "a") == [b"1", b"2", b"3"]


async def test_what_is_appended_while_a_record_is_under_way_shares_the_next_one(server: Servers) -> None:
    async with opened(server, prefix := fresh(), query="shards=1") as place:
        begun = [place.journal.append("a", [note(b"%d" % n)]) for n in range(50)]
        assert await asyncio.gather(*begun) == list(range(1, 51))
        assert await records(place, prefix, "a") <= 3
        assert await frames(place.journal, "a") == [b"%d" % n for n in range(50)]


async def test_a_stream_in_trouble_does_not_hold_up_another(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with lossy(server, prefix := fresh(), monkeypatch) as (place, wire):
        held = asyncio.Event()
        wire.lose_question(Layout(prefix, shards=1).subject_of(token_of("slow")), then=held.wait)
        slow = asyncio.ensure_future(place.journal.append("slow", [note("1")]))
        assert await place.journal.append("quick", [note("1")]) == 1
        assert not slow.done()
        held.set()
        assert await slow == 1


async def test_a_stream_that_another_node_has_deleted_begins_anew(server: Servers) -> None:
    async with opened(server, prefix := fresh()) as place, opened(server, prefix) as other:
        await place.journal.append("a", notes(5))
        assert await other.journal.delete("a")
        assert await place.journal.append("a", [note("new")]) == 1
        assert await frames(other.journal, "a") == [b"new"]
        with pytest.raises(StreamMoved):
            await place.journal.append("a", [note("x")], after=5)


async def test_a_large_append_lies_in_the_object_store_and_goes_with_its_stream(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with lossy(server, prefix := fresh(), monkeypatch) as (place, wire):
        big = [note(bytes([n]) * 300_000 + b"%d" % n) for n in range(5)]
        await place.journal.append("a", notes(2))
        monkeypatch.setattr("dragoman_hub.nats.records.DEFLATE_FROM", 1 << 40)
        wire.lose_answer("$O.")
        assert await place.journal.append("a", big) == 7
        stored = await frames(place.journal, "a")
        assert stored[2:] == [entry.frame for entry in big]
        assert await chunks(place, prefix) == 6
        assert await place.journal.delete("a")
        assert await chunks(place, prefix) == 0


async def chunks(place: NatsStore, prefix: str) -> int:
    found = await place.journal._jetstream.counts(f"OBJ_{prefix}", f"$O.{prefix}.>")
    return sum(found.values())


async def test_what_does_not_fit_is_refused_and_what_is_there_stays(server: Servers) -> None:
    async with opened(server, fresh(), query="shards=1&max_bytes=40kb") as place:
        with pytest.raises(JournalFull, match="no room"):
            await fill(place.journal)
        assert 5 < len(await frames(place.journal, "a")) < 20


async def fill(journal: Journal) -> None:
    for _ in range(20):
        await journal.append("a", [note(b"x" * 2_000)])


async def test_secrets_are_not_stored(server: Servers) -> None:
    async with opened(server, fresh()) as place:
        secret = b"sk-ant-api03-" + b"a1B2c3D4" * 8
        await place.journal.append("a", [note(b'{"key":"' + secret + b'"}')])
        assert secret not in (await frames(place.journal, "a"))[0]
