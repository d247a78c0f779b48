"""What an address says, what the environment says, and that no secret is shown."""

from __future__ import annotations

import pytest

from dragoman.errors import JournalError
from dragoman_hub.nats import is_nats_address, read_address
from tests.every import every


def test_an_address_names_servers_prefix_and_layout() -> None:
    said = read_address(
        "nats://me:pa%40ss@one:4222,two/team?replicas=3&shards=8&max_age=30d&max_bytes=20GB", environment={}
    )
    assert said.servers == ("one:4222", "two:4222")
    assert (said.user, said.password, said.prefix) == ("me", "pa@ss", "team")
    assert (said.replicas, said.shards, said.max_age, said.max_bytes) == (3, 8, 30 * 86400.0, 20 * 10**9)
    assert said.tls is False


def test_the_least_address_is_enough() -> None:
    said = read_address("nats://localhost", environment={})
    assert (said.servers, said.prefix, said.shards, said.replicas) == (("localhost:4222",), "dragoman", 4, 0)
    assert read_address("nats://[::1]:9?shards=1", environment={}).servers == ("[::1]:9",)


def test_tls_is_asked_for_by_the_scheme_or_by_an_authority() -> None:
    assert read_address("tls://one", environment={}).tls
    assert read_address("nats://one?ca=/etc/ca.pem", environment={}).tls


def test_the_environment_fills_what_the_address_leaves_open() -> None:
    environment = {"DRAGOMAN_NATS_USER": "me", "DRAGOMAN_NATS_PASSWORD": "quiet", "DRAGOMAN_NATS_CA": "/ca"}
    said = read_address("nats://one", environment=environment)
    assert (said.user, said.password, said.ca, said.tls) == ("me", "quiet", "/ca", True)
    assert read_address("nats://you:loud@one", environment=environment).password == "loud"
    assert read_address("nats://token@one", environment={}).token == "token"


def test_no_secret_is_in_the_text_of_options() -> None:
    said = read_address("nats://me:quiet@one/team", environment={"DRAGOMAN_NATS_TOKEN": "hush"})
    for shown in (repr(said), str(said), said.safe_address):
        assert "quiet" not in shown
        assert "hush" not in shown
        assert "one:4222/team" in shown


@every(
    ("address", "why"),
    [
        ("redis://one", "nats://host"),
        ("nats://one:port", "port"),
        ("nats://a:quiet@one,b:quiet@two", "names its user once"),
        ("nats://one/two.words", "one word"),
        ("nats://one?shards=0", "shards"),
        ("nats://one?replicas=many", "whole number"),
        ("nats://one?max_age=3 moons", "one of s, m, h"),
        ("nats://me:quiet@one?colour=red", "'colour'"),
    ],
)
def test_a_mistake_is_named_without_the_address(address: str, why: str) -> None:
    with pytest.raises(JournalError, match=why) as refused:
        read_address(address, environment={})
    assert "quiet" not in str(refused.value)


def test_a_path_is_no_address() -> None:
    assert is_nats_address("tls://one")
    assert not is_nats_address("/home/me/nats.db")
    assert not is_nats_address("nats.db")
