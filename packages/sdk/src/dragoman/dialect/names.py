"""All dialects by name, and the edges that speak them. A dialect's code is imported on first use."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Literal, TypeAlias

from dragoman.dialect.edge import Edge, EdgeSettings
from dragoman.dialect.ledger import Ledger
from dragoman.errors import LocalMistake

Position: TypeAlias = Literal["client", "agent"]
"""The role of the peer that speaks the dialect."""

AUTO = "auto"
"""Detects the peer's dialect from its first frames, see `detect`."""

_EDGES: dict[str, tuple[str, str, str]] = {
    AUTO: ("detect", "UndecidedClient", "UndecidedAgent"),
    "acpex": ("acpex", "AcpexClient", "AcpexAgent"),
    "acpex-wire": ("acpex", "AcpexWireClient", "AcpexWireAgent"),
    "crow": ("crow", "CrowClient", "CrowAgent"),
    "haven": ("haven", "HavenClient", "HavenAgent"),
    "haven-legacy": ("haven", "LegacyClient", "LegacyAgent"),
    "koog": ("koog", "KoogClient", "KoogAgent"),
    "threads": ("threads", "threads_client", "threads_agent"),
    "v2": ("v2", "V2Client", "V2Agent"),
}

DIALECTS: tuple[str, ...] = ("v1", *sorted(_EDGES.keys() - {AUTO}))

CHOICES: tuple[str, ...] = (AUTO, *DIALECTS)
"""The names that a user may choose."""


def check_dialect(dialect: str) -> None:
    """Raise an error if a name is not a dialect."""
    if dialect not in CHOICES:
        raise LocalMistake(f"unknown dialect {dialect!r}. Choose from {', '.join(CHOICES)}")


def make_edge(dialect: str, position: Position, settings: EdgeSettings, ledger: Ledger) -> Edge:
    """Create the edge for a peer of this dialect."""
    if dialect == "v1":
        return Edge(settings, ledger)
    check_dialect(dialect)
    package, client, agent = _EDGES[dialect]
    module = import_module(f"dragoman.dialect.{package}")
    make: Callable[[EdgeSettings, Ledger], Edge] = getattr(module, client if position == "client" else agent)
    return make(settings, ledger)
