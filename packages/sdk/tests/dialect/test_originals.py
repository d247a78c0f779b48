"""Originals in `_meta`: used only if they still mean what stands beside them, and never with a secret."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialect.message import Object
from dragoman.dialect.originals import KEY, drop_original, keep, original_of, restore, without_secrets
from tests.every import every

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "_meta", "token", "env"]), inner, max_size=3)
    ),
    max_leaves=8,
)

SECRETS = [
    "password",
    "passwd",
    "passphrase",
    "clientSecret",
    "token",
    "access_token",
    "credentials",
    "Authorization",
    "Cookie",
    "api_key",
    "api-key",
    "apiKey",
    "private_key",
    "env",
    "headers",
]


def convert(original: Any) -> Object:
    """A dialect in which v1's `title` is called `name`."""
    return {"title": original.get("name")}


def test_an_original_comes_back_if_it_still_means_the_same() -> None:
    fields = keep(convert({"name": "Read"}), "haven", {"name": "Read"})
    assert fields["title"] == "Read"
    assert restore(fields, "haven", convert) == {"name": "Read"}


def test_whoever_changed_the_message_in_between_is_believed() -> None:
    fields = keep(convert({"name": "Read"}), "haven", {"name": "Read"})
    assert restore({**fields, "title": "Write"}, "haven", convert) is None
    assert restore({**fields, "kind": "read"}, "haven", convert) is None


def test_an_original_of_another_dialect_is_not_ours() -> None:
    assert restore(keep({"title": "x"}, "crow", {"name": "x"}), "haven", convert) is None


def test_what_stands_in_meta_already_stays_there_and_counts() -> None:
    fields = keep({"title": "x", "_meta": {"mine": 1}}, "haven", {"name": "x"})
    assert fields["_meta"]["mine"] == 1
    assert drop_original(fields) == {"title": "x", "_meta": {"mine": 1}}
    assert restore(fields, "haven", convert) is None  # the original did not say that
    assert drop_original(keep({"title": "x"}, "haven", {})) == {"title": "x"}


@every("name", SECRETS)
def test_a_secret_does_not_travel_and_what_lost_one_is_never_used(name: str) -> None:
    original = {"name": "x", "deep": [{"more": {name: "hunter2"}}]}
    fields = keep(convert(original), "haven", original)
    assert "hunter2" not in repr(fields)
    assert original_of(fields, "haven") is None
    assert restore(fields, "haven", convert) is None  # though converting does not look where the secret was


def test_what_only_sounds_like_the_environment_is_no_secret() -> None:
    original = {"environment": "x", "header": "y", "keyboard": "z"}
    assert without_secrets(original) == original


@given(values, st.dictionaries(st.sampled_from(["a", "b", "_meta"]), values, max_size=3))
def test_keeping_changes_nothing_but_meta_and_can_be_undone(original: Any, fields: Object) -> None:
    before = repr(fields)
    with_it = keep(fields, "haven", original)
    assert repr(fields) == before
    assert {name: with_it[name] for name in with_it if name != "_meta"} == {
        name: fields[name] for name in fields if name != "_meta"
    }
    assert KEY not in drop_original(with_it).get("_meta", {})
    assert original_of(with_it, "haven") in (None, original)


@every("meta", [None, 1, "x", [], {KEY: 1}, {KEY: {"name": "haven"}}, {KEY: {"raw": {}}}])
def test_a_meta_of_any_other_shape_holds_no_original(meta: Any) -> None:
    assert restore({"title": None, "_meta": meta}, "haven", convert) is None
