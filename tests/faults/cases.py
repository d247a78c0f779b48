"""Ties a test to the faults it tries: their ids become the test's, and the catalogue's test sees who is left.

@fault("FRM-05")                  a test of one fault, on the echo agent and on a script that does the same
@cases({"JSN-01": b"...", ...})   one test for each entry, which it gets as `case`, and each agent

The agent is in the id as well (FRM-05-echo, FRM-05-script), and its command is the fixture `agent`. Another
`stage` is another small agent (see `tried`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.faults.tried import Command, agents, command

COVERED: dict[str, set[str]] = {}
"""On which agents each fault is tried, among the modules that were imported."""


def fault(name: str, *, stage: str = "echo") -> pytest.MarkDecorator:
    tried = list(_tried(name, stage))
    rows, ids = [(name, started) for _, started in tried], [test_id for test_id, _ in tried]
    return pytest.mark.parametrize(("fault", "agent"), rows, ids=ids, indirect=["fault"])


def cases(table: Mapping[str, Any], *, stage: str = "echo") -> pytest.MarkDecorator:
    tried = [(name, *each, case) for name, case in table.items() for each in _tried(name, stage)]
    rows, ids = [(name, started, case) for name, _, started, case in tried], [row[1] for row in tried]
    return pytest.mark.parametrize(("fault", "agent", "case"), rows, ids=ids, indirect=["fault"])


def _tried(name: str, stage: str) -> Iterator[tuple[str, Command]]:
    """The id of each test, and the agent that it is tried on."""
    for agent in agents(name, stage):
        COVERED.setdefault(name, set()).add(agent)
        yield f"{name}-{agent}", command(agent, stage)
