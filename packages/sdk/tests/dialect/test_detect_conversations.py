"""Peers of every dialect met by somebody who does not know what they speak: whole conversations, in lists.

The peers are our own edges with a v1 client or agent behind them, so they say what their dialect says.
"""

from __future__ import annotations

from dragoman.dialect import AUTO, DIALECTS
from tests.dialect.deeds import agent_answers, begin, chunk, prompt, question, tool
from tests.dialect.world import World, texts
from tests.every import every

AGENTS_OF_BOTH = {"koog": "v1"}
"""Our agent of koog says all that v1 says besides, and so is one of v1."""

CLIENTS_OF_BOTH = {"koog": "v1", "haven-legacy": "haven", "acpex-wire": "v1", "v2": "v1"}
"""Clients without words of their own are taken for those whose words they use; ours of v2 offers v1 too."""


def talked(world: World) -> World:
    begin(world)
    for deed in (prompt, chunk, tool, chunk, agent_answers):
        deed(world, 0)
    world.settle()
    assert world.mistakes == []
    for party in world.parties.values():
        assert party.answers == dict.fromkeys(party.asked, 1)
    return world


@every("dialect", DIALECTS)
def test_an_agent_of_every_dialect_is_found_out_and_understood(dialect: str) -> None:
    world = talked(World(dialect, agent=AUTO))
    assert [one.dialect for one in world.ledger.decisions] == [AGENTS_OF_BOTH.get(dialect, dialect)]
    assert texts(world.parties["client"].heard) == "0.0."
    (ended,) = [one for one in world.parties["client"].heard if "stopReason" in (one.get("result") or {})]
    assert ended["result"]["stopReason"] == "end_turn"


@every("dialect", DIALECTS)
def test_a_client_of_every_dialect_is_found_out_and_understood(dialect: str) -> None:
    world = talked(World(dialect, client=AUTO))
    assert [one.dialect for one in world.ledger.decisions] == [CLIENTS_OF_BOTH.get(dialect, dialect)]
    asked = [one["method"] for one in world.parties["agent"].heard if "id" in one and "method" in one]
    assert asked == ["initialize", "session/new", "session/prompt"]


@every("dialect", DIALECTS)
def test_nobody_consents_by_being_misunderstood(dialect: str) -> None:
    """The client of this world rejects; no detection may make an approval of it, or of its silence."""
    world = begin(World(dialect, agent=AUTO, client=AUTO))
    for deed in (prompt, question):
        deed(world, 0)
    world.settle()
    outcomes = [one["result"]["outcome"] for one in world.parties["agent"].heard if "result" in one]
    assert [one.get("optionId", one["outcome"]) for one in outcomes] in (["no"], ["cancelled"])
