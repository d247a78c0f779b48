"""Which places a profile permits, and which addresses are public."""

from __future__ import annotations

import pytest

from dragoman_local.sandbox.destinations import Destination, is_name, is_public, parse_destination
from tests.every import every


@every(
    ("text", "host", "port", "expected"),
    [
        ("example.org", "example.org", 443, True),
        ("example.org", "example.org", 80, True),
        ("example.org", "example.org", 22, False),
        ("Example.ORG.", "example.org", 443, True),
        ("example.org:8443", "example.org", 8443, True),
        ("example.org:8443", "example.org", 443, False),
        ("example.org", "a.example.org", 443, False),
        ("example.org", "badexample.org", 443, False),
        ("*.example.org", "a.example.org", 443, True),
        ("*.example.org", "a.b.example.org", 443, True),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", "badexample.org", 443, False),
        ("printer", "printer", 443, True),
        ("localhost:5432", "localhost", 5432, True),
        ("localhost:5432", "localhost", 80, False),
    ],
)
def test_a_place_covers_its_name_and_its_ports(text: str, host: str, port: int, expected: bool) -> None:
    assert parse_destination(text).covers(host, port) is expected


@every(
    ("text", "why"),
    [
        ("", "not a place"),
        ("https://example.org", "not a place"),
        ("example.org/path", "not a place"),
        ("a b", "not a place"),
        ("127.0.0.1", "not a name of a host"),
        ("2130706433", "not a name of a host"),
        ("127.1:80", "not a name of a host"),
        ("0x7f000001", "not a name of a host"),
        ("[::1]:80", "not a place"),
        ("*.1.2.3.4", "not a name of a host"),
        ("*.org", "too wide"),
        ("*", "not a name of a host"),
        ("a.*.org", "not a name of a host"),
        ("localhost", "needs a port"),
        ("example.org:0", "no port"),
        ("example.org:65536", "no port"),
        ("bücher.example", "not a name of a host"),
        ("a" * 64 + ".org", "not a name of a host"),
    ],
)
def test_what_is_no_place_says_why(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_destination(text)


def test_private_addresses_are_permitted_by_a_word() -> None:
    assert parse_destination("git.example:3000/private") == Destination("git.example", 3000, private=True)
    assert parse_destination("git.example/private") == Destination("git.example", 0, private=True)


@every("address", ["1.1.1.1", "8.8.8.8", "2606:4700::1111", "64:ff9b::1.1.1.1"])
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(address)


@every(
    "address",
    [
        *("127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254"),
        *("100.64.0.1", "100.100.100.200", "168.63.129.16", "224.0.0.1", "255.255.255.255", "240.0.0.1"),
        *("::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1"),
        *("64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "2002:7f00:1::", "2002:a00:1::"),
        *("2001:0:4136:e378:8000:63bf:80ff:fffe", "2001:db8::1", "198.51.100.1", "4000::1"),
    ],
)
def test_addresses_of_this_machine_and_its_network_are_not(address: str) -> None:
    assert not is_public(address)


def test_a_name_is_made_of_labels() -> None:
    assert is_name("a-b.c_d.example")
    assert not any(map(is_name, ("", ".", "a..b", "-a.org", "a/b", "a%00.org", "example.1", "a" * 300)))
