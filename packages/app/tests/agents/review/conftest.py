"""Reviews of agents in this process are without worker processes, but for those that are cancelled."""

from __future__ import annotations

import pytest

from tests.review.local_inspector import rules_in_this_process

__all__ = ["rules_in_this_process"]

WITH_WORKERS = ("test_agent_cancel.py",)


@pytest.fixture(autouse=True)
def without_workers(request: pytest.FixtureRequest) -> None:
    if request.path.name not in WITH_WORKERS:
        request.getfixturevalue("rules_in_this_process")
