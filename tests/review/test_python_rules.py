"""Rules about Python that need no tool, each with what it finds and what it leaves, and beside ruff."""

from typing import NamedTuple

import pytest

from dragoman.review import ReviewSettings, ReviewSource, apply_fixes
from dragoman.review.catalogue import BY_RUFF_CODE, PYTHON_RULES
from dragoman.review.inspection import inspect
from dragoman.review.ruff import find_ruff, ruff_findings
from tests.review.making import reviewed, rules_of

BRANCHES = "\n".join(f"    if x == {n}:\n        y = {n}" for n in range(20))


class Example(NamedTuple):
    hit: str
    line: int
    miss: str


EXAMPLES = {
    "python/mutable-argument-default": Example(
        "def f(a=[]):\n    return a\n", 1, "def f(a=()):\n    return a\n"
    ),
    "python/bare-except": Example(
        "try:\n    f()\nexcept:\n    g()\n", 3, "try:\n    f()\nexcept:\n    g()\n    raise\n"
    ),
    "python/try-except-pass": Example(
        "try:\n    f()\nexcept Exception:\n    pass\n", 3, "try:\n    f()\nexcept KeyError:\n    pass\n"
    ),
    "python/assert-tuple": Example("assert (x, 'why')\n", 1, "assert x, 'why'\n"),
    "python/assert-false": Example("assert False, 'no'\n", 1, "assert x is False, 'no'\n"),
    "python/is-literal": Example("if x is 'a':\n    f()\n", 1, "if x is None:\n    f()\n"),
    "python/none-comparison": Example("if x == None:\n    f()\n", 1, "if x is None:\n    f()\n"),
    "python/comparison-with-itself": Example("if x == x:\n    f()\n", 1, "if x == y:\n    f()\n"),
    "python/repeated-key": Example("d = {'a': 1, 'a': 2}\n", 1, "d = {'a': 1, 'b': 1, 1: 1}\n"),
    "python/raise-not-implemented": Example(
        "def f():\n    raise NotImplemented\n", 2, "def f():\n    return NotImplemented\n"
    ),
    "python/empty-f-string": Example("x = f'a'\n", 1, "x = f'{y:>10}'\n"),
    "python/unreachable": Example(
        "def f():\n    return 1\n    g()\n", 3, "def f():\n    if x:\n        return 1\n    g()\n"
    ),
    "python/jump-in-finally": Example(
        "def f():\n    try:\n        g()\n    finally:\n        return 1\n",
        5,
        "def f():\n    try:\n        g()\n    finally:\n        for x in y:\n            break\n",
    ),
    "python/return-in-init": Example(
        "class A:\n    def __init__(self):\n        return 1\n",
        3,
        "class A:\n    def __init__(self):\n        def g():\n            return 1\n        self.g = g\n",
    ),
    "python/blocking-sleep": Example(
        "import time\nasync def f():\n    time.sleep(1)\n", 3, "import time\ndef f():\n    time.sleep(1)\n"
    ),
    "python/complex-function": Example(
        f"def f(x):\n{BRANCHES}\n    return y\n", 1, "def f(x):\n    return 1 if x else 2\n"
    ),
    "python/eval": Example("x = eval(y)\n", 1, "import ast\nx = ast.literal_eval(y)\n"),
    "python/exec": Example("exec(y)\n", 1, "db.exec(y)\n"),
    "python/shell-true": Example(
        "import subprocess\nsubprocess.run(x, shell=True)\n", 2, "import subprocess\nsubprocess.run([x])\n"
    ),
    "python/shell-call": Example("import os\nos.system(x)\n", 2, "import os\nos.getpid()\n"),
    "python/unpickled": Example("import pickle\npickle.loads(x)\n", 2, "import json\njson.loads(x)\n"),
    "python/unsafe-yaml": Example("import yaml\nyaml.load(x)\n", 2, "import yaml\nyaml.safe_load(x)\n"),
    "python/weak-hash": Example(
        "import hashlib\nhashlib.md5(x)\n", 2, "import hashlib\nhashlib.md5(x, usedforsecurity=False)\n"
    ),
    "python/mktemp": Example(
        "import tempfile\ntempfile.mktemp()\n", 2, "import tempfile\ntempfile.mkstemp()\n"
    ),
    "python/unverified-tls": Example(
        "import requests\nrequests.get(u, verify=False)\n",
        2,
        "import requests\nrequests.get(u, verify=True)\n",
    ),
    "python/built-sql": Example(
        "q = f'SELECT a FROM t WHERE b = {c}'\n", 1, "q = 'SELECT a FROM t WHERE b = ?'\n"
    ),
    "python/debugger": Example("breakpoint()\n", 1, "breakpoints()\n"),
}

RULES = {rule.id: rule for rule in PYTHON_RULES}


def found_without_ruff(text: str) -> set[tuple[str, int]]:
    found = inspect("x.py", text, (), has_ruff=False)
    assert found.failures == []
    return {(finding.rule, finding.line) for finding in found.findings}


def test_every_rule_has_an_example() -> None:
    assert EXAMPLES.keys() == RULES.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_rule_hits_and_misses(name: str) -> None:
    example = EXAMPLES[name]
    assert (name, example.line) in found_without_ruff(example.hit)
    assert name not in {rule for rule, _ in found_without_ruff(example.miss)}


@pytest.mark.parametrize("rule", BY_RUFF_CODE.values(), ids=lambda rule: rule.id)
async def test_ruff_finds_the_same_under_the_same_name(rule: object) -> None:
    name = getattr(rule, "id")  # noqa: B009 - its type is not the test's business
    example = EXAMPLES[name]
    ruff = find_ruff()
    assert ruff is not None
    hits = await ruff_findings(ruff, "x.py", example.hit, deadline=20)
    assert (name, example.line) in {(finding.rule, finding.line) for finding in hits}
    assert name not in rules_of(await ruff_findings(ruff, "x.py", example.miss, deadline=20))


@pytest.mark.bound(30)
async def test_with_and_without_ruff_the_same_is_found_of_what_both_know() -> None:
    sources = [ReviewSource(f"{number}.py", example.hit) for number, example in enumerate(EXAMPLES.values())]
    both = []
    for use_ruff in (True, False):
        found = await reviewed(*sources, settings=ReviewSettings(use_ruff=use_ruff))
        both.append({(f.path, f.rule, f.line, f.severity) for f in found if f.rule in RULES})
    assert both[0] == both[1]


def test_with_ruff_only_what_ruff_has_not_is_looked_for() -> None:
    text = "def f(a=[]):\n    return eval(a)\n    g()\n"
    found = inspect("x.py", text, (), has_ruff=True).findings
    assert rules_of(found) == {"python/unreachable"}


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
