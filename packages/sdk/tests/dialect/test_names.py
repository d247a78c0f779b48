"""All dialects by name: each has an edge for a client and one for an agent, imported when it is spoken."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dragoman.dialect import DIALECTS, Edge, EdgeSettings, Ledger, make_edge
from dragoman.dialect.message import notification
from dragoman.errors import LocalMistake
from dragoman.testing.pace import patience
from tests.every import every


@every("dialect", DIALECTS)
def test_every_dialect_has_an_edge_for_both_positions(dialect: str) -> None:
    settings, ledger = EdgeSettings(), Ledger()
    client = make_edge(dialect, "client", settings, ledger)
    agent = make_edge(dialect, "agent", settings, ledger)
    assert client.name == agent.name == dialect
    assert client.ledger is agent.ledger is ledger
    assert (type(client) is type(agent)) == (dialect == "v1")


def test_the_edge_of_v1_changes_nothing() -> None:
    edge = make_edge("v1", "agent", EdgeSettings(), Ledger())
    assert type(edge) is Edge
    told = notification("session/update", {"sessionId": "s"})
    assert edge.from_peer(told) == [("inside", told)]
    assert edge.from_inside(told) == [("peer", told)]
    assert edge.peer_ended() == edge.from_host(told) == []


def test_an_unknown_dialect_is_refused_with_the_known_ones() -> None:
    with pytest.raises(LocalMistake, match=r"unknown dialect 'klingon'. Choose from .*haven-legacy"):
        make_edge("klingon", "client", EdgeSettings(), Ledger())


def test_no_dialect_is_imported_before_it_is_spoken() -> None:
    code = (
        "import sys, dragoman.dialect; print([n for n in sys.modules if n.startswith('dragoman.dialect.')])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=patience(50)
    )
    assert "dragoman.dialect.translator" in run.stdout
    assert not [name for name in DIALECTS if f"dragoman.dialect.{name}'" in run.stdout]
