"""Originals on NATS: they outlive the node that wrote them, and are overwritten on the server's disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import JournalError
from dragoman_hub.nats.record_store import RecordStore
from dragoman_local.journal import Entry
from tests.nats.places import fresh, opened
from tests.nats_servers import started

pytestmark = pytest.mark.bound(60)

SECRET = b"sk-" + b"Z9y8" * 6
LARGE = b'{"method":"session/prompt","params":{"prompt":"%b"}}' % (SECRET + b" " + b"x" * 700_000)


def on_disk(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def test_another_node_reads_an_original_and_what_it_drops_is_gone_from_the_disk(tmp_path: Path) -> None:
    with started(tmp_path) as servers:
        prefix = fresh("o")
        async with opened(servers, prefix) as place:
            await place.journal.append("a", [Entry("note", LARGE, 5.0, True)])
        async with opened(servers, prefix) as place:
            (stored,) = [one async for page in place.journal.replay("a") for one in page]
            assert SECRET not in stored.frame
            assert await place.journal.originals("a") == {1: LARGE}
            assert SECRET in on_disk(tmp_path)
            await place.journal.drop_originals("a", [1])
            assert await place.journal.originals("a") == {}
            assert SECRET not in on_disk(tmp_path)


async def test_the_original_of_a_stream_that_was_made_again_is_its_own(tmp_path: Path) -> None:
    with started(tmp_path) as servers:
        async with opened(servers, fresh("o")) as place:
            for word in (b"one", b"two"):
                frame = word + b" " + SECRET
                await place.journal.append("a", [Entry("note", frame, 5.0, True)])
                assert await place.journal.originals("a") == {1: frame}
                await place.journal.delete("a")


async def test_an_original_is_there_before_its_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with started(tmp_path) as servers:
        prefix = fresh("o")
        async with opened(servers, prefix) as place:
            await place.journal.append("a", [Entry("note", b"first", 5.0)])
            seen: list[bool] = []
            send = RecordStore._send

            async def look_and_send(storing: RecordStore, *args: Any) -> Any:
                seen.append(SECRET in on_disk(tmp_path))
                return await send(storing, *args)

            monkeypatch.setattr(RecordStore, "_send", look_and_send)
            await place.journal.append("a", [Entry("note", b"x " + SECRET, 5.0, True)])
    assert seen == [True]


async def test_an_original_counts_for_no_entry_but_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lost(*_: object) -> None:
        raise JournalError("the node is gone before the entry is stored")

    with started(tmp_path) as servers:
        prefix = fresh("o")
        async with opened(servers, prefix) as place:
            await place.journal.append("a", [Entry("note", b"first", 5.0)])
            with monkeypatch.context() as patch:
                patch.setattr(RecordStore, "_send", lost)
                with pytest.raises(JournalError):
                    await place.journal.append("a", [Entry("note", b"mine " + SECRET, 5.0, True)])
            assert await place.journal.originals("a") == {}
        async with opened(servers, prefix) as place:
            await place.journal.append("a", [Entry("note", b"theirs " + SECRET, 5.0, True)])
            assert await place.journal.originals("a") == {2: b"theirs " + SECRET}
            await place.journal.drop_originals("a", [2])
            assert SECRET not in on_disk(tmp_path)
