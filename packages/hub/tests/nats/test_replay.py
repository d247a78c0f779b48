"""Replay: from anywhere without reading all, complete though a replica lags, honest about what is gone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from secrets import token_bytes
from typing import Any, TypeVar

import pytest

from dragoman.errors import JournalDamaged, NoSuchStream
from dragoman_hub.nats import NatsStore, replay
from dragoman_hub.nats.layout import Layout, token_of
from dragoman_hub.nats.replay import LOOKS, NEAR
from dragoman_hub.nats.replies import ServerReply
from dragoman_local.journal import StoredEntry
from dragoman_local.journal.entry_runs import FrameLines
from tests.journal.streams import frames, note, notes
from tests.nats.lossy import Lossy, lossy
from tests.nats.places import fresh, opened
from tests.nats_servers import Servers

T = TypeVar("T")

pytestmark = pytest.mark.bound(40)


def nothing(replies: list[ServerReply]) -> list[ServerReply]:
    """As a replica answers that has not heard of it yet."""
    end = replies[-1]
    return [ServerReply(end.subject, 404, {}, b"")]


def half(replies: list[ServerReply]) -> list[ServerReply]:
    return [*replies[: len(replies) // 2], replies[-1]]


async def test_reading_from_the_middle_does_not_read_what_is_before(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = fresh()
    async with opened(server, prefix, query="shards=1") as place:
        for n in range(150):
            await place.journal.append("a", [note(b"%d" % (n * 100 + m)) for m in range(100)])
            if n % 3 == 0:  # others of the shard lie between
                await place.journal.append("b", notes(3))
    async with lossy(server, prefix, monkeypatch) as (cold, wire):
        got = [one async for page in cold.journal.replay("a", after=9_000, limit=250) for one in page]
        assert [(one.sequence, one.frame) for one in got] == [
            (n, b"%d" % (n - 1)) for n in range(9_001, 9_251)
        ]
        assert wire.read < 75
        before = wire.read
        await last(cold, "a", after=9_100)
        assert wire.read - before < 75


@pytest.mark.parametrize("late", [False, True])
async def test_the_end_of_a_stream_of_small_records_is_read_alone(
    late: bool, server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each entry is a record; `late`: most of them lie together at the end of the shard."""
    prefix = fresh()
    async with opened(server, prefix, query="shards=1") as place:
        await place.journal.append("a", [note(b"1")])
        for n in range(2, 602):
            await place.journal.append("b" if late and n < 300 else "a", [note(b"%d" % n)])
        count = 303 if late else 601
        async with lossy(server, prefix, monkeypatch) as (cold, wire):
            got = [one async for page in cold.journal.replay("a", after=count - 20) for one in page]
            assert [one.sequence for one in got] == list(range(count - 19, count + 1))
            assert wire.read < 20 + NEAR + LOOKS
            wire.replies += [nothing] * 100  # what comes next must not be asked for
            assert not [one async for page in cold.journal.replay("a", after=count) for one in page]
            assert len(wire.replies) == 100


async def test_large_records_are_taken_apart_outside_the_loop(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was deflated, one that lies in the object store, and one of many lines."""
    threads: list[int] = []

    def seen(work: Callable[..., T]) -> Callable[..., T]:
        def do(*given: Any, **more: Any) -> T:
            threads.append(threading.get_ident())
            return work(*given, **more)

        return do

    lines = [b"%d" % n * 40 for n in range(4_000)]
    large = [b"x" * 3_000_000], [token_bytes(500_000).hex().encode()], lines
    async with opened(server, fresh()) as place:
        for texts in large:
            await place.journal.append("a", [note(text) for text in texts])
        monkeypatch.setattr(replay, "read_rest", seen(replay.read_rest))
        monkeypatch.setattr(FrameLines, "__getitem__", seen(FrameLines.__getitem__))
        pages = [page async for page in place.journal.replay("a")]
        assert len(threads) >= 4
        assert threading.get_ident() not in threads
        first = [page async for page in place.journal.replay("a", after=2, limit=3)]
        assert threading.get_ident() not in threads
    assert [one.frame for page in pages for one in page] == [frame for texts in large for frame in texts]
    assert [one.frame for page in first for one in page] == lines[:3]


async def test_the_first_entries_of_many_streams_take_one_request_each(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of sessions asks for them, and there may be thousands."""
    prefix, names = fresh(), [f"s{n}" for n in range(20)]
    async with opened(server, prefix, query="shards=1") as place:
        for name in names:
            await place.journal.append(name, [note(name), note("second")])
    async with lossy(server, prefix, monkeypatch) as (cold, wire):
        before = wire.asked
        first = await cold.journal.first_entries([*names, "nobody"])
        assert {name: entry.frame for name, entry in first.items()} == {n: n.encode() for n in names}
        assert wire.asked - before < 2 * len(names)
        wire.replies += [nothing] * 3  # a replica that lags
        assert list(await cold.journal.first_entries(["s7"])) == ["s7"]


async def last(place: NatsStore, stream: str, *, after: int) -> StoredEntry:
    pages = [page async for page in place.journal.replay(stream, after=after, limit=10)]
    return pages[-1][-1]


async def test_a_replica_that_lags_is_asked_again_until_all_is_there(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = fresh()
    async with opened(server, prefix, query="shards=1") as place:
        for n in range(10):
            await place.journal.append("a", [note(b"%d" % n)])
        async with lossy(server, prefix, monkeypatch) as (other, wire):
            for behind in ([nothing] * 3, [half, nothing, half], [nothing] * 8):
                wire.replies += behind
                assert await frames(other.journal, "a") == [b"%d" % n for n in range(10)]
                wire.replies.clear()


async def test_what_a_lagging_replica_holds_of_a_former_life_is_not_served(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = fresh()
    async with lossy(server, prefix, monkeypatch) as (place, wire), opened(server, prefix) as other:
        await place.journal.append("a", [note("old 1")])
        await place.journal.append("a", [note("old 2")])
        old = await captured(place, wire)
        await other.journal.delete("a")
        await other.journal.append("a", [note("new 1")])
        wire.replies.append(lambda replies: [*old, replies[-1]])
        assert await frames(place.journal, "a") == [b"new 1"]


async def captured(place: NatsStore, wire: Lossy) -> list[ServerReply]:
    """The messages of a stream, as they come now."""
    seen: list[ServerReply] = []

    def see(replies: list[ServerReply]) -> list[ServerReply]:
        seen.extend(replies[:-1])
        return replies

    wire.replies.append(see)
    await frames(place.journal, "a")
    return seen


async def test_a_record_that_is_gone_or_changed_ends_the_replay_behind_the_last_good_entry(
    server: Servers,
) -> None:
    prefix = fresh()
    async with opened(server, prefix, query="shards=1") as place:
        for stream in ("gone", "changed"):
            for n in range(3):
                await place.journal.append(stream, [note(b"%d" % n)] * 2)
        jetstream, layout = place.journal._jetstream, Layout(prefix, shards=1)
        await jetstream.api(f"STREAM.MSG.DELETE.{layout.shard(0)}", {"seq": 2})
        await jetstream.publish(layout.subject_of(token_of("changed")), b"no record", {})
        for stream, good, end in (("gone", 2, 2), ("changed", 6, 6)):
            got: list[StoredEntry] = []
            with pytest.raises(JournalDamaged) as damage:
                await collect(place, stream, got)
            assert (len(got), damage.value.sequence, damage.value.stream) == (good, end, stream)


async def collect(place: NatsStore, stream: str, got: list[StoredEntry]) -> None:
    async for page in place.journal.replay(stream):
        got.extend(page)


async def test_a_stream_that_is_described_and_empty_is_there_and_one_that_is_not_is_not(
    server: Servers,
) -> None:
    async with opened(server, prefix := fresh()) as place, opened(server, prefix) as other:
        await place.journal.describe("a", title="t")
        assert await frames(other.journal, "a") == []
        with pytest.raises(NoSuchStream):
            await frames(other.journal, "b")


async def test_what_another_node_has_appended_is_read_at_once(server: Servers) -> None:
    async with opened(server, prefix := fresh()) as place, opened(server, prefix) as other:
        for n in range(1, 30):
            writer, reader = (place, other) if n % 2 else (other, place)
            assert await writer.journal.append("a", [note(b"%d" % n)]) == n
            info = await reader.journal.info("a")
            assert info is not None
            assert info.last == n
            assert len(await frames(reader.journal, "a")) == n


async def test_records_that_went_by_their_age_are_no_damage_and_numbers_go_on(server: Servers) -> None:
    prefix = fresh()
    async with opened(server, prefix, query="shards=1&max_age=30d") as place:
        for n in range(5):
            await place.journal.append("a", [note(b"%d" % n)] * 2)
        layout = Layout(prefix, shards=1)
        subject = layout.subject_of(token_of("a"))
        purge = f"STREAM.PURGE.{layout.shard(0)}"
        await place.journal._jetstream.api(purge, {"filter": subject, "seq": 3})
        assert await frames(place.journal, "a") == [b"2"] * 2 + [b"3"] * 2 + [b"4"] * 2
        await place.journal.describe("a", title="kept")
        await place.journal._jetstream.api(purge, {"filter": subject})
    async with opened(server, prefix) as other:
        info = await other.journal.info("a")
        assert info is not None
        assert info.last == 10
        assert await other.journal.append("a", [note("new")]) == 11
        got = [one async for page in other.journal.replay("a") for one in page]
        assert [(one.sequence, one.frame) for one in got] == [(11, b"new")]
