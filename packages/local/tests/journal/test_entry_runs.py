"""Runs of frames are sequences of entries like any other, made when they are looked at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman_local.journal import Direction, Entry, StoredEntry, entry_runs
from dragoman_local.journal.entry_runs import (
    FrameLines,
    RunPage,
    first_of,
    last_of,
    pages_of,
    runs_of_entries,
    size_of,
    text_of,
)

ways: st.SearchStrategy[Direction] = st.sampled_from(["to_agent", "to_client", "note"])
entries = st.lists(st.builds(Entry, ways, st.binary(max_size=5), st.sampled_from([0.0, 1.0])), max_size=12)
lines = st.lists(st.binary(max_size=5).map(lambda frame: frame.replace(b"\n", b" ")), max_size=9)


@given(entries)
def test_what_is_gathered_is_what_was_there(said: list[Entry]) -> None:
    found = runs_of_entries(said)
    assert (len(found), list(found), found.frames) == (len(said), said, [entry.frame for entry in said])
    assert found == said
    assert runs_of_entries(found) is found


@given(entries.filter(bool), st.integers(1, 50), st.data())
def test_a_page_of_runs_is_a_page_of_entries(said: list[Entry], first: int, data: st.DataObject) -> None:
    page = RunPage(first, runs_of_entries(said).runs)
    stored = [StoredEntry(first + n, one.direction, one.frame, one.time) for n, one in enumerate(said)]
    assert (first_of(page), last_of(page)) == (first_of(stored), last_of(stored))
    assert page == stored
    place = data.draw(st.integers(-len(said), len(said) - 1))
    assert page[place] == stored[place]
    assert page[place:] == stored[place:]


@given(lines)
def test_lines_are_frames(frames: list[bytes]) -> None:
    text = b"".join(frame + b"\n" for frame in frames)
    found = FrameLines(text, len(frames))
    assert text_of(found) == text_of(frames) == text
    assert size_of(found) == size_of(frames) == sum(map(len, frames))
    assert (list(found), len(found), found[1:]) == (frames, len(frames), frames[1:])


def test_a_list_that_changes_later_is_gathered_as_it_was() -> None:
    said = [Entry("note", b"one", 1.0)]
    found = runs_of_entries(said)
    said.append(Entry("note", b"two", 1.0))
    assert [entry.frame for entry in found] == [b"one"]


@given(entries, st.integers(1, 9), st.integers(1, 12))
def test_pages_end_with_the_entry_that_reaches_a_bound(said: list[Entry], rows: int, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entry_runs, "PAGE_ROWS", rows)
        patch.setattr(entry_runs, "PAGE_BYTES", size)
        pages = list(pages_of(7, runs_of_entries(said).runs))
    assert [one.entry for page in pages for one in page] == said
    assert [one.sequence for page in pages for one in page] == list(range(7, 7 + len(said)))
    for page in pages:
        assert len(page) <= rows
        assert sum(len(one.frame) for one in page[:-1]) < size
    for page in pages[:-1]:
        assert len(page) == rows or sum(len(one.frame) for one in page) >= size
