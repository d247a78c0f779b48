"""Who may come in, and who not: tokens, hosts, origins, tickets."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_hub.gate.admission import (
    TICKET_SECONDS,
    Admission,
    AdmissionRefusal,
    Grant,
    hash_token,
    local_hosts,
    new_token,
)

TOKEN = new_token()
HOLDER = Grant("somebody")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def admission(clock: Clock | None = None) -> Admission:
    return Admission(
        {hash_token(TOKEN): HOLDER},
        hosts=local_hosts(8000),
        origins=["https://pages.example"],
        clock=clock or Clock(),
    )


def headers(**given: str) -> dict[bytes, bytes]:
    usual = {"host": "127.0.0.1:8000", "authorization": f"Bearer {TOKEN}", **given}
    return {name.encode(): value.encode(errors="surrogateescape") for name, value in usual.items() if value}


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
        ({"host": "127.0.0.1:8000\udcff"}, 421),  # bytes that are not text
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:8000\udcff"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"origin": "https://pages.example.evil.example"}, 403),
        ({"authorization": ""}, 401),
        ({"authorization": "Bearer \udcff"}, 401),
        ({"authorization": "Bearer"}, 401),
        ({"authorization": f"Basic {TOKEN}"}, 401),
        ({"authorization": f"Bearer {TOKEN}x"}, 401),
        ({"authorization": f"Bearer {hash_token(TOKEN)}"}, 401),
    ],
)
def test_everybody_else_is_refused(given: dict[str, str], status: int) -> None:
    refused = admission().admit(headers(**given))
    assert isinstance(refused, AdmissionRefusal)
    assert refused.status == status
    assert TOKEN not in refused.why


def test_a_ticket_is_good_once_and_for_a_short_while() -> None:
    clock = Clock()
    door = admission(clock)
    ticket = door.ticket(HOLDER)
    bare = headers(authorization="")
    assert door.admit(bare, ticket=ticket) == HOLDER
    assert isinstance(door.admit(bare, ticket=ticket), AdmissionRefusal)
    late = door.ticket(HOLDER)
    clock.now = TICKET_SECONDS + 1
    assert isinstance(door.admit(bare, ticket=late), AdmissionRefusal)
    stolen = door.ticket(HOLDER)
    assert isinstance(
        door.admit(headers(authorization="", origin="https://evil.example"), ticket=stolen), AdmissionRefusal
    )


def test_a_revoked_token_takes_its_tickets_along() -> None:
    door = admission()
    ticket = door.ticket(HOLDER)
    door.replace({})
    assert isinstance(door.admit(headers()), AdmissionRefusal)
    assert isinstance(door.admit(headers(authorization=""), ticket=ticket), AdmissionRefusal)


def test_tokens_are_long_and_never_the_same() -> None:
    assert len({new_token() for _ in range(50)}) == 50
    assert all(len(new_token()) >= 43 for _ in range(5))


def test_whoever_keeps_bringing_wrong_tokens_is_told_to_wait_and_the_others_are_not() -> None:
    clock = Clock()
    door = admission(clock)
    wrong = headers(authorization="Bearer nonsense")
    for _ in range(10):
        assert door.admit(wrong, address="10.0.0.1") == AdmissionRefusal(401, "an unknown token")
    slow = door.admit(wrong, address="10.0.0.1")
    assert isinstance(slow, AdmissionRefusal)
    assert (slow.status, slow.headers) == (429, [(b"retry-after", b"6")])
    late = door.admit(headers(authorization=""), ticket="nonsense", address="10.0.0.1")
    assert isinstance(late, AdmissionRefusal)
    assert late.status == 429
    assert door.admit(wrong, address="10.0.0.2") == AdmissionRefusal(401, "an unknown token")
    assert door.admit(headers(), address="10.0.0.1") == HOLDER
    clock.now += 6
    again = door.admit(wrong, address="10.0.0.1")
    assert isinstance(again, AdmissionRefusal)
    assert (again.status, again.headers) == (401, [(b"www-authenticate", b"Bearer")])


def test_whoever_brings_no_token_or_the_wrong_host_is_not_counted() -> None:
    door = admission()
    for _ in range(30):
        door.admit(headers(authorization=""), address="10.0.0.1")
        door.admit(headers(host="evil.example", authorization="Bearer x"), address="10.0.0.1")
    assert door.admit(headers(authorization="Bearer x"), address="10.0.0.1") == AdmissionRefusal(
        401, "an unknown token"
    )


def test_a_use_is_told_and_a_refusal_is_not() -> None:
    used: list[Grant] = []
    door = admission()
    door.on_used = used.append
    door.admit(headers(authorization="Bearer x"))
    door.admit(headers())
    door.admit(headers(authorization=""), ticket=door.ticket(HOLDER))
    assert used == [HOLDER, HOLDER]


def test_our_names_and_trusted_pages_can_change() -> None:
    door = admission()
    door.rename(hosts=["hub.example"], origins=["https://other.example"])
    assert isinstance(door.admit(headers()), AdmissionRefusal)
    assert door.admit(headers(host="hub.example", origin="https://other.example")) == HOLDER
    assert isinstance(
        door.admit(headers(host="hub.example", origin="https://pages.example")), AdmissionRefusal
    )


def test_a_grant_is_held_as_long_as_it_stays_the_same() -> None:
    door = admission()
    assert door.holds(HOLDER)
    door.replace({hash_token(TOKEN): Grant("somebody", frozenset({"observe"}))})
    assert not door.holds(HOLDER)


def test_scopes_and_agents_are_as_granted() -> None:
    grant = Grant("g", frozenset({"observe"}), agents=("review*", "echo"))
    assert grant.may("observe")
    assert not grant.may("prompt")
    assert [
        name for name in ("review", "review2", "echo", "echo2", "Review", "code") if grant.may_use(name)
    ] == [
        *("review", "review2", "echo"),
    ]
    assert Grant("g").may_use("anything")


def test_a_folder_is_below_a_root_by_whole_names_and_with_links_resolved(tmp_path: Path) -> None:
    real = Path(str(tmp_path.resolve()))
    for name in ("work/a", "work2", "outside/b"):
        (real / name).mkdir(parents=True)
    (real / "work" / "out").symlink_to(real / "outside")
    (real / "in").symlink_to(real / "work" / "a")
    (real / "loop").symlink_to(real / "loop")
    grant = Grant("g", roots=(str(real / "work"),))
    inside = ["work", "work/", "work/a", "work/new/er", "work/a/../a", "work2/../work/a", "in", "in/x"]
    outside = ["work2", "work/../outside", "work/out", "work/out/b", "", "loop/work", "work/a\0b"]
    assert [name for name in inside if not grant.may_open(f"{real}/{name}")] == []
    assert [name for name in outside if grant.may_open(f"{real}/{name}")] == []
    assert not grant.may_open("work")
    assert Grant("g").may_open("anywhere")
    assert Grant("g", roots=("/",)).may_open("/etc")
