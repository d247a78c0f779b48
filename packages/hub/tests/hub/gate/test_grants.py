"""Tokens on disk and in a running hub: made, changed, revoked without a restart, never stored in clear."""

from __future__ import annotations

import asyncio
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dragoman.errors import LocalMistake
from dragoman_hub.gate.admission import ALL, Admission, AdmissionRefusal, Grant
from dragoman_hub.gate.grants import LiveGrants
from dragoman_hub.gate.grants_store import LINKS, TokenStore

DAY = 86_400.0


class Clock:
    now = 10 * DAY

    def __call__(self) -> float:
        return self.now


class Door:
    """A store, an admission and what keeps the one at the other."""

    def __init__(self, folder: Path) -> None:
        self.clock = Clock()
        self.store = TokenStore(folder / "data" / "tokens.json", clock=self.clock)
        self.admission = Admission({}, hosts=["hub"])
        self.revoked: list[set[str]] = []
        self.live = LiveGrants(
            self.store,
            self.admission,
            on_revoked=lambda names: self.revoked.append(set(names)),
            clock=self.clock,
        )

    def admit(self, token: str) -> Grant | None:
        headers = {b"host": b"hub", b"authorization": f"Bearer {token}".encode()}
        admitted = self.admission.admit(headers)
        return None if isinstance(admitted, AdmissionRefusal) else admitted


@pytest.fixture
def door(tmp_path: Path) -> Door:
    return Door(tmp_path)


def test_the_first_token_is_for_everything_and_is_made_once(door: Door) -> None:
    token = door.store.first_token()
    assert token is not None
    assert door.store.first_token() is None
    door.live.refresh()
    grant = door.admit(token)
    assert grant is not None
    assert (grant.name, grant.scopes, grant.agents, grant.roots) == ("owner", ALL, (), ())


def test_the_file_holds_no_token_and_is_for_its_owner_alone(door: Door) -> None:
    token = door.store.add("a")
    stored = door.store.path.read_text()
    assert token not in stored
    assert stat.S_IMODE(door.store.path.stat().st_mode) == 0o600
    assert sorted(path.name for path in door.store.path.parent.iterdir()) == [
        "tokens.json",
        "tokens.json-lock",
    ]


def test_what_was_granted_is_what_is_held(door: Door, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    token = door.store.add(
        "a", scopes=["prompt", "observe"], agents=["review*"], roots=[str(tmp_path / "link")]
    )
    door.live.refresh()
    grant = door.admit(token)
    assert grant is not None
    assert grant.scopes == {"prompt", "observe"}
    assert grant.agents == ("review*",)
    assert grant.roots == (str((tmp_path / "real").resolve()),)


def test_a_revoked_token_is_refused_without_a_restart_and_its_holder_is_named(door: Door) -> None:
    one, other = door.store.add("one"), door.store.add("other")
    assert door.live.refresh() == frozenset()
    held = door.admit(one)
    assert held is not None
    door.store.revoke("one")
    assert door.admit(one) is not None  # nobody has looked yet
    assert door.live.refresh() == {"one"}
    assert door.revoked == [{"one"}]
    assert door.admit(one) is None
    assert door.admit(other) is not None
    assert not door.admission.holds(held)
    assert door.live.refresh() == frozenset()


def test_a_new_token_is_good_at_once_and_a_wrong_one_reads_no_file_anew(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    door.store.add("one")
    door.live.refresh()
    assert door.admit(door.store.add("other")) is not None
    assert door.admit(door.store.rotate("one")) is not None
    reads: list[None] = []
    monkeypatch.setattr(door.store, "read", lambda: reads.append(None))
    assert door.admit("wrong") is None
    assert not reads


def test_a_rotated_token_has_its_grace_and_the_new_one_is_good_at_once(door: Door) -> None:
    old = door.store.add("a")
    door.live.refresh()
    new = door.store.rotate("a", grace=60)
    assert door.live.refresh() == frozenset()
    before, after = door.admit(old), door.admit(new)
    assert before is not None
    assert after is not None
    assert before != after
    door.clock.now += 61
    assert door.live.refresh() == {"a"}
    assert door.admit(old) is None
    assert door.admission.holds(after)
    assert not door.admission.holds(before)
    newest = door.store.rotate("a")
    door.live.refresh()
    assert door.admit(new) is None
    assert door.admit(newest) is not None


def test_a_token_expires_by_itself(door: Door) -> None:
    token = door.store.add("a", expires=door.clock.now + 5)
    door.live.refresh()
    assert door.admit(token) is not None
    door.clock.now += 6
    assert door.live.refresh() == {"a"}
    assert door.admit(token) is None
    assert [each.name for each in door.store.read()] == ["a"]


def test_narrower_rights_count_as_revoked(door: Door) -> None:
    door.store.add("a")
    door.live.refresh()
    door.store.revoke("a")
    door.store.add("a", scopes=["observe"])
    assert door.live.refresh() == {"a"}


def test_a_file_that_makes_no_sense_changes_nothing_and_one_that_is_gone_revokes_all(door: Door) -> None:
    token = door.store.add("a")
    door.live.refresh()
    good = door.store.path.read_bytes()
    for bad in (b"{", b"[]", b"\xff", good.replace(b'"version": 1', b'"version": 2')):
        door.store.path.write_bytes(bad)
        with pytest.raises(LocalMistake):
            door.store.read()
        assert door.live.refresh() == frozenset()
        assert door.admit(token) is not None
    door.store.path.unlink()
    assert door.live.refresh() == {"a"}
    assert door.admit(token) is None


def test_a_file_that_others_may_write_is_not_believed(door: Door) -> None:
    door.store.add("a")
    door.store.path.chmod(0o620)
    with pytest.raises(LocalMistake, match="others may write it"):
        door.store.read()


def test_a_link_leaves_the_links_before_it_good(door: Door) -> None:
    links = [door.store.add_link() for _ in range(4)]
    door.live.refresh()
    assert [grant.name for link in links if (grant := door.admit(link))] == [f"page-{n}" for n in range(1, 5)]


def test_of_too_many_links_the_one_that_was_not_used_for_longest_is_given_up(door: Door) -> None:
    mine = door.store.add("page-3")  # of somebody who likes the name
    links = []
    for _ in range(LINKS):
        links.append(door.store.add_link())
        door.clock.now += 1
    door.clock.now += DAY
    door.store.note_used({"page-1": "1970-01-12"})
    links.append(door.store.add_link())
    door.live.refresh()
    assert [number for number, link in enumerate(links) if door.admit(link) is None] == [1]
    assert door.admit(mine) is not None


def test_a_link_that_nobody_uses_is_given_up_after_a_month(door: Door) -> None:
    unused, used = door.store.add_link(), door.store.add_link()
    door.clock.now += 31 * DAY
    door.store.note_used({"page-2": "1970-02-10"})
    fresh = door.store.add_link()
    door.live.refresh()
    assert (door.admit(unused), bool(door.admit(used)), bool(door.admit(fresh))) == (None, True, True)


def test_names_are_names_and_stand_for_one_token(door: Door) -> None:
    door.store.add("a")
    for name, why in (
        ("a", "already"),
        ("", "letters"),
        ("-x", "letters"),
        ("a b", "letters"),
        ("x" * 65, "64"),
    ):
        with pytest.raises(LocalMistake, match=why):
            door.store.add(name)
    for change in (door.store.revoke, door.store.rotate):
        with pytest.raises(LocalMistake, match=r"unknown token 'b'\. Known tokens: a"):
            change("b")


def test_changes_at_the_same_time_all_happen(door: Door) -> None:
    names = [f"t{number}" for number in range(12)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda name: TokenStore(door.store.path).add(name), names))
    assert sorted(each.name for each in door.store.read()) == sorted(names)


async def test_the_day_of_the_last_use_is_written_once(door: Door) -> None:
    token = door.store.add("a")
    door.live.refresh()
    await door.live.note_used()
    assert door.store.read()[0].last_used is None
    door.admit(token)
    await door.live.note_used()
    assert door.store.read()[0].last_used == "1970-01-11"
    stamp = door.store.stamp()
    door.admit(token)
    await door.live.note_used()
    assert door.store.stamp() == stamp
    assert door.revoked == []


async def test_whoever_watches_notices_a_change(tmp_path: Path) -> None:
    told = asyncio.Event()
    store = TokenStore(tmp_path / "tokens.json")
    store.add("a")
    live = LiveGrants(store, Admission({}, hosts=[]), on_revoked=lambda names: told.set())
    live.refresh()
    watching = asyncio.create_task(live.watch(every=0.01))
    store.revoke("a")
    await told.wait()
    watching.cancel()
    await asyncio.wait([watching])


def test_a_half_written_file_of_somebody_who_died_is_in_nobodys_way(door: Door) -> None:
    door.store.add("a")
    door.store.path.with_name(f".tokens.json.{os.getpid()}").write_text("half")
    door.store.add("b")
    assert [each.name for each in door.store.read()] == ["a", "b"]
