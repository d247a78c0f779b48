"""Promises have names, sentences that the documentation repeats, and observers that see one broken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from dragoman_hub.session.notes import note
from dragoman_hub.session.state import Direction, apply, new_state
from tests.hub.explore.invariants import (
    PROMISES,
    BrokenPromise,
    FactKind,
    SessionHistory,
    check_accepted,
    check_state,
    facts_of,
)

DOCS = Path(__file__).parents[5] / "docs" / "hub.md"

PROMPT = b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"_meta":{"dragoman":{"key":"k"}}}}'
UPDATE = (
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
    b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"1.01"}}}}'
)


def test_the_documentation_counts_every_promise() -> None:
    assert f" {len(PROMISES)} promises\n([the list]" in DOCS.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("direction", "frame", "fact"),
    [
        ("note", note("taken", key="k", params={}), ("accepted", "k", "")),
        ("note", note("queued", key="k", params={}), ("accepted", "k", "")),
        ("note", note("turn_ended", key="k", result={"stopReason": "refusal"}), ("ended", "k", "refusal")),
        ("note", note("turn_ended", key="k", error={"message": "no"}), ("ended", "k", "error: no")),
        ("note", note("settled", request="7", outcome="answered"), ("settled", "7", "answered")),
        ("note", note("deleted"), ("deleted", "", "")),
        ("note", note("renamed", title="t"), None),
        ("to_agent", PROMPT, ("begun", "k", "")),
        ("to_agent", b'{"jsonrpc":"2.0","method":"session/cancel"}', None),
        ("to_client", UPDATE, ("update", "", "1.01")),
        ("to_client", b'{"jsonrpc":"2.0","id":1,"result":{}}', None),
    ],
)
def test_an_entry_says_what_it_means_for_promises(
    direction: Direction, frame: bytes, fact: tuple[str, str, str] | None
) -> None:
    assert facts_of("s", [(direction, frame)]) == (() if fact is None else (fact,))


def stored(*facts: str) -> SessionHistory:
    """`ended k end_turn` as the journal would say it."""
    words = [(*fact.split(), "", "") for fact in facts]
    return SessionHistory().on_stored([(cast(FactKind, kind), name, text) for kind, name, text, *_ in words])


@pytest.mark.parametrize(
    ("promise", "history"),
    [
        ("accepted-once", lambda: stored("accepted k", "accepted k")),
        ("accepted-once", lambda: stored("ended k error", "accepted k")),
        ("ended-once", lambda: stored("accepted k", "ended k cancelled", "ended k end_turn")),
        ("run-once", lambda: stored("accepted k", "begun k", "begun k")),
        ("run-once", lambda: stored("accepted k", "ended k cancelled", "begun k")),
        ("one-at-a-time", lambda: stored("accepted k", "begun k", "accepted l", "begun l")),
        ("in-order", lambda: stored("accepted k", "accepted l", "begun l")),
        ("settled-once", lambda: stored("settled 7", "settled 7")),
        ("deleted-is-gone", lambda: stored("deleted", "accepted k")),
    ],
)
def test_a_journal_that_breaks_a_promise_is_noticed(promise: str, history: Callable[[], object]) -> None:
    with pytest.raises(BrokenPromise) as broken:
        history()
    assert broken.value.name == promise
    assert PROMISES[promise] in str(broken.value)


def test_a_prompt_that_went_well_breaks_nothing() -> None:
    history = SessionHistory().on_prompt_sent("k")
    history = history.on_stored([("accepted", "k", ""), ("begun", "k", "")])
    history = history.on_prompt_given("k", is_with_agent="", is_whole=True)
    history = history.on_stored([("ended", "k", "end_turn")])
    history.on_prompt_answered("k", "end_turn")
    with pytest.raises(BrokenPromise, match="run-once"):
        history.on_prompt_given("k", is_with_agent="", is_whole=True)
    with pytest.raises(BrokenPromise, match="same-answer"):
        history.on_prompt_answered("k", "cancelled")
    with pytest.raises(BrokenPromise, match="refusal-is-true"):
        history.on_prompt_refused("k")


def test_a_refused_prompt_is_not_run_unless_it_is_sent_again() -> None:
    history = stored("accepted k", "begun k").on_prompt_refused("k")
    with pytest.raises(BrokenPromise, match="refused-not-run"):
        history.on_prompt_given("k", is_with_agent="", is_whole=True)
    assert history.on_prompt_sent("k").on_prompt_given("k", is_with_agent="", is_whole=True).given_keys == (
        "k",
    )


def test_a_state_that_is_not_the_fold_of_its_entries_is_noticed() -> None:
    state = apply(new_state("s"), "note", (note("taken", key="k", by="a", params={}),), 0.0)
    check_state(state, state)
    with pytest.raises(BrokenPromise, match="state-is-fold"):
        check_state(state, new_state("s"))
    check_accepted(state, "accepted")
