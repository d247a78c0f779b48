"""Ties a test to the faults it tries: their ids become the test's, and the catalogue's test sees who is left.

@fault("FRM-05")                  a test of one fault, on the echo agent and on a script that does the same
@cases({"JSN-01": b"...", ...})   one test for each entry, which it gets as `case`, and each agent

The agent is in the id as well (FRM-05-echo, FRM-05-script), and its command is the fixture `agent`. Another
`stage` is another small agent (see `tried`).

`make test` tries each fault on one agent, and both agents in turn; `make test-all` tries each fault on every
agent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.faults.trial_agents import Command, agents, command

COVERED: dict[str, set[str]] = {}
"""On which agents each fault is tried, among the modules that were imported."""


def fault(name: str, *, stage: str = "echo") -> pytest.MarkDecorator:
    rows = [
        pytest.param(name, started, id=test_id, marks=marks)
        for test_id, started, marks in _tried(name, stage)
    ]
    return pytest.mark.parametrize(("fault", "agent"), rows, indirect=["fault"])


def cases(table: Mapping[str, Any], *, stage: str = "echo") -> pytest.MarkDecorator:
    rows = [
        pytest.param(name, started, case, id=test_id, marks=marks)
        for name, case in table.items()
        for test_id, started, marks in _tried(name, stage)
    ]
    return pytest.mark.parametrize(("fault", "agent", "case"), rows, indirect=["fault"])


def _tried(name: str, stage: str) -> Iterator[tuple[str, Command, list[pytest.MarkDecorator]]]:
    """The id of each test, the agent that it is tried on, and its marks."""
    tried = agents(name, stage)
    # The sum of the characters, because the hash of a text differs between the processes of one run.
    sample = tried[sum(name.encode()) % len(tried)]
    for agent in tried:
        COVERED.setdefault(name, set()).add(agent)
        yield f"{name}-{agent}", command(agent, stage), [] if agent == sample else [pytest.mark.slow]
