"""Who may come in, and who not: tokens, hosts, origins, tickets."""

from __future__ import annotations

import pytest

from dragoman.hub.admission import TICKET_SECONDS, Admission, Grant, Refused, hashed, local_hosts, new_token

TOKEN = new_token()
HOLDER = Grant("somebody")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def admission(clock: Clock | None = None) -> Admission:
    return Admission(
        {hashed(TOKEN): HOLDER},
        hosts=local_hosts(8000),
        origins=["https://pages.example"],
        clock=clock or Clock(),
    )


def headers(**given: str) -> dict[bytes, bytes]:
    usual = {"host": "127.0.0.1:8000", "authorization": f"Bearer {TOKEN}", **given}
    return {name.encode(): value.encode() for name, value in usual.items() if value}


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "[::1]:8000", "LOCALHOST:8000"])
def test_whoever_has_the_token_and_asks_for_us_comes_in(host: str) -> None:
    assert admission().admit(headers(host=host)) == HOLDER


@pytest.mark.parametrize(
    "origin", ["http://127.0.0.1:8000", "http://localhost:8000", "https://pages.example"]
)
def test_our_own_pages_and_trusted_ones_come_in(origin: str) -> None:
    assert admission().admit(headers(origin=origin)) == HOLDER


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1"}, 421),
        ({"host": "127.0.0.1:9999"}, 421),
        ({"host": "127.0.0.1:8000.evil.example"}, 421),
        ({"host": ""}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"origin": "https://pages.example.evil.example"}, 403),
        ({"authorization": ""}, 401),
        ({"authorization": "Bearer"}, 401),
        ({"authorization": f"Basic {TOKEN}"}, 401),
        ({"authorization": f"Bearer {TOKEN}x"}, 401),
        ({"authorization": f"Bearer {hashed(TOKEN)}"}, 401),
    ],
)
def test_everybody_else_is_refused(given: dict[str, str], status: int) -> None:
    refused = admission().admit(headers(**given))
    assert isinstance(refused, Refused)
    assert refused.status == status
    assert TOKEN not in refused.why


def test_a_ticket_is_good_once_and_for_a_short_while() -> None:
    clock = Clock()
    door = admission(clock)
    ticket = door.ticket(HOLDER)
    bare = headers(authorization="")
    assert door.admit(bare, ticket=ticket) == HOLDER
    assert isinstance(door.admit(bare, ticket=ticket), Refused)
    late = door.ticket(HOLDER)
    clock.now = TICKET_SECONDS + 1
    assert isinstance(door.admit(bare, ticket=late), Refused)
    stolen = door.ticket(HOLDER)
    assert isinstance(
        door.admit(headers(authorization="", origin="https://evil.example"), ticket=stolen), Refused
    )


def test_a_revoked_token_takes_its_tickets_along() -> None:
    door = admission()
    ticket = door.ticket(HOLDER)
    door.replace({})
    assert isinstance(door.admit(headers()), Refused)
    assert isinstance(door.admit(headers(authorization=""), ticket=ticket), Refused)


def test_tokens_are_long_and_never_the_same() -> None:
    assert len({new_token() for _ in range(50)}) == 50
    assert all(len(new_token()) >= 43 for _ in range(5))
