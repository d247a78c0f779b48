"""Parts of nats-py that are not promised: the journal works with them, and without."""

from __future__ import annotations

from pathlib import Path

import pytest
from nats.aio.client import Client

from dragoman.errors import JournalError, NobodyListens
from dragoman_hub.nats import open_nats, private
from dragoman_hub.nats.private import PrivateNats, PublicNats, open_library, raw_headers, read_info
from dragoman_hub.nats.replies import read_headers
from dragoman_local.journal import Entry
from tests.every import every
from tests.nats.places import fresh, opened
from tests.nats_servers import Servers, started

pytestmark = pytest.mark.bound(40)

WAYS = pytest.mark.parametrize("is_private", [True, False], ids=["private", "public"])


def choose(monkeypatch: pytest.MonkeyPatch, *, is_private: bool) -> None:
    assert private.has_private_parts()
    if not is_private:
        monkeypatch.setattr(private, "has_private_parts", lambda: False)


@WAYS
async def test_journal_register_and_bus_work_alike(
    server: Servers, monkeypatch: pytest.MonkeyPatch, *, is_private: bool
) -> None:
    choose(monkeypatch, is_private=is_private)
    async with opened(server, prefix := fresh()) as one, opened(server, prefix) as other:
        large = Entry("note", b"x" * 700_000, 2.0)
        assert await one.journal.append("s", [Entry("note", b"first", 1.0), large]) == 2
        pages = [page async for page in other.journal.replay("s")]
        assert [entry.frame for page in pages for entry in page] == [b"first", large.frame]
        assert await one.register.create("lease.a", b"1") > 0
        with pytest.raises(JournalError):
            await other.register.create("lease.a", b"2")

        await other.bus.listen("question", lambda _, data, answer: other.bus.send(answer, data + b" me"))
        assert await one.bus.ask("question", b"who?", within=15) == b"who? me"
        with pytest.raises(NobodyListens):
            await one.bus.ask("unheard", b"who?", within=15)


@WAYS
async def test_no_login_is_sent_to_a_server_without_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_private: bool
) -> None:
    choose(monkeypatch, is_private=is_private)
    with started(tmp_path) as plain, pytest.raises(JournalError, match="speaks no TLS"):
        async with open_nats(f"tls://left:hush@{plain.hosts}/left"):
            pass


@pytest.mark.parametrize("name", ["_process_msg", "_connect_command", "_attempt_reconnect"])
def test_the_public_way_is_taken_when_a_private_part_is_gone(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert isinstance(open_library(lambda info: None), PrivateNats)
    monkeypatch.delattr(Client, name)
    library = open_library(lambda info: None)
    assert isinstance(library, PublicNats)
    assert not isinstance(library, PrivateNats)


@every(
    ("fields", "expected"),
    [
        (None, (0, {})),
        ({"Nats-Sequence": "7"}, (0, {"Nats-Sequence": "7"})),
        ({"Status": "503"}, (503, {})),
        ({"Status": "404", "Description": "No Messages", "a": "b"}, (404, {"a": "b"})),
    ],
)
def test_headers_that_the_library_has_read_are_read_again_alike(
    fields: dict[str, str] | None, expected: tuple[int, dict[str, str]]
) -> None:
    assert read_headers(raw_headers(fields)) == expected


async def test_a_server_that_cannot_be_reached_says_nothing_of_itself(server: Servers) -> None:
    assert await read_info("nats://127.0.0.1:9") is None
    info = await read_info(f"nats://{server.hosts.split(',')[0]}")
    assert info is not None
    assert "tls_required" not in info
