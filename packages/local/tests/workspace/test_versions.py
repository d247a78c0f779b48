"""Tokens, and what a session remembers."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from dragoman_local.workspace.versions import KnownVersion, KnownVersions, version_by_record, version_of


@given(st.binary(), st.binary())
def test_a_version_tells_contents_apart(one: bytes, other: bytes) -> None:
    assert (version_of(one) == version_of(other)) == (one == other)


def test_a_version_by_record_changes_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("1")
    before = version_by_record(os.stat(path))
    assert version_by_record(os.stat(path)) == before
    os.utime(path, ns=(1, 1))
    assert version_by_record(os.stat(path)) != before


def test_the_last_thing_told_counts() -> None:
    told = KnownVersions(base_bytes=10)
    assert told.get("/a") is None
    told.set("/a", "v1", "text")
    assert told.get("/a") == KnownVersion("v1", "text")
    told.set("/a", "v1")
    assert told.get("/a") == KnownVersion("v1", "text")  # a look at the same version takes nothing away
    told.set("/a", "v2")
    assert told.get("/a") == KnownVersion("v2", None)


def test_the_oldest_texts_go_first_but_versions_stay() -> None:
    told = KnownVersions(base_bytes=10)
    told.set("/a", "v1", "12345")
    told.set("/b", "v1", "12345")
    told.set("/c", "v1", "1")
    assert [told.get(path) for path in ("/a", "/b", "/c")] == [
        *(KnownVersion("v1", None), KnownVersion("v1", "12345"), KnownVersion("v1", "1")),
    ]
    told.set("/d", "v1", "12345678901")
    assert told.get("/d") == KnownVersion("v1", None)
    assert told.get("/b") == KnownVersion("v1", "12345")


def test_what_was_forgotten_is_not_taken_for_never_known() -> None:
    told = KnownVersions(base_bytes=10, most_files=2)
    told.set("/a", "v1")
    told.set("/b", "v1")
    assert not told.has_forgotten
    told.set("/c", "v1")
    assert told.get("/a") is None
    assert told.has_forgotten


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("12"), st.none() | st.text(max_size=8))))
def test_texts_never_take_more_than_they_may(story: list[tuple[str, str, str | None]]) -> None:
    told = KnownVersions(base_bytes=12, most_files=3)
    for path, version, base in story:
        told.set(path, version, base)
        kept = [known.base or "" for name in "abcd" if (known := told.get(name)) is not None]
        assert sum(map(len, kept)) <= 12
        assert len(kept) <= 3
        last = told.get(path)
        assert last is not None
        assert last.version == version
