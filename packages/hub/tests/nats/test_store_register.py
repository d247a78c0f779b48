"""The register decides, also when its answers are lost; whoever watches hears of everything in the end."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from dragoman.errors import JournalError, KeyTaken
from dragoman_hub.nats import bucket_follower, store
from dragoman_local.journal.shared_state import RegisterValue
from tests.journal.shared_state_checks import BusRecorder
from tests.nats.lossy import lossy
from tests.nats.places import fresh, opened
from tests.nats_servers import Servers

pytestmark = pytest.mark.bound(40)


async def test_a_write_whose_acknowledgement_is_lost_is_no_failure(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with lossy(server, fresh(), monkeypatch) as (place, wire):
        wire.lose_answer("$KV.", times=2)
        first = await place.register.create("lease.a", b"1")
        wire.lose_answer("$KV.", times=2)
        second = await place.register.update("lease.a", b"2", first)
        assert await place.register.get("lease.a") == RegisterValue(b"2", second)
        wire.lose_answer("$KV.", times=2)
        await place.register.delete("lease.a", second)
        wire.lose_answer("$KV.", times=2)
        again = await place.register.create("lease.a", b"3")
        assert await place.register.get("lease.a") == RegisterValue(b"3", again)
        assert wire.lost == 8


async def test_a_write_that_was_lost_is_refused_once_another_has_written(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        lossy(server, prefix := fresh(), monkeypatch) as (place, wire),
        opened(server, prefix) as other,
    ):
        first = await place.register.create("lease.a", b"mine")
        wire.lose_question("$KV.", then=partial(other.register.update, "lease.a", b"theirs", first))
        with pytest.raises(KeyTaken):
            await place.register.update("lease.a", b"mine too", first)
        held = await place.register.get("lease.a")
        assert held is not None
        assert held.value == b"theirs"


async def test_what_nobody_answers_is_an_error_before_a_lease_could_end(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert store.WITHIN_SECONDS <= 5
    async with lossy(server, fresh(), monkeypatch) as (place, wire):
        monkeypatch.setattr(store, "WITHIN_SECONDS", 0.2)
        wire.lose_question("$KV.", times=1000)
        with pytest.raises(JournalError, match="lost"):
            await place.register.create("lease.a", b"1")


async def test_a_watch_that_gets_no_hints_hears_of_changes_all_the_same(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket_follower, "LOOK_SECONDS", 0.05)
    async with opened(server, prefix := fresh()) as place, opened(server, prefix) as other:
        told = BusRecorder()
        watch = await place.register.watch("node", told.on_change)
        hints = place.register._follower._hints
        assert hints is not None
        await hints.aclose()
        await other.register.create("node.a", b"1")
        await told.until_keys({"node.a": b"1"})
        await watch.aclose()


async def test_whoever_was_away_so_long_that_marks_have_gone_is_told_the_differences(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(server, prefix := fresh()) as place, opened(server, prefix) as other:
        told = BusRecorder()
        await place.register.watch("node", told.on_change)
        kept, gone = [await other.register.create(f"node.{name}", b"1") for name in ("kept", "gone")]
        await told.until_keys({"node.kept": b"1", "node.gone": b"1"})
        follower = place.register._follower
        async with follower._reading:  # it looks away
            await other.register.delete("node.gone", gone)
            await other.register.update("node.kept", b"2", kept)
            jetstream = place.journal._jetstream
            assert await jetstream.purge(f"KV_{prefix}_register", f"$KV.{prefix}_register.node.gone") == 1
            monkeypatch.setattr(follower, "_read_at", asyncio.get_running_loop().time() - 86_400)
        await told.until_keys({"node.kept": b"2", "node.gone": None})


async def test_a_watch_begins_though_a_server_that_hangs_is_asked_first(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = fresh()
    async with opened(server, prefix) as other:
        await other.register.create("nodes.a", b"one")
        async with lossy(server, prefix, monkeypatch) as (place, wire):
            wire.silences = 3  # as many as fit into five seconds, if each is waited for
            told: dict[str, RegisterValue | None] = {}
            watch = await place.register.watch("nodes", told.__setitem__)
            assert wire.silences == 0
            assert [held.value for held in told.values() if held is not None] == [b"one"]
            await watch.aclose()
