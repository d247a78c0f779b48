"""Frames of a dialect's own words in the wrong places, for the promise that none makes an edge raise."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from dragoman.dialect.originals import KEY


def fields(required: dict[str, Any], **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional)


def values(names: list[str], words: list[str]) -> st.SearchStrategy[Any]:
    """Any JSON, made of these names of members and these texts rather than of others."""
    texts = st.sampled_from([*words, *words, "", "x"])
    return st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*names, KEY]), inner | texts, max_size=5)
        ),
        max_leaves=14,
    )


def odd(names: list[str], words: list[str], methods: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Requests, notifications and answers."""
    ids, inside = st.sampled_from([1, "a", None]), values(names, words)
    return st.one_of(
        fields({"method": st.sampled_from(methods)}, id=ids, params=inside, jsonrpc=st.just("2.0")),
        fields({"id": ids, "result": inside}),
        fields({"id": ids, "error": inside}),
    )
