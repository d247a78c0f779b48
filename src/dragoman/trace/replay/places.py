"""The folder of a recording and the folder of whoever it is played to, exchanged in all that is said."""

from __future__ import annotations

from typing import Any


class Places:
    """Learns pairs of folders, and puts one for the other. The longest is exchanged first."""

    def __init__(self) -> None:
        self._pairs: dict[str, str] = {}

    def learn(self, recorded: Any, actual: Any) -> None:
        if isinstance(recorded, str) and isinstance(actual, str) and len(recorded) > 1 and recorded != actual:
            self._pairs[recorded] = actual

    def to_actual(self, value: Any) -> Any:
        return self._exchanged(value, sorted(self._pairs.items(), key=lambda pair: -len(pair[0])))

    def _exchanged(self, value: Any, pairs: list[tuple[str, str]]) -> Any:
        if isinstance(value, str):
            for old, new in pairs:
                value = value.replace(old, new)
            return value
        if isinstance(value, list):
            return [self._exchanged(inner, pairs) for inner in value]
        if isinstance(value, dict):
            return {name: self._exchanged(inner, pairs) for name, inner in value.items()}
        return value
