"""Rules about Python that need no tool, each with what it finds and what it leaves, and beside ruff."""

import pytest

from dragoman_review import ReviewSettings, ReviewSource, Severity, apply_fixes
from dragoman_review.catalogue import BY_RUFF_CODE, PYTHON_RULES, rule_examples
from dragoman_review.inspection import inspect
from dragoman_review.places import find_ruff
from dragoman_review.python_ast import PythonRule
from dragoman_review.ruff import ruff_findings_of_many
from tests.review.samples import reviewed, rules_of

RULES = {rule.id: rule for rule in PYTHON_RULES}
EXAMPLES = {name: example for name, example in rule_examples().items() if name in RULES}


def found_without_ruff(text: str) -> set[tuple[str, int]]:
    found = inspect("x.py", text, (), has_ruff=False)
    assert found.failures == []
    return {(finding.rule, finding.line) for finding in found.findings}


def test_every_rule_has_an_example() -> None:
    assert EXAMPLES.keys() == RULES.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_rule_hits_and_misses(name: str) -> None:
    example = EXAMPLES[name]
    assert name in {rule for rule, _ in found_without_ruff(example.bad)}
    assert name not in {rule for rule, _ in found_without_ruff(example.good)}


@pytest.mark.parametrize("rule", BY_RUFF_CODE.values(), ids=lambda rule: rule.id)
async def test_ruff_finds_the_same_under_the_same_name(rule: PythonRule) -> None:
    name = rule.id
    example = EXAMPLES[name]
    ruff = find_ruff()
    assert ruff is not None
    sources = [ReviewSource("x.py", text) for text in (example.bad, example.good)]
    hits, misses = await ruff_findings_of_many(ruff, sources, deadline=20)
    theirs = {finding.line for finding in hits if finding.rule == name}
    assert theirs == {line for rule, line in found_without_ruff(example.bad) if rule == name}
    assert name not in rules_of(misses)


@pytest.mark.bound(30)
async def test_with_and_without_ruff_the_same_is_found_of_what_both_know() -> None:
    sources = [ReviewSource(f"{number}.py", example.bad) for number, example in enumerate(EXAMPLES.values())]
    both = []
    for use_ruff in (True, False):
        found = await reviewed(*sources, settings=ReviewSettings(use_ruff=use_ruff))
        both.append({(f.path, f.rule, f.line, f.severity) for f in found if f.rule in RULES})
    assert both[0] == both[1]


def test_with_ruff_only_what_ruff_has_not_is_looked_for() -> None:
    text = "def f(a=[]):\n    return eval(a)\n    g()\n"
    found = inspect("x.py", text, (), has_ruff=True).findings
    assert rules_of(found) == {"python/unreachable"}


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


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x is 'a'\n", "x == 'a'\n"),
        ("é = x is not 'a'\n", "é = x != 'a'\n"),
        ("raise NotImplemented('x')\n", "raise NotImplementedError('x')\n"),
    ],
)
def test_a_safe_fix_says_what_was_meant(before: str, after: str) -> None:
    assert apply_fixes(before, inspect("x.py", before, (), has_ruff=False).findings).text == after


def test_an_unsafe_fix_is_applied_only_when_asked_for() -> None:
    text = "try:\n    f()\nexcept:\n    g()\n"
    found = inspect("x.py", text, (), has_ruff=False).findings
    assert apply_fixes(text, found).text == text
    assert apply_fixes(text, found, unsafe=True).text == "try:\n    f()\nexcept Exception:\n    g()\n"


@pytest.mark.parametrize(("text", "line"), [("def f(:\n", 1), ("x = 1\ny = (\n", 2), ("if x:\npass\n", 2)])
def test_what_is_no_python_is_said_with_its_line(text: str, line: int) -> None:
    assert ("python/invalid-syntax", line) in found_without_ruff(text)


def test_names_are_followed_through_imports() -> None:
    text = (
        "from subprocess import run as start\nimport os as system\nstart(x, shell=True)\nsystem.system(y)\n"
    )
    assert found_without_ruff(text) == {("python/shell-true", 3), ("python/shell-call", 4)}


def test_columns_count_characters_and_not_bytes() -> None:
    (found,) = inspect("x.py", "é = 'ü'; eval(x)\n", (), has_ruff=False).findings
    assert (found.place.column, found.place.end_column) == (10, 17)


def test_an_expression_deeper_than_the_interpreter_follows_is_survived() -> None:
    assert found_without_ruff("x = " + "-" * 5_000 + "1\n") <= {("python/invalid-syntax", 1)}
    assert found_without_ruff("x = " + "+".join(["1"] * 20_000) + "\n") == set()
