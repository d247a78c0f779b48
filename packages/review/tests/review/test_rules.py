"""Rules as data: what is read, and what is refused with a word that helps."""

from pathlib import Path

import pytest

from dragoman_review import BadRule, Severity, own_rules, parse_rules, read_rules
from dragoman_review.rule_files import load_rules, project_rules
from dragoman_review.rules import all_rules

GOOD = """
[[rule]]
id = "team/no-print"
title = "A print"
why = "We log."
severity = "low"
languages = "python"
pattern = 'print\\('
"""


def with_line(line: str) -> str:
    return f"{GOOD}{line}\n"


def test_a_rule_is_read() -> None:
    (rule,) = parse_rules(GOOD, "x.toml")
    assert (rule.id, rule.severity, rule.languages) == ("team/no-print", Severity.LOW, ("python",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[rule", "is not TOML"),
        ("[[rules]]\nid = 'x'\n", "unknown field `rules`"),
        ("rule = 3", "rules are tables"),
        ("[[rule]]\nid = 'a'\n", "missing required field `title`"),
        (GOOD.replace('"low"', '"bad"'), "Invalid enum value 'bad'"),
        (GOOD.replace("team/no-print", "Team No"), "an id has lower-case letters"),
        (GOOD.replace('"A print"', '""'), "must not be empty"),
        (GOOD.replace('"python"', '"cobol"'), "unknown language cobol. Choose from bash"),
        (GOOD.replace("print\\(", "print("), "pattern is not a regular expression"),
        (GOOD.replace("print\\(", "x*"), "matches the empty text"),
        (with_line("unless = '['"), "unless is not a regular expression"),
        (with_line("needs = '['"), "needs is not a regular expression"),
        (with_line("match = 'print($X)'"), "either a pattern"),
        (GOOD.replace("pattern", "patern"), "unknown field `patern`"),
        (with_line("fix = '\\g<no>'"), "which the pattern does not have"),
        (with_line("fix = '\\2'"), "which the pattern does not have"),
        (with_line("entropy = 3.0"), "a group (?P<secret>"),
        (with_line("constraints = { X = { kind = 'string' } }"), "constraints belong to match"),
        (GOOD.replace("pattern", "match") + "where = 'code'\n", "where belongs to pattern"),
        (GOOD.replace("pattern", "match") + "beyond_ascii = true\n", "belongs to pattern"),
        (GOOD.replace("pattern", "match") + "unless_in_text = 'x'\n", "belongs to pattern"),
        (GOOD + "unless_in_text = '('\n", "not a regular expression"),
        (GOOD.replace("pattern", "match").replace('languages = "python"', ""), "a match needs languages"),
    ],
)
def test_a_bad_rule_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(BadRule) as refused:
        parse_rules(text, "x.toml")
    assert said in str(refused.value)
    assert refused.value.where.startswith("x.toml")


def test_the_refusal_names_the_rule() -> None:
    with pytest.raises(BadRule, match=r"x\.toml, rule 1 \(team/no-print\): "):
        parse_rules(GOOD.replace("print\\(", "("), "x.toml")


def test_a_folder_is_read_file_by_file(tmp_path: Path) -> None:
    (tmp_path / "b.toml").write_text(GOOD)
    (tmp_path / "a.toml").write_text(GOOD.replace("no-print", "another"))
    (tmp_path / "notes.md").write_text("no rules")
    assert [rule.id for rule in read_rules(tmp_path)] == ["team/another", "team/no-print"]


def test_two_rules_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(GOOD)
    (tmp_path / "b.toml").write_text(GOOD)
    with pytest.raises(BadRule, match="two rules have the id team/no-print"):
        read_rules(tmp_path)


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b"\xff")
    with pytest.raises(BadRule, match="cannot be read"):
        read_rules(tmp_path / "a.toml")
    with pytest.raises(BadRule, match="no such file"):
        load_rules(tmp_path / "b.toml")


@pytest.mark.parametrize(
    ("match", "said"),
    [
        ("{ kind = 'no_such_kind' }", "ast-grep refuses this for python"),
        ("{ kinds = 'call' }", "unknown field"),
        ("{ regex = '[' }", "ast-grep refuses"),
    ],
)
def test_a_shape_that_ast_grep_does_not_know_is_refused_before_the_review(
    tmp_path: Path, match: str, said: str
) -> None:
    (tmp_path / "a.toml").write_text(GOOD.replace("pattern = 'print\\('", f"match = {match}"))
    with pytest.raises(BadRule, match=said) as refused:
        load_rules(tmp_path / "a.toml")
    assert "backtrace" not in str(refused.value)


def test_a_shape_in_a_language_without_grammar_is_refused(tmp_path: Path) -> None:
    text = GOOD.replace("pattern = 'print\\('", "match = 'x'").replace('"python"', '"sql"')
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(BadRule, match="no grammar for 'sql'"):
        load_rules(tmp_path)


def test_a_project_brings_rules_in_its_own_folder(tmp_path: Path) -> None:
    assert project_rules(tmp_path) == ()
    (tmp_path / ".dragoman" / "rules").mkdir(parents=True)
    (tmp_path / ".dragoman" / "rules" / "ours.toml").write_text(GOOD)
    assert [rule.id for rule in project_rules(tmp_path)] == ["team/no-print"]


def test_a_rule_of_the_same_name_takes_the_place_of_ours() -> None:
    (mine,) = parse_rules(GOOD.replace("team/no-print", "text/todo"), "x.toml")
    (kept,) = [rule for rule in all_rules([mine]) if rule.id == "text/todo"]
    assert kept is mine
    assert len(all_rules([mine])) == len(own_rules())
