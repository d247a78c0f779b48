"""A policy says of recorded acts what it says of them in a session."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman_local.workspace.policy.act import Act
from dragoman_local.workspace.policy.act_reader import act_of_call
from dragoman_local.workspace.policy.decision import PolicyDecision
from dragoman_local.workspace.policy.policy import Policy
from dragoman_local.workspace.proof import recorded_acts
from dragoman_local.workspace.proof.known_acts import KnownActs
from dragoman_local.workspace.proof.policy_trial import count
from tests.workspace.proof.recording import ROOT, Recording, shown, trial

RULES = """
[[rule]]
decision = "deny"
command = "git push"
[[rule]]
decision = "allow"
command = "npm test"
"""


def busy() -> Recording:
    session = Recording()
    for line, answer in [("npm test", "yes"), ("git push", "yes"), ("make", "yes"), ("npm test", "no")]:
        session.command(line, answer)
    session.call("unasked", kind="execute", rawInput={"command": "git push"})
    return session


def test_the_same_acts_and_rules_give_the_same_answers() -> None:
    assert busy().verdicts(RULES) == busy().verdicts(RULES)


def test_acts_that_differ_in_their_texts_alone_are_read_and_judged_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judged: list[Act] = []
    decide = Policy.decide

    def count_decisions(self: Policy, act: Act) -> PolicyDecision:
        judged.append(act)
        return decide(self, act)

    read: list[object] = []

    def count_reads(*args: Any, **options: Any) -> Act:
        read.append(args)
        return act_of_call(*args, **options)

    monkeypatch.setattr(Policy, "decide", count_decisions)
    monkeypatch.setattr(recorded_acts, "act_of_call", count_reads)
    session = Recording()
    for name, (old, new) in {"first": ("a", "b"), "second": ("c", "d")}.items():
        output = [{"type": "content", "content": {"type": "text", "text": f"output of {name}"}}]
        raw = {"command": "make"}
        session.call(f"run {name}", title="make", kind="execute", rawInput=raw, content=output)
        session.edit(f"{ROOT}/a", old=old, new=new)
        edits = [{"old_string": old, "new_string": new}]
        session.ask(name, kind="edit", rawInput={"file_path": f"{ROOT}/b", "edits": edits})
    acts = session.acts(known=KnownActs())
    count(acts, trial(RULES))
    assert (len(acts), len(read), len(judged)) == (6, 3, 3)
    changes = [(change.old, change.new) for each in acts if each.act for change in each.act.changes]
    assert changes == [("a", "b"), ("a", "b"), ("c", "d"), ("c", "d")]


def test_what_differs_from_the_answers_of_then_is_counted() -> None:
    counts, verdicts = count(busy().acts(), trial(RULES))
    assert shown(verdicts) == [
        ("request", "allow", "allow"),
        ("request", "deny", "allow"),
        ("request", "ask", "allow"),
        ("request", "allow", "deny"),
        ("announced", "deny", "none"),
    ]
    assert (counts.stricter, counts.milder, counts.questions, counts.judged) == (1, 1, 1, 5)


def test_what_a_yes_covered_is_not_asked_again_and_what_a_no_covered_is() -> None:
    session = Recording()
    for answer in ("yes", "no"):
        session.command("make", answer)
        env = [{"name": "CLAUDECODE", "value": "[redacted]"}]
        session.request("terminal/create", {"command": "make", "env": env}, {"result": {"terminalId": "1"}})
    assert [outcome for _, outcome, _ in shown(session.verdicts())] == ["ask", "allow", "ask", "ask"]


def test_a_write_of_something_else_than_was_shown_is_asked() -> None:
    session = Recording()
    session.request("fs/read_text_file", {"path": f"{ROOT}/a"}, {"result": {"content": "one two"}})
    for text in ("one b", "all else"):
        session.edit(f"{ROOT}/a", old="two", new="b")
        session.request("fs/write_text_file", {"path": f"{ROOT}/a", "content": text}, {"result": {}})
    lent = [each.decision.outcome for each in session.verdicts() if each.act.method == "fs/write"]
    assert lent == ["allow", "ask"]


def test_a_yes_ends_with_its_turn() -> None:
    session = Recording()
    session.command("make")
    session.prompt()
    session.request("terminal/create", {"command": "make"}, {"result": {"terminalId": "1"}})
    assert [outcome for _, outcome, _ in shown(session.verdicts())] == ["ask", "ask"]


def test_only_questions_about_the_sessions_folders_are_the_walls() -> None:
    session = Recording()
    session.command("make")
    session.edit(f"{ROOT}/a.py")
    session.edit("/etc/hosts")
    session.edit(f"{ROOT}/.git/config")
    session.ask("fetch", kind="fetch", rawInput={"url": "http://localhost/"})
    session.ask("other", rawInput={"thing": "x"})
    assert [each.is_held_by_wall for each in session.verdicts()] == [True, True, False, False, False, False]
