"""A row of a method table, and the table.

A method is found by its name, kind and receiver, because the protocol uses some names more than once:
`mcp/message` is a request to the client and a notification to the agent. The rows themselves are generated,
per version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, Literal

from .codec import read
from .errors import SchemaError

Receiver = Literal["agent", "client", "both", "proxy"]
Kind = Literal["request", "notification"]


class Method:
    """The protocol's definition of one method."""

    __slots__ = (
        "_package",
        "_params",
        "_result",
        "capability",
        "kind",
        "name",
        "preempts",
        "receiver",
        "session_scoped",
        "stable",
    )

    def __init__(
        self,
        name: str,
        *,
        receiver: Receiver,
        kind: Kind,
        params: str,
        result: str | None = None,
        stable: bool = True,
        capability: str | None = None,
        preempts: bool = False,
        session_scoped: bool = False,
    ) -> None:
        self.name = name
        self.receiver = receiver
        self.kind = kind
        self.stable = stable
        self.capability = capability
        """Dotted path in the receiver's advertised capabilities that must be there before
        this may be sent.
        """
        self.preempts = preempts
        """Overtakes what waits in line."""
        self.session_scoped = session_scoped
        """The params carry, or may carry, a `sessionId`."""
        self._params: Any = params  # a name, until the type is asked for
        self._result: Any = result
        self._package = ""

    def __repr__(self) -> str:
        return f"Method({self.name!r}, receiver={self.receiver!r}, kind={self.kind!r})"

    @property
    def params(self) -> Any:
        """The type to read the params as: a struct or a union of structs."""
        if type(self._params) is str:
            self._params = getattr(import_module(self._package), self._params)
        return self._params

    @property
    def result(self) -> Any:
        """The type to read the result as; None for a notification."""
        if type(self._result) is str:
            self._result = getattr(import_module(self._package), self._result)
        return self._result

    @property
    def needs_result(self) -> bool:
        """Whether the result has a required field. Otherwise a missing or null result
        counts as an empty one.
        """
        try:
            read(b"null", self.result)
        except SchemaError:
            return True
        return False

    def of(self, package: str) -> Method:
        """Create a row from type names: reading the table imports no types."""
        self._package = package
        return self


class MethodTable:
    """All methods of one version, with types from `package`."""

    def __init__(self, package: str, methods: Iterable[Method]) -> None:
        self._methods = tuple(method.of(package) for method in methods)
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
