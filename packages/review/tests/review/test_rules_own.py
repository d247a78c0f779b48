"""Every rule that comes as data: it hits what it is for, and misses what is nearly that."""

from pathlib import Path

from dragoman_review.inspection import inspect
from dragoman_review.rules import ReviewRule, own_rules, read_rules
from dragoman_review.rules import __file__ as rules_module
from dragoman_review.structure import GRAMMARS, is_available, refusal
from tests.every import every
from tests.review.samples import NAMES

RULES = {rule.id: rule for rule in own_rules()}
STRUCTURAL = {name: rule for name, rule in RULES.items() if rule.match is not None}
# A grammar may have no such thing as the example: TypeScript without JSX knows no elements.
NAME_IN_TESTS = "x.ini"


def file_for(rule: ReviewRule, language: str | None = None) -> str:
    name = NAMES[language or rule.languages[0]] if rule.languages else NAME_IN_TESTS
    if not rule.languages and rule.where != "anywhere":
        name = NAMES["python"]
    return f".github/{name}" if rule.paths else name


def is_hit(rule: ReviewRule, text: str, path: str) -> bool:
    found = inspect(path, text, (rule,), has_ruff=False)
    assert found.failures == []
    return rule.id in {finding.rule for finding in found.findings}


@every("rule", RULES.values(), ids=RULES)
def test_a_rule_has_examples_of_both_kinds(rule: ReviewRule) -> None:
    assert rule.hits
    assert rule.misses


@every("rule", RULES.values(), ids=RULES)
def test_a_rule_hits_what_it_is_for(rule: ReviewRule) -> None:
    assert [text for text in rule.hits if not is_hit(rule, text, file_for(rule))] == []


@every("rule", RULES.values(), ids=RULES)
def test_a_rule_misses_what_is_nearly_that(rule: ReviewRule) -> None:
    assert [text for text in rule.misses if is_hit(rule, text, file_for(rule))] == []


@every("rule", STRUCTURAL.values(), ids=STRUCTURAL)
def test_a_shape_is_found_in_every_language_it_names(rule: ReviewRule) -> None:
    assert is_available()
    assert refusal(rule) is None
    for language in rule.languages:
        assert language in GRAMMARS
        assert any(is_hit(rule, text, file_for(rule, language)) for text in rule.hits), language


@every("path", sorted((Path(rules_module).parent / "data").glob("rules-*.toml")))
def test_our_rules_are_as_right_as_those_of_users_must_be(path: Path) -> None:
    assert read_rules(path)


def test_no_two_of_our_rules_have_one_name() -> None:
    assert len(RULES) == len(own_rules())


def test_rules_of_one_kind_are_told_apart() -> None:
    titles = {(rule.id, rule.title) for rule in RULES.values()}
    assert len(titles) == len(RULES) > 50


FIXABLE = {name: rule for name, rule in RULES.items() if rule.fix is not None}


@every("rule", FIXABLE.values(), ids=FIXABLE)
def test_what_was_mended_is_not_found_again(rule: ReviewRule) -> None:
    from dragoman_review import apply_fixes

    for text in rule.hits:
        found = inspect(file_for(rule), text, (rule,), has_ruff=True).findings
        mended = apply_fixes(text, [finding for finding in found if finding.rule == rule.id], unsafe=True)
        assert mended.applied_findings
        assert not is_hit(rule, mended.text, file_for(rule))
