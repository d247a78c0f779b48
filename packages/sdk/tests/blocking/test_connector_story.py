"""The interop story once more, with the blocking face on one side or on both."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.forks import module
from tests.interop.programs import AGENTS, CLIENTS, needs_node, tapped, tell
from tests.interop.test_story import FUTURE, ORDERS, STORY, judge
from tests.together import SideBySide

together = SideBySide(2)

CLIENT = module("tests.blocking.story_client")
AGENT = module("tests.blocking.story_agent")

PAIRS = {
    "blocking client, ours": (CLIENT, AGENTS["ours"]),
    "blocking client, official agent": (CLIENT, AGENTS["official-python"]),
    "blocking client, TypeScript agent": (CLIENT, AGENTS["typescript"]),
    "ours, blocking agent": (CLIENTS["ours"], [*AGENT, "blocking"]),
    "official client, blocking agent": (CLIENTS["official-python"], [*AGENT, "blocking"]),
    "TypeScript client, blocking agent": (CLIENTS["typescript"], [*AGENT, "blocking"]),
    "ours, plain handlers": (CLIENTS["ours"], [*AGENT, "awaited"]),
    "blocking client, blocking agent": (CLIENT, [*AGENT, "blocking"]),
    "blocking client, plain handlers": (CLIENT, [*AGENT, "awaited"]),
}
SLOW = {
    "blocking client, ours",
    "blocking client, official agent",
    "ours, blocking agent",
    "ours, plain handlers",
    "blocking client, blocking agent",
    "official client, blocking agent",
}
"""The blocking client, the blocking agent and the plain handlers each meet others above."""


def marks(name: str) -> list[pytest.MarkDecorator]:
    found = [needs_node] if "TypeScript" in name else []
    return [*found, pytest.mark.slow] if name in SLOW else found


@pytest.mark.parametrize(
    ("client", "agent"),
    [pytest.param(*pair, id=name, marks=marks(name)) for name, pair in PAIRS.items()],
)
@together
def test_the_story_ends_as_it_does_between_all_others(
    client: list[str], agent: list[str], tmp_path: Path
) -> None:
    journal = tmp_path / "journal"
    report = tell(client, "story", list(ORDERS), tapped(journal, agent))
    assert report.pop("unknown", [FUTURE]) == [FUTURE]
    assert report == STORY
    if client is CLIENT:
        judge(journal, "to_agent")
    if agent[:3] == AGENT:
        judge(journal, "to_client")
        assert "sk-story" not in journal.read_text()
