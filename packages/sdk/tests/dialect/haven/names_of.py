"""The names of members that occur anywhere in a value, except where a tool may put what it likes."""

from __future__ import annotations

from typing import Any


def names_in(value: Any) -> set[str]:
    if isinstance(value, dict):
        inner = [
            names_in(one) for name, one in value.items() if name not in ("rawInput", "rawOutput", "_meta")
        ]
        return set(value).union(*inner)
    return set().union(*map(names_in, value)) if isinstance(value, list) else set()
