"""Every requirement of the agent side is tried on both agents, or has a reason why not."""

from __future__ import annotations

import pytest

from dragoman_check import manifest
from tests.requirements.ledger import AGENTS, ids_in, reasons, requirements, tried


@pytest.mark.parametrize("agent", AGENTS)
def test_every_requirement_has_a_test_or_a_reason(agent: str) -> None:
    missing = requirements().keys() - tried(agent).keys() - reasons(agent).keys()
    assert sorted(missing) == [], (
        "name each in a test of tests/requirements that tries it on this agent (test_turn_27_…), "
        "or say in tests/requirements/ledger.py why it is not tried"
    )


@pytest.mark.parametrize("agent", AGENTS)
def test_no_reason_excuses_what_is_tried(agent: str) -> None:
    assert sorted(reasons(agent).keys() & tried(agent).keys()) == []


@pytest.mark.parametrize("agent", AGENTS)
def test_only_requirements_of_agents_are_named(agent: str) -> None:
    assert sorted((reasons(agent).keys() | tried(agent).keys()) - requirements().keys()) == []


def test_the_catalogue_is_whole() -> None:
    bound = {entry.id for entry in manifest.requirements().values() if "agent" in entry.sides}
    assert requirements().keys() == bound


def test_ids_are_found_in_names() -> None:
    assert ids_in("test_rpc_01_and_ext_02_no_03_of_x") == ["RPC-01", "EXT-02", "NO-03"]
