"""Proposed rules save questions, and allow nothing that a person refused."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman_local.workspace.policy.policy import Policy
from dragoman_local.workspace.policy.policy_parser import read_policy
from dragoman_local.workspace.proof.suggestions import Suggestion, described, suggest
from tests.workspace.proof.recording import ROOT, Recording, trial


def suggested(session: Recording, *, least: int = 2, rules: str = "") -> list[Suggestion]:
    return list(suggest(session.verdicts(rules), trial(rules).policy_in, source="rules", least=least))


def commands(*answers: tuple[str, str]) -> Recording:
    session = Recording()
    for line, answer in answers:
        session.command(line, answer)
    return session


def test_a_program_that_reads_gets_a_star_and_any_other_is_written_out() -> None:
    session = commands(
        *[(line, "yes") for line in ("git log -1", "git log -2", "git log", "npm test", "npm test", "make")]
    )
    log, test = suggested(session)
    assert read_policy(log.text, "x").rules[0].command == (("git", "log", "**"),)
    assert (log.saves, log.examples, log.runs_code) == (3, ("git log -1", "git log -2"), False)
    rule = read_policy(test.text, "x").rules[0]
    assert (rule.command, rule.agent, rule.project, rule.folder) == (
        (("npm", "test"),),
        ("claude",),
        (ROOT,),
        (ROOT,),
    )
    assert test.runs_code
    assert "# Saves 2 questions, such as: npm test\n# It may run code" in described(test)


def test_nothing_that_was_refused_is_allowed_and_the_rest_is_proposed_without_a_star() -> None:
    session = commands(*[(f"git log -{n}", "yes") for n in (1, 2, 1, 2)], ("git log -9", "no"))
    found = suggested(session)
    assert [each.saves for each in found] == [2, 2]
    assert [read_policy(each.text, "x").rules[0].command for each in found] == [
        (("git", "log", "-2"),),
        (("git", "log", "-1"),),
    ]


def test_what_a_rule_of_today_allows_though_it_was_refused_then_hinders_no_suggestion() -> None:
    allowed = '[[rule]]\ndecision = "allow"\ncommand = "git push"\n'
    session = commands(("git push", "no"), ("make", "yes"), ("make", "yes"))
    (found,) = suggested(session, rules=allowed)
    assert read_policy(found.text, "x").rules[0].command == (("make",),)


def test_what_came_up_once_is_compared_with_nothing_that_was_refused() -> None:
    once, refused = [(f"make {n}", "yes") for n in range(40)], [(f"rm {n}", "no") for n in range(30)]
    verdicts, rules = commands(*once, *refused, ("make", "yes"), ("make", "yes")).verdicts(), trial("")
    asked: list[tuple[str, ...]] = []

    def policy_in(roots: tuple[str, ...]) -> Policy:
        asked.append(roots)
        return rules.policy_in(roots)

    assert [each.saves for each in suggest(verdicts, policy_in, source="rules")] == [2]
    assert len(asked) < 2 * len(verdicts)


def test_edits_are_proposed_for_a_folder_or_a_file_of_one_project() -> None:
    session = Recording()
    for name in ("src/a.py", "src/b.py", "notes.md", "notes.md"):
        session.edit(f"{ROOT}/{name}")
    assert [read_policy(each.text, "x").rules[0].path for each in suggested(session)] == [
        ("src/**",),
        ("notes.md",),
    ]


def test_nothing_is_proposed_that_makes_other_commands_run_something() -> None:
    session = Recording()
    for name in (
        "Makefile",
        "package.json",
        "scripts/x.sh",
        "a/conftest.py",
        ".git/hooks/pre-commit",
        ".envrc",
    ):
        for _ in range(3):
            session.edit(f"{ROOT}/{name}")
    lines = ["sudo ls", "npx tool", "chmod +x a", "git config core.hooksPath x", "git init", "direnv allow"]
    for line in (*lines, "ln -s a b", "ssh host ls", "echo $(make)", "make > /etc/x"):
        for _ in range(3):
            session.command(line)
    session.ask("x", kind="other", rawInput={"a": "b"})
    session.ask("x", kind="other", rawInput={"a": "b"})
    assert suggested(session) == []


def test_a_line_of_several_commands_gets_what_it_lacks() -> None:
    rules = '[[rule]]\ndecision = "allow"\ncommand = "ls"\n'
    (only,) = suggested(commands(("ls && npm test", "yes"), ("ls && npm test", "yes")), rules=rules)
    assert read_policy(only.text, "x").rules[0].command == (("npm", "test"),)


def test_a_rule_that_asks_or_denies_is_never_talked_round() -> None:
    for decision in ("ask", "deny"):
        rules = f'[[rule]]\ndecision = "{decision}"\ncommand = "make"\n'
        assert suggested(commands(("make", "yes"), ("make", "yes")), rules=rules) == []


LINES = ("git log -1", "git log -2", "git log", "ls", "ls -l", "make", "npm test", "ls && make", "cd x && ls")


@given(st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(("yes", "no", ""))), max_size=7))
def test_whatever_was_answered_the_proposed_rules_save_as_said_and_allow_no_refusal(
    answers: list[tuple[str, str]],
) -> None:
    session = commands(*answers)
    found = suggested(session)
    after = session.verdicts("\n".join(each.text for each in found))
    allowed = [each for each in after if each.decision.outcome == "allow"]
    assert not any(each.recorded.answer == "deny" for each in allowed)
    assert sum(each.recorded.answer == "allow" for each in allowed) >= sum(each.saves for each in found)
    assert all(each.saves >= 2 for each in found)
