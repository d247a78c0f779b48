"""One row of a method table, and the table.

A method is found by its name, kind and receiver, because the protocol uses some names more than once:
`mcp/message` is a request to the client and a notification to the agent. The rows themselves are generated,
per version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

Receiver = Literal["agent", "client", "both", "proxy"]
Kind = Literal["request", "notification"]


class Method(NamedTuple):
    """What the protocol says about one method."""

    name: str
    receiver: Receiver
    kind: Kind
    params: Any
    """The type to read the params as: a struct or a union of structs."""
    result: Any = None
    """The type to read the result as; None for a notification."""
    stable: bool = True
    capability: str | None = None
    """Dotted path in the receiver's advertised capabilities that must be there before this may be sent."""
    preempts: bool = False
    """Overtakes what waits in line."""
    session_scoped: bool = False
    """The params carry, or may carry, a `sessionId`."""


class MethodTable:
    """All methods of one version."""

    def __init__(self, methods: Iterable[Method]) -> None:
        self._methods = tuple(methods)
        self._found: dict[tuple[str, str, str], Method] = {}
        for method in self._methods:
            receivers = ("agent", "client", "proxy") if method.receiver == "both" else (method.receiver,)
            for receiver in receivers:
                self._found[method.name, method.kind, receiver] = method

    def get(self, name: str, *, kind: Kind, receiver: Receiver) -> Method | None:
        return self._found.get((name, kind, receiver))

    def __iter__(self) -> Iterator[Method]:
        return iter(self._methods)

    def __len__(self) -> int:
        return len(self._methods)
