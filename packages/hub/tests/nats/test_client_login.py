"""What is told to the client library, and what is missing for it."""

from __future__ import annotations

import ssl
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from dragoman.errors import JournalError
from dragoman_hub.nats import NatsOptions, open_nats
from dragoman_hub.nats.client import login
from tests.every import every
from tests.nats.certificates import Authority


def test_one_way_to_say_who_one_is_is_chosen() -> None:
    assert login(NatsOptions()) == {}
    assert login(NatsOptions(user="me", password="quiet")) == {"user": "me", "password": "quiet"}
    assert login(NatsOptions(user="me", password="quiet", token="hush")) == {"token": "hush"}


def test_certificates_are_read_from_files(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    mine = authority.pair("me")
    chosen = login(NatsOptions(tls=True, ca=str(authority.ca), cert=str(mine.cert), key=str(mine.key)))
    context = chosen["tls"]
    assert isinstance(context, ssl.SSLContext)
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert [one["subject"] for one in context.get_ca_certs()] == [((("commonName", "authority"),),)]
    mixed = NatsOptions(
        tls=True, ca=str(authority.ca), cert=str(mine.cert), key=str(authority.pair("you").key)
    )
    with pytest.raises(JournalError, match="cannot be used"):
        login(mixed)


@every("name", ["creds", "nkey", "ca", "cert"])
def test_a_file_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(JournalError, match="/no/such/file"):
        login(replace(NatsOptions(tls=True), **{name: "/no/such/file"}))


async def test_without_the_extra_opening_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "dragoman_hub.nats.private", raising=False)
    monkeypatch.setitem(sys.modules, "nats.aio.client", None)
    with pytest.raises(JournalError, match=r"pip install .dragoman\[cluster\]"):
        async with open_nats("nats://127.0.0.1:9"):
            pass
