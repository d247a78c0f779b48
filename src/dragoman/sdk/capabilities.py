"""What the peer said that it can do, asked for by the dotted path of the method table.

Absent and null mean no; true and any object mean yes. That holds for every capability of the protocol, so
one function answers for all.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from dragoman.errors import NotAdvertised


class Capabilities:
    """A peer's capabilities."""

    __slots__ = ("_given", "_tree", "typed")

    def __init__(self, typed: Any) -> None:
        self.typed = typed
        self._given: dict[str, bool] = {}  # asked for before every call, so looked up once
        self._tree: Any = {} if typed is UNSET or typed is None else msgspec.to_builtins(typed)

    def __contains__(self, path: str) -> bool:
        given = self._given.get(path)
        if given is None:
            given = self._given[path] = self._find(path)
        return given

    def _find(self, path: str) -> bool:
        value = self._tree
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return value is not None and value is not False

    def require(self, path: str, method: str) -> None:
        """Refuse to break the protocol: a call that the peer did not allow is never sent."""
        if path not in self:
            raise NotAdvertised(path, method)
