"""What becomes of a decision: each outcome, with and without an option that says so, and with a log that
cannot be written.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman_local.workspace.policy.act_view import view_of
from dragoman_local.workspace.policy.audit import AuditLog
from dragoman_local.workspace.policy.decision import Outcome, PolicyDecision
from dragoman_local.workspace.policy.judge import PermissionChoice, PermissionJudge, PermissionPrompt
from dragoman_local.workspace.policy.permission_service import PermissionService
from dragoman_local.workspace.policy.policy_files import RememberedRules
from tests.every import every
from tests.workspace.policy.makers import OFFERED, command, policy

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


def test_an_answer_for_always_that_no_line_tells_is_not_remembered(tmp_path: Path) -> None:
    audit, remembered = tmp_path / "audit.jsonl", RememberedRules(str(tmp_path / "remembered.toml"))
    judge, act = PermissionJudge(audit=AuditLog(str(audit)), remembered_rules=remembered), command("make")
    audit.mkdir()
    prompt = PermissionPrompt(act=act, decision=policy().decide(act), view=view_of(act), options=(*OFFERED,))
    always = PermissionChoice(option_id="always")
    assert judge.settle_choice(prompt, always, policy()).kept == ""
    assert not remembered.rules()
    audit.rmdir()
    settlement = judge.settle_choice(prompt, always, policy())
    assert len(remembered.rules()) == 1
    judge.take_back(act, settlement)
    judge.take_back(act, settlement._replace(kept=""))
    assert not remembered.rules()


@every(
    ("line", "offered", "expected"),
    [
        ("make", ("once", "no"), "dragoman:always"),
        ("make", ("once", "always", "no"), None),
        ("make", ("no",), None),
        ("make", ("no", "never"), None),
        ("cp x .git/config", ("once", "no"), None),
    ],
)
def test_always_of_ours_is_for_agents_with_once_alone_and_for_what_can_be_kept(
    line: str, offered: tuple[str, ...], expected: str | None, tmp_path: Path
) -> None:
    judge = PermissionJudge(remembered_rules=RememberedRules(str(tmp_path / "remembered.toml")))
    options = [option for option in OFFERED if option.option_id in offered]
    _, own, _ = judge.offer(command(line), options, policy())
    assert (own and own.option_id) == expected


async def nobody_yet(prompt: PermissionPrompt) -> str | None:
    raise AssertionError(prompt.text)


@every(
    ("line", "rules", "expected"),
    [
        ("make", "", "allow"),
        ("make", 'default = "deny"', "deny"),
        ("make", '[[rule]]\ndecision = "deny"', "deny"),
        ("make", '[[rule]]\ndecision = "ask"', "ask"),
        ("make", '[[rule]]\ndecision = "allow"', "allow"),
        ("cp x .git/config", "", "ask"),
    ],
)
def test_what_is_left_to_another_party_is_what_no_rule_speaks_about(
    line: str, rules: str, expected: str
) -> None:
    """A question that nobody can answer names the command that would allow it; an answer does not."""
    for asker in (nobody_yet, None):
        judge = PermissionJudge(remembered_rules=RememberedRules("nowhere"))
        desk = PermissionService(lambda: policy(rules), asker=asker, leaves_rest=True, judge=judge)
        question = desk.judge_lent(command(line))
        assert question.decision.outcome == expected
        assert (question.prompt is not None) is (asker is not None and expected == "ask")
        is_unheard = asker is None and expected == "ask" and line == "make"
        assert bool(question.decision.remedy) is is_unheard
