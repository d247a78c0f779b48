"""Listings of the picture are those of a plain sort, whatever changed in between."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import JournalError
from dragoman_hub.nats.catalog import CatalogCache
from dragoman_hub.nats.layout import number_of, token_of
from dragoman_local.journal import StreamInfo

names = st.sampled_from([f"s{n}" for n in range(40)])
steps = st.one_of(
    st.tuples(st.just("put"), names, st.integers(0, 50)),
    st.tuples(st.just("touch"), names, st.integers(0, 90)),
    st.tuples(st.just("remove"), names, st.just(0)),
    st.tuples(st.just("list"), names, st.just(0)),
)


@given(st.lists(steps, max_size=120))
def test_the_order_is_that_of_the_latest_changes(taken: list[tuple[str, str, int]]) -> None:
    picture, model = CatalogCache(), dict[str, StreamInfo]()
    for what, name, number in [*taken, ("list", "", 0)]:
        if what == "put":
            model[name] = StreamInfo(stream=name, agent=f"a{number % 3}", updated=float(number))
            picture.put(token_of(name), model[name], number)
        elif what == "touch":
            assert picture.touch(token_of(name), last=number, time=float(number)) == (name in model)
            if name in model:
                later = max(model[name].updated, float(number))
                model[name] = StreamInfo(stream=name, agent=model[name].agent, updated=later, last=number)
        elif what == "remove":
            model.pop(name, None)
            picture.remove(token_of(name))
        else:
            assert listed(picture, {}) == expected(model, {})
            assert listed(picture, {"agent": "a1"}) == expected(model, {"agent": "a1"})


def listed(picture: CatalogCache, wanted: dict[str, str]) -> list[StreamInfo]:
    found: list[StreamInfo] = []
    cursor = None
    while True:
        page = picture.listing(wanted, cursor=cursor, limit=7)
        assert len(page.streams) <= 7
        found += page.streams
        cursor = page.cursor
        if cursor is None:
            return found


def expected(model: dict[str, StreamInfo], wanted: dict[str, str]) -> list[StreamInfo]:
    infos = [info for info in model.values() if not wanted or info.agent == wanted["agent"]]
    return sorted(infos, key=lambda info: (info.updated, number_of(token_of(info.stream))), reverse=True)


def test_what_is_no_cursor_is_refused() -> None:
    with pytest.raises(JournalError):
        CatalogCache().listing({}, cursor="nonsense", limit=1)
