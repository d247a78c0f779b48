"""No agent of another dialect gets past a rule by the way in which it speaks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hostile.doors.agent_steps import AgentTrick
from tests.hostile.doors.dialect_tricks import DIALECT_TRICKS
from tests.hostile.doors.stage import found, hub_of_puppets, make_folder, play
from tests.hostile.doors.tricks import must_not, parameters
from tests.hub.outside.process import HubProcess


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    with hub_of_puppets(tmp_path_factory.mktemp("hub")) as hub:
        yield hub


@pytest.mark.parametrize("trick", parameters(DIALECT_TRICKS))
def test_no_agent_of_a_dialect_does_what_nobody_decided(hub: HubProcess, trick: AgentTrick) -> None:
    folder = make_folder(hub, trick.name, policy=trick.policy)
    visitor = play(hub, folder, [*trick.honest, *trick.steps], agent=trick.dialect, person=trick.person)
    assert (folder / "honest").exists(), visitor.heard
    must_not(found(folder, trick.traces), visitor.questions)
