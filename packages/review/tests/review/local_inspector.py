"""The rules in the process of the test, for tests in which the worker processes are not the point.

A worker process takes a third of a second to start and to compile the rules, and each review starts its own.
`tests/review/test_engine.py` tries reviews with workers, and `tests/agents/review/test_agent_wire.py` the
agent.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dragoman_review import judges
from dragoman_review.inspection import inspect
from dragoman_review.rules import ReviewRule
from dragoman_review.worker_messages import LONGEST_LINE, WorkerAnswer


class LocalInspector:
    """Answers as an `Inspector` does, with the same function as its worker."""

    def __init__(self, rules: Sequence[ReviewRule], *, deadline: float) -> None:
        self._rules = rules

    async def inspect(
        self, path: str, text: str, *, has_ruff: bool, longest: int = LONGEST_LINE
    ) -> WorkerAnswer:
        inspection = inspect(path, text, self._rules, has_ruff=has_ruff, longest=longest)
        return WorkerAnswer(findings=inspection.findings, failures=inspection.failures)

    async def aclose(self) -> None:
        """There is nothing to end."""


@pytest.fixture
def rules_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judges, "Inspector", LocalInspector)
