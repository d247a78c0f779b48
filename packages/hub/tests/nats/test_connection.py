"""The connection outlives its server: a pause, and nothing has to be said twice; and it ends without one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dragoman.errors import JournalClosed, JournalError
from dragoman_hub.nats.replies import NoReply
from tests.journal.shared_state_checks import BusRecorder
from tests.journal.streams import frames, note
from tests.nats.places import opened
from tests.nats_servers import started

pytestmark = pytest.mark.bound(60)


async def test_a_server_that_comes_back_finds_everything_as_it_was(tmp_path: Path) -> None:
    with started(tmp_path, sync="always") as servers:
        async with opened(servers, "t", query="shards=1") as place:
            told, heard = BusRecorder(), BusRecorder()
            await place.register.watch("node", told.on_change)
            await place.bus.listen("news", heard.on_message)
            await place.journal.append("a", [note("1")])
            servers.kill(0)
            waiting = asyncio.ensure_future(place.journal.append("a", [note("2")], after=1))
            await asyncio.to_thread(servers.start, 0)
            assert await waiting == 2
            assert await frames(place.journal, "a") == [b"1", b"2"]
            await place.register.create("node.a", b"1")
            await told.until_keys({"node.a": b"1"})
            place.bus.send("news", b"again")
            await heard.until(lambda: [data for _, data, _ in heard.words] == [b"again"])


async def test_a_client_that_the_library_gives_up_is_made_again(tmp_path: Path) -> None:
    with started(tmp_path) as servers:
        async with opened(servers, "t", query="shards=1") as place:
            heard = BusRecorder()
            await place.bus.listen("news", heard.on_message)
            wire = place.journal._jetstream.wire
            assert wire._client is not None
            await (
                wire._client.library.close()
            )  # as it does when a server says something that it does not know
            assert await place.journal.append("a", [note("1")]) == 1
            place.bus.send("news", b"again")
            await heard.until(lambda: len(heard.words) == 1)


async def test_leaving_ends_although_no_server_is_there(tmp_path: Path) -> None:
    with started(tmp_path) as servers:
        async with opened(servers, "t", query="shards=1") as place:
            await place.journal.append("a", [note("1")])
            servers.kill(0)
            with pytest.raises(NoReply):
                await place.journal._jetstream.last("t_j0", "t.j.0.x", patience=0.1)
        for attempt in (place.register.create("a.b", b""), place.bus.ask("a", b"", within=1)):
            with pytest.raises(JournalError):
                await attempt
        with pytest.raises(JournalClosed):
            await place.journal.info("a")


async def test_two_answers_are_one(tmp_path: Path) -> None:
    with started(tmp_path) as servers:
        async with opened(servers, "t", query="shards=1") as place:

            def twice(_: str, data: bytes, answer: str) -> None:
                place.bus.send(answer, data + b" 1")
                place.bus.send(answer, data + b" 2")

            await place.bus.listen("twice", twice)
            assert [await place.bus.ask("twice", b"x", within=20) for _ in range(20)] == [b"x 1"] * 20
