"""Updates of v1 that this dialect has no place for, and what the ledger calls them."""

from __future__ import annotations

from dragoman.dialect.threads.phrases import Lost, Phrase

CARRIED = frozenset({"user_message_chunk", "agent_message_chunk", "tool_call", "tool_call_update"})
"""Entries are made of these."""

_PHRASES = {"agent_thought_chunk": Lost.THOUGHTS, "plan": Lost.PLANS, "plan_update": Lost.PLANS}


def phrase_of(kind: str) -> Phrase | None:
    """What is lost with an update of this kind; None if it is carried."""
    return None if kind in CARRIED else _PHRASES.get(kind, Lost.OTHER_UPDATES)
