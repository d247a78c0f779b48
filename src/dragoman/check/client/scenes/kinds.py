"""What a scene is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from dragoman.check.client.turn import Turn

Scene: TypeAlias = Callable[[Turn], Awaitable[None]]


def text(words: str, **more: Any) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": words, **more}
