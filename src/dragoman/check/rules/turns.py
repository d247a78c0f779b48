"""TURN: prompt turns."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.check.rule import Seen, kept_if, rule
from dragoman.check.story import Story

REASONS = ("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled")


@rule("TURN-05", side="agent", fix="Answer session/prompt with a stopReason that the schema knows.")
def a_turn_ends_with_a_stop_reason(story: Story) -> Iterator[Seen]:
    for turn in story.turns:
        if turn.exchange.has_result:
            reason = turn.exchange.result.get("stopReason")
            yield kept_if(reason in REASONS, turn.exchange.answer, "stopReason is none of the five")
