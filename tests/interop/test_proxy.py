"""Our proxy between a client of one official SDK and an agent of the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.interop.programs import AGENTS, CLIENTS, needs_node, python, tapped, tell
from tests.interop.test_story import ORDERS, STORY
from tests.together import SideBySide

together = SideBySide(2)

EXPECTED = {
    **STORY,
    "stream": {**ORDERS["stream"], "kinds": ["plan", *["agent_message_chunk"] * 3]},
}


@needs_node
@pytest.mark.parametrize(
    ("client", "agent"), [("typescript", "official-python"), ("official-python", "typescript")]
)
@together
def test_the_story_passes_through_a_proxy(client: str, agent: str, tmp_path: Path) -> None:
    before, behind = tmp_path / "before", tmp_path / "behind"
    command = [*python("our_proxy"), *tapped(behind, AGENTS[agent])]
    assert tell(CLIENTS[client], "story", list(ORDERS), tapped(before, command)) == EXPECTED
    assert lines(before, "to_agent") == lines(behind, "to_agent")
    hidden = [line for line in lines(behind, "to_client") if "agent_thought_chunk" in line]
    assert len(hidden) == 1
    assert lines(before, "to_client") == [line for line in lines(behind, "to_client") if line not in hidden]


def lines(journal: Path, direction: str) -> list[str]:
    """The frames of one direction, byte for byte and in order."""
    written = map(json.loads, journal.read_text("utf-8").splitlines())
    return [line["frame"] for line in written if line["direction"] == direction]
