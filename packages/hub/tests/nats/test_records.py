"""A record gives back what was packed, and nothing that was changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import JournalDamaged
from dragoman_hub.nats.records import (
    HEAD_BYTES,
    Head,
    _inflate,
    _names_place,
    pack,
    read_head,
    read_rest,
    write,
    write_outside,
)
from dragoman_local.journal import Entry
from dragoman_local.journal.entry_runs import EntryBatch, runs_of_entries

TOKEN = "abc"

entries = st.builds(
    Entry,
    st.sampled_from(["to_agent", "to_client", "note"]),
    st.binary(max_size=200) | st.just(b"{}"),
    st.just(1.5) | st.floats(allow_nan=False).map(lambda time: time + 0.0),
)


def read_name(head: Head, rest: bytes) -> str:
    """The stream's name, which a record has for people who repair."""
    text = _inflate(head, rest)
    begin = _names_place(text)
    return text[begin : begin + head.name].decode(errors="replace")


def packed(given_entries: list[Entry], *, first: int = 1, name: str = "") -> tuple[Head, bytes]:
    return pack(TOKEN, runs_of_entries(given_entries).runs, first=first, life=7, time=5.0, name=name)


def entries_of(head: Head, rest: bytes, *, after: int = 0, token: str = TOKEN) -> list[Entry]:
    return list(EntryBatch(read_rest(token, head, rest, after=after)))


@given(st.lists(entries, min_size=1, max_size=20), st.integers(1, 1 << 40), st.text(max_size=20))
def test_what_is_packed_is_read_again(given_entries: list[Entry], first: int, name: str) -> None:
    payload = write(*packed(given_entries, first=first, name=name))
    head = read_head(payload)
    assert entries_of(head, payload[HEAD_BYTES:]) == given_entries
    assert (head.last, head.life, head.time) == (first + len(given_entries) - 1, 7, 5.0)
    assert read_name(head, payload[HEAD_BYTES:]) == name


@given(st.lists(entries, min_size=1, max_size=20), st.integers(0, 25))
def test_reading_begins_behind_any_entry(given_entries: list[Entry], after: int) -> None:
    head, rest = packed(given_entries)
    assert entries_of(head, rest, after=after) == given_entries[after:]


@given(st.lists(entries, min_size=1, max_size=5), st.data())
def test_a_byte_that_changed_is_noticed(given_entries: list[Entry], data: st.DataObject) -> None:
    payload = bytearray(write(*packed(given_entries)))
    payload[data.draw(st.integers(0, len(payload) - 1))] ^= data.draw(st.integers(1, 255))
    changed = bytes(payload)
    with pytest.raises(JournalDamaged):
        read_rest(TOKEN, read_head(changed), changed[HEAD_BYTES:])


def test_a_record_of_another_stream_is_none_of_this_one() -> None:
    head, rest = packed([Entry("note", b"x", 1.0)])
    with pytest.raises(JournalDamaged):
        read_rest("another", head, rest)


def test_what_is_no_record_is_said_to_be_none() -> None:
    for payload in (b"", b"short", b"x" * 100):
        with pytest.raises(JournalDamaged):
            read_head(payload)


def test_large_frames_are_deflated_and_come_back() -> None:
    given_entries = [Entry("to_client", b"the same again " * 2_000, 1.0)]
    head, rest = packed(given_entries, name="a name")
    assert len(rest) < 3_000
    assert entries_of(head, rest) == given_entries
    assert read_name(head, rest) == "a name"


def test_a_record_whose_rest_is_elsewhere_is_checked_all_the_same() -> None:
    head, rest = packed([Entry("note", b"x", 1.0)])
    away = read_head(write_outside(TOKEN, head, rest, "id 1 2"))
    assert [one.frame for one in entries_of(away, rest)] == [b"x"]
    with pytest.raises(JournalDamaged):
        read_rest(TOKEN, away, rest + b"!")


def test_times_that_no_journal_keeps_are_not_kept() -> None:
    head, rest = packed([Entry("note", b"x", float("nan")), Entry("note", b"y", -0.0)])
    assert [str(one.time) for one in entries_of(head, rest)] == ["0.0", "0.0"]
