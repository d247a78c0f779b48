"""What one node writes about streams is in every node's listing, and what both write is kept."""

from __future__ import annotations

import asyncio

import pytest

from dragoman_hub.nats import NatsStore, catalog
from dragoman_local.journal import StreamInfo, StreamListing
from tests.journal.streams import note, notes
from tests.nats.lossy import lossy
from tests.nats.places import fresh, opened
from tests.nats_servers import Servers

pytestmark = pytest.mark.bound(40)


async def listed(place: NatsStore, wanted: dict[str, str | int | None]) -> StreamListing:
    """The listing, once it has these streams with these values: the title, or how far they go."""
    while True:
        listing = await place.journal.list()
        found = {info.stream: value(info, wanted.get(info.stream)) for info in listing.streams}
        if found == wanted:
            return listing
        await asyncio.sleep(0.01)


def value(info: StreamInfo, like: str | int | None) -> str | int:
    return info.last if isinstance(like, int) else info.title


async def test_what_one_node_describes_or_deletes_the_other_lists(server: Servers) -> None:
    async with opened(server, prefix := fresh()) as place, opened(server, prefix) as other:
        await place.journal.describe("a", title="first")
        await listed(other, {"a": "first"})
        await other.journal.describe("a", title="second")
        await other.journal.append("b", [note("1")])
        await listed(place, {"a": "second", "b": ""})
        await place.journal.delete("a")
        await listed(other, {"b": ""})


async def test_what_two_nodes_describe_at_once_is_all_kept(server: Servers) -> None:
    async with opened(server, prefix := fresh()) as place, opened(server, prefix) as other:
        await place.journal.describe("a", agent="echo")
        await asyncio.gather(
            *(place.journal.describe("a", title=f"t{n}") for n in range(10)),
            *(other.journal.describe("a", state=f"s{n}") for n in range(10)),
        )
        info = await place.journal.info("a")
        assert info is not None
        assert info.agent == "echo"
        assert info.title.startswith("t")
        assert info.state.startswith("s")


async def test_how_far_a_running_stream_goes_reaches_other_nodes_after_a_while(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "REFRESH_SECONDS", 0.05)
    async with opened(server, prefix := fresh()) as place, opened(server, prefix) as other:
        await place.journal.append("a", notes(3))
        await listed(other, {"a": 3})
        await place.journal.append("a", notes(4))
        await listed(other, {"a": 7})


async def test_descriptions_that_could_not_be_written_are_written_later(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "REFRESH_SECONDS", 0.05)
    async with (
        lossy(server, prefix := fresh(), monkeypatch) as (place, wire),
        opened(server, prefix) as other,
    ):
        await place.journal.append("a", notes(3))
        monkeypatch.setattr(catalog, "PATIENCE", 0.1)
        wire.lose_question("$KV.", times=8)
        await place.journal.append("a", notes(4))
        await listed(other, {"a": 7})
        assert wire.lost > 1


async def test_what_was_not_written_yet_is_written_when_a_node_leaves(server: Servers) -> None:
    prefix = fresh()
    async with opened(server, prefix) as place:
        await place.journal.append("a", notes(5))
    async with opened(server, prefix) as other:
        await listed(other, {"a": 5})


async def test_a_stream_whose_node_was_lost_before_it_was_named_is_there_all_the_same(
    server: Servers,
) -> None:
    prefix = fresh()
    async with opened(server, prefix) as place:
        await place.journal.append("a", notes(5))
        bucket = f"{prefix}_meta"
        await place.journal._jetstream.purge(f"KV_{bucket}", f"$KV.{bucket}.>")
    async with opened(server, prefix) as other:
        info = await other.journal.info("a")
        assert info is not None
        assert (info.stream, info.last) == ("a", 5)
        await other.journal.append("a", [note("6")])
        await listed(other, {"a": 6})
