"""The peer's capabilities, looked up by the dotted path in the method table.

Absent and null mean no; true and any object mean yes. That holds for every capability of the protocol, so
one function answers for all. The method table of version 1 is here too, by who receives what.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from dragoman.errors import NotAdvertised
from dragoman.schema.codec import read, write
from dragoman.schema.method import Kind, Method, Receiver
from dragoman.schema.v1.methods import METHODS

USAGE = "_meta.dragoman.usage"
"""The capability of a client that wants `usage` in the answer to a prompt, which the
stable protocol lacks.
"""


class Capabilities:
    """A peer's capabilities."""

    __slots__ = ("_answers", "struct")

    def __init__(self, struct: object = UNSET) -> None:
        self.struct = struct
        self._answers: dict[str, bool] = {}  # asked for before every call, so looked up once

    def __contains__(self, path: str) -> bool:
        answer = self._answers.get(path)
        if answer is None:
            answer = self._answers[path] = self._find(path)
        return answer

    def require(self, path: str, method: str) -> None:
        """Raise an error for a call that the peer has not announced: it would break the protocol."""
        if path not in self:
            raise NotAdvertised(path, method)

    def _find(self, path: str) -> bool:
        value = self.struct
        for name in path.split("."):
            value = _member(value, name)
        return value is not UNSET and value is not None and value is not False


NOTHING = Capabilities()
"""The capabilities of a peer that has not announced any yet."""


def peer_capabilities(struct: Struct | UnsetType | None) -> Capabilities:
    """The capabilities of a peer. Equal capabilities share one object: a hub has thousands of peers."""
    return NOTHING if not isinstance(struct, Struct) else _cached_capabilities(write(struct), type(struct))


@lru_cache(maxsize=256)
def _cached_capabilities(data: bytes, kind: type[Struct]) -> Capabilities:
    return Capabilities(read(data, kind))


def _member(value: object, name: str) -> Any:
    """Read a member of a struct by its name on the wire; below `_meta` there are plain objects."""
    if isinstance(value, dict):
        return value.get(name, UNSET)
    if not isinstance(value, Struct):
        return UNSET
    kind = type(value)
    if name not in kind.__struct_encode_fields__:
        return UNSET
    return getattr(value, kind.__struct_fields__[kind.__struct_encode_fields__.index(name)])


def _methods_for(receiver: Receiver, kind: Kind) -> dict[str, Method]:
    return {m.name: m for m in METHODS if m.kind == kind and m.receiver in (receiver, "both")}


AGENT_REQUESTS = _methods_for("agent", "request")
AGENT_NOTIFICATIONS = _methods_for("agent", "notification")
CLIENT_REQUESTS = _methods_for("client", "request")
CLIENT_NOTIFICATIONS = _methods_for("client", "notification")
