"""What becomes of a decision: each outcome, with and without an option that says so, and with a log that
cannot be written.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman_local.workspace.policy.audit import AuditLog
from dragoman_local.workspace.policy.decision import Outcome, PolicyDecision
from dragoman_local.workspace.policy.judge import PermissionJudge
from tests.workspace.policy.makers import OFFERED, command

NO_OPTION = "because; but no option that was offered says so"
NOT_WRITTEN = "the audit log cannot be written"


@pytest.mark.parametrize(
    ("outcome", "option", "is_writable", "expected"),
    [
        ("allow", "once", True, ("allow", "because", "once")),
        ("allow", None, True, ("deny", NO_OPTION, None)),
        ("allow", "once", False, ("deny", NOT_WRITTEN, "no")),
        ("allow", None, False, ("deny", NO_OPTION, None)),
        ("deny", "no", True, ("deny", "because", "no")),
        ("deny", None, True, ("deny", "because", None)),
        ("deny", "no", False, ("deny", "because", "no")),
        ("ask", None, True, ("ask", "because", None)),
    ],
)
def test_nothing_is_permitted_that_no_option_says_or_no_line_tells(
    outcome: Outcome,
    option: str | None,
    is_writable: bool,
    expected: tuple[str, str, str | None],
    tmp_path: Path,
) -> None:
    path = tmp_path / "audit.jsonl"
    if not is_writable:
        path.mkdir()
    judge, act = PermissionJudge(audit=AuditLog(str(path))), command("make")
    decision = PolicyDecision(outcome=outcome, rule="p:1", why="because")
    settled = judge.settle(act, decision, OFFERED, option, by="person", person="ann")
    assert (settled.decision.outcome, settled.decision.why, settled.option) == expected
    if is_writable:
        line = json.loads(path.read_text())
        assert (line["outcome"], line["why"]) == expected[:2]
        assert (line["option"], line["by"], line["person"], line["rule"]) == (option, "person", "ann", "p:1")
    assert judge.grants.use(act) is (expected[0] == "allow")
