"""A v2 agent of the official TypeScript SDK behind v1 clients: ours, and those of both official SDKs.

All tell the story that v1 clients and v1 agents tell each other, and come to the same end; what differs is
said below. The agent's files and commands are the client's, reached as MCP tools.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.forks import DRAGOMAN
from tests.interop.judges import refused_by_python, sent
from tests.interop.programs import CLIENTS, needs_node, tapped, tell
from tests.interop.test_story import ORDERS, STORY, said, used
from tests.together import SideBySide

together = SideBySide(2)

AGENT = ["node", str(Path(__file__).parent / "agent.mjs")]

DIFFERENT = {
    "read /story/none": said("error"),  # a tool fails; it has no codes
    "run": used("STORY=1 echo hello /story 262144\n[exit code 0]", "call-run", "completed", updates=2),
}
LEDGER = {
    "a tool call that is paused, cancelled or in a state of its own": 2,
    "a terminal of the agent": 1,
    "an update of a kind that v1 does not know": 1,
}


@needs_node
@pytest.mark.in_turn("client")
@pytest.mark.parametrize("client", CLIENTS)
@together
def test_v1_clients_tell_the_story_to_a_v2_agent(client: str, tmp_path: Path) -> None:
    ledger, journal = tmp_path / "ledger.json", tmp_path / "journal"
    translate = [*DRAGOMAN, "translate", "--agent", "v2", "--ledger", str(ledger)]
    report = tell(CLIENTS[client], "story", list(ORDERS), tapped(journal, [*translate, "--", *AGENT]))
    report.pop("unknown", None)
    without_news(report)
    assert report == {**STORY, **DIFFERENT}
    assert {entry["what"]: entry["count"] for entry in entries(ledger)} == LEDGER
    values = [item for item in sent(journal, "to_client") if item.definition]
    assert len(values) > 40
    assert refused_by_python(values) == []


def without_news(report: dict[str, Any]) -> None:
    """The agent's options changed when the client chose a mode; who listens all the time has heard of it."""
    kinds = report["stream"]["kinds"]
    if kinds[0] == "config_option_update":
        del kinds[0]


def entries(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())["entries"]
    return found
