"""The index of each node: filled from the journal, kept between runs, and without what was deleted."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from dragoman_hub.nats import NatsOptions, NatsStore, open_nats, read_address, search
from dragoman_local.contracts.journals import chunk_entry, prompt_entry
from tests.nats.places import fresh, opened
from tests.nats_servers import Servers

pytestmark = pytest.mark.bound(40)


async def found(place: NatsStore, text: str) -> list[tuple[str, int]]:
    return [(one.stream, one.sequence) for one in await place.journal.search(text)]


async def finds(place: NatsStore, text: str, wanted: list[tuple[str, int]]) -> bool:
    """Whether a search finds just this. On a busy machine one may answer before the index is ready."""
    for _ in range(5):
        if sorted(await found(place, text)) == wanted:
            return True
    return False


def options(server: Servers, prefix: str, index: Path) -> NatsOptions:
    return replace(read_address(f"{server.url}/{prefix}?shards=2"), index=index)


async def test_what_one_node_has_stored_another_finds_and_what_was_deleted_nobody_does(
    server: Servers,
) -> None:
    async with opened(server, prefix := fresh()) as place, opened(server, prefix) as other:
        await place.journal.append("a", [prompt_entry("Where is the needle?")])
        await place.journal.append(
            "b", [chunk_entry("agent_message_chunk", "In the hay"), prompt_entry("needles")]
        )
        await place.journal.describe("b", title="Farming")
        assert await finds(other, "needle", [("a", 1), ("b", 2)])
        hay = (await other.journal.search("hay"))[0]
        assert (hay.title, hay.kind) == ("Farming", "message")
        await place.journal.delete("b")
        assert await found(place, "needle") == [("a", 1)]
        await place.journal.append("b", [prompt_entry("needlework")])
        assert await finds(place, "needle", [("a", 1), ("b", 1)])


async def test_a_long_stream_is_indexed_in_steps(server: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "STEP_ENTRIES", 10)
    async with opened(server, fresh()) as place:
        words = [
            prompt_entry(f"word{n}") if n % 7 == 0 else chunk_entry("agent_message_chunk", f"w{n} ")
            for n in range(60)
        ]
        for begin in range(0, 60, 6):
            await place.journal.append("a", words[begin : begin + 6])
        assert await finds(place, "word56", [("a", 57)])
        assert await found(place, "w12") == [("a", 9)]
        assert await found(place, "w8 w13") == [("a", 9)]


async def test_the_index_is_kept_between_runs_and_made_again_when_it_is_damaged(
    server: Servers, tmp_path: Path
) -> None:
    prefix, index = fresh(), tmp_path / "index.db"
    chosen = options(server, prefix, index)
    async with open_nats(server.url, options=chosen) as place:
        await place.journal.append("a", [prompt_entry("kept")])
        assert await found(place, "kept") == [("a", 1)]
    async with open_nats(server.url, options=chosen) as place:
        await place.journal.delete("a")
        await place.journal.append("c", [prompt_entry("newer")])
    async with open_nats(server.url, options=chosen) as place:
        assert await found(place, "kept") == []
        assert await found(place, "newer") == [("c", 1)]
    index.write_bytes(b"no database at all" * 100)
    async with open_nats(server.url, options=chosen) as place:
        assert await found(place, "newer") == [("c", 1)]


async def test_a_search_answers_with_what_it_has_when_its_time_is_over(
    server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(server, fresh()) as place:
        await place.journal.append("a", [prompt_entry("early")])
        assert await found(place, "early") == [("a", 1)]
        await place.journal.append("b", [prompt_entry("early too")])
        monkeypatch.setattr(search, "CATCH_UP_SECONDS", 0.0)
        assert await found(place, "early") == [("a", 1)]


async def test_the_index_catches_up_by_itself_too(server: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "BY_ITSELF_SECONDS", 0.02)
    async with opened(server, fresh()) as place:
        await place.journal.append("a", [prompt_entry("quietly")])
        monkeypatch.setattr(search, "CATCH_UP_SECONDS", 0.0)
        while not await found(place, "quietly"):
            pass
