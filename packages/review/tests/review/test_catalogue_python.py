"""Rules about Python: ruff finds them where it is at hand, and our shapes where it is not."""

import pytest

from dragoman_review import ReviewSettings, ReviewSource, Severity
from dragoman_review.catalogue import BY_RUFF_CODE, NAMED_BY_US, rule_examples
from dragoman_review.inspection import inspect
from dragoman_review.places import find_ruff
from dragoman_review.ruff import ruff_findings_of_many
from dragoman_review.rules import own_rules
from tests.every import every
from tests.review.samples import reviewed, rules_of

SHAPES = [rule for rule in own_rules() if rule.ruff is not None]


def found_without_ruff(text: str) -> set[tuple[str, int]]:
    found = inspect("x.py", text, own_rules(), has_ruff=False)
    assert found.failures == []
    return {(finding.rule, finding.line) for finding in found.findings}


async def test_ruff_finds_what_we_name_under_our_name() -> None:
    examples = rule_examples()
    assert {rule.id for rule in NAMED_BY_US} <= examples.keys()
    rules = list(BY_RUFF_CODE.values())
    bad = [ReviewSource("x.py", examples[rule.id].bad) for rule in rules]
    good = [ReviewSource("x.py", examples[rule.id].good) for rule in rules]
    ruff = find_ruff()
    assert ruff is not None
    found = await ruff_findings_of_many(ruff, [*bad, *good], deadline=20)
    named = [rule.id in rules_of(hits) for rule, hits in zip(rules, found[: len(bad)], strict=True)]
    assert [rule.id for rule, is_named in zip(rules, named, strict=True) if not is_named] == []
    rest = zip(rules, found[len(bad) :], strict=True)
    assert [rule.id for rule, misses in rest if rule.id in rules_of(misses)] == []


async def test_with_and_without_ruff_a_shape_is_found_in_the_same_lines() -> None:
    sources = [
        ReviewSource(f"{number}.py", text) for number, rule in enumerate(SHAPES) for text in rule.hits[:1]
    ]
    names = {rule.id for rule in SHAPES}
    both = []
    for use_ruff in (True, False):
        found = await reviewed(*sources, settings=ReviewSettings(use_ruff=use_ruff))
        both.append({(f.path, f.rule, f.line, f.severity) for f in found if f.rule in names})
    assert len(both[0]) >= len(SHAPES)
    assert both[0] == both[1]


def test_with_ruff_only_what_ruff_has_not_is_looked_for() -> None:
    text = "def f(a=[]):\n    return db.execute(f\"DELETE FROM t WHERE a = '{eval(a)}'\")\n"
    assert rules_of(inspect("x.py", text, own_rules(), has_ruff=True).findings) == {"python/built-sql"}


@pytest.mark.parametrize("use_ruff", [True, False])
async def test_a_high_severity_needs_the_origin_of_the_value_in_the_code(use_ruff: bool) -> None:
    head = "import os\nimport subprocess\nimport sys\n"
    without = (
        "def f(text, command):\n    eval(text)\n    exec(text)\n    subprocess.run(command, shell=True)\n"
    )
    evidence = "eval(input())\nos.system('ping ' + sys.argv[1])\ncode = request.args['code']\nexec(code)\n"
    settings = ReviewSettings(use_ruff=use_ruff, only=("python/e*", "python/shell-*", "python/code-*"))
    guessed = await reviewed(ReviewSource("x.py", head + without), settings=settings)
    assert {finding.severity for finding in guessed} == {Severity.MEDIUM}
    assert len(guessed) == 3
    shown = await reviewed(ReviewSource("x.py", head + evidence), settings=settings)
    high = {(finding.rule, finding.line) for finding in shown if finding.severity is Severity.HIGH}
    assert high == {("python/code-from-outside", line) for line in (4, 5, 7)}


@every(("text", "line"), [("def f(:\n", 1), ("x = 1\ny = (\n", 2), ("if x:\npass\n", 2)])
def test_what_is_no_python_is_said_with_its_line(text: str, line: int) -> None:
    assert ("python/invalid-syntax", line) in found_without_ruff(text)


def test_columns_count_characters_and_not_bytes() -> None:
    (found,) = inspect("x.py", "é = 'ü'; eval(x)\n", own_rules(), has_ruff=False).findings
    assert (found.place.column, found.place.end_column) == (10, 17)


def test_an_expression_deeper_than_the_interpreter_follows_is_survived() -> None:
    assert found_without_ruff("x = " + "-" * 5_000 + "1\n") <= {("python/invalid-syntax", 1)}
    assert found_without_ruff("x = " + "+".join(["1"] * 20_000) + "\n") == set()
