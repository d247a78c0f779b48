"""What a failed call tells a person to do next."""

from __future__ import annotations

import pytest

from dragoman.errors import CallFailed
from dragoman_app.apps.run.outcome import outcome_of_error


@pytest.mark.parametrize(
    ("code", "data", "has_hint"),
    [(-32603, None, True), (-32603, {"details": "no key"}, False), (429, None, False)],
)
def test_an_error_that_says_nothing_leads_to_what_the_agent_printed(
    code: int, data: object, has_hint: bool
) -> None:
    outcome = outcome_of_error(CallFailed(code, "Internal error", data, method="session/prompt"))
    assert outcome.name == "agent_error"
    assert ("--verbose" in (outcome.next_step or "")) is has_hint
