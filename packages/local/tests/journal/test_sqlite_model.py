"""Any sequence of operations, also across closing and opening again, leaves what a dict would hold."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dragoman.errors import NoSuchStream, StreamMoved
from dragoman_local.journal import Entry, SqliteJournal, open_journal
from tests.journal.streams import replayed

NAMES = st.sampled_from(["a", "b", "ü/../x"])
ENTRIES = st.lists(
    st.builds(
        Entry,
        st.sampled_from(["to_agent", "to_client", "note"]),
        st.binary(max_size=40),
        st.floats(allow_nan=False),
    ),
    max_size=4,
)
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), NAMES, ENTRIES),
        st.tuples(st.just("fenced"), NAMES, ENTRIES, st.integers(0, 5)),
        st.tuples(st.just("describe"), NAMES, st.text(max_size=10)),
        st.tuples(st.just("delete"), NAMES),
        st.tuples(st.just("search"), NAMES),
        st.tuples(st.just("reopen")),
    ),
    max_size=12,
)


class Model:
    """What the journal should hold."""

    def __init__(self) -> None:
        self.entries: dict[str, list[Entry]] = {}
        self.titles: dict[str, str] = {}

    def append(self, name: str, entries: list[Entry]) -> int:
        self.entries.setdefault(name, []).extend(entries)
        return len(self.entries[name])


async def perform(journal: SqliteJournal, model: Model, operation: tuple[Any, ...]) -> None:
    match operation:
        case ("append", name, entries):
            assert await journal.append(name, entries) == model.append(name, entries)
        case ("fenced", name, entries, after):
            if after == len(model.entries.get(name, [])):
                assert await journal.append(name, entries, after=after) == model.append(name, entries)
            else:
                with pytest.raises(StreamMoved):
                    await journal.append(name, entries, after=after)
        case ("describe", name, title):
            await journal.describe(name, title=title)
            model.titles[name] = title.encode(errors="replace").decode()
            model.append(name, [])
        case ("delete", name):
            assert await journal.delete(name) == (name in model.entries)
            model.entries.pop(name, None)
            model.titles.pop(name, None)
        case ("search", name):
            await journal.search(name)


async def compare(journal: SqliteJournal, model: Model) -> None:
    assert {info.stream for info in (await journal.list()).streams} == model.entries.keys()
    for name in ("a", "b", "ü/../x"):
        if name in model.entries:
            assert [stored.entry for stored in await replayed(journal, name)] == model.entries[name]
            info = await journal.info(name)
            assert info is not None
            assert (info.last, info.title) == (len(model.entries[name]), model.titles.get(name, ""))
        else:
            with pytest.raises(NoSuchStream):
                await replayed(journal, name)


@settings(max_examples=40)
@example([("append", "a", [Entry("to_agent", b"", -0.0)])])
@given(OPERATIONS)
@pytest.mark.bound(20)
async def test_the_journal_holds_what_a_dict_would(operations: list[tuple[Any, ...]]) -> None:
    model = Model()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "j.db"
        journal = await open_journal(path, durability="off", redact=None).__aenter__()
        try:
            for operation in operations:
                if operation == ("reopen",):
                    await journal.aclose()
                    journal = await open_journal(path, durability="off", redact=None).__aenter__()
                else:
                    await perform(journal, model, operation)
            await compare(journal, model)
        finally:
            await journal.aclose()
