"""Rules about version 1: they say nothing about a conversation that agreed upon a later one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from dragoman.check.manifest import Side
from dragoman.check.rule import Judge, Seen, rule
from dragoman.check.story import Story


def rule_v1(
    *requirements: str, side: Side | None = None, fix: str, unavoidable: bool = False
) -> Callable[[Judge], Judge]:
    """As `rule`, for version 1 only."""

    def register(judge: Judge) -> Judge:
        @wraps(judge)
        def first(story: Story, *sides: Any) -> Iterable[Seen]:
            return judge(story, *sides) if story.version == 1 else ()

        return rule(*requirements, side=side, fix=fix, unavoidable=unavoidable)(first)

    return register
