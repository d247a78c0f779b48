"""Rules that follow values and branches: each with what it finds, and what it leaves alone."""

from __future__ import annotations

from dragoman.review.catalogue import rule_examples
from dragoman.review.code_rule_texts import CODE_RULES
from dragoman.review.inspection import inspect
from dragoman.review.taint import tables
from tests.every import every

RULES = {*(rule.id for rule in CODE_RULES), *(rule.id for rule in tables().sink)}
EXAMPLES = {name: example for name, example in rule_examples().items() if name in RULES}


def found(path: str, text: str) -> set[str]:
    result = inspect(path, text, (), has_ruff=True)
    assert result.failures == []
    return {finding.rule for finding in result.findings}


def test_every_rule_has_an_example() -> None:
    assert EXAMPLES.keys() == RULES
    assert {rule.id for rule in tables().sink} <= EXAMPLES.keys()


@every("name", EXAMPLES)
def test_a_rule_finds_the_bug_and_leaves_its_twin_alone(name: str) -> None:
    example = EXAMPLES[name]
    assert name in found(example.path, example.bad)
    assert name not in found(example.path, example.good)


def test_a_line_that_a_machine_wrote_costs_no_time() -> None:
    assert found("x.py", "a" * 200_000 + "\n") == set()
    assert found("x.go", "func f() {\n\tx := " + "a." * 100_000 + "b\n}\n") == set()


def test_offsets_stay_right_behind_strings_and_comments() -> None:
    text = "// été\nconst s = 'ü';\nfunction newToken() {\n  return Math.random();\n}\n"
    (hit,) = [f for f in inspect("x.js", text, (), has_ruff=True).findings if f.rule == "flow/weak-random"]
    assert (hit.line, hit.place.column) == (4, 3)


@every(
    ("text", "line"),
    [
        ("async def f(): ...\nasync def g():\n    x = f()\n    return x.name\n", 3),
        ("async def f(): ...\nasync def g():\n    x = f()\n    return await x\n", None),
        ("async def f(): ...\nasync def g():\n    x = f()\n    x.close()\n", None),
        ("async def f(): ...\nasync def g():\n    x = f()\n    run(x)\n    x.name\n", None),
        (
            "class A:\n    @work()\n    async def f(self): ...\n    def g(self):\n        self.f()\n",
            None,
        ),
    ],
)
def test_a_coroutine_that_is_used_as_its_result_is_not_awaited(text: str, line: int | None) -> None:
    hits = [
        f.line for f in inspect("x.py", text, (), has_ruff=True).findings if f.rule == "flow/missing-await"
    ]
    assert hits == ([] if line is None else [line])


@every(
    ("text", "line"),
    [
        ("for k, v in d.items():\n    if v:\n        del d[k]\n", 3),
        ("for k in self.d.keys():\n    self.d.pop(k)\n", 2),
        ("for k, v in list(d.items()):\n    del d[k]\n", None),
        ("for k, v in d.items():\n    d[k] = v + 1\n", None),
        ("for k in d:\n    v = d.pop(k)\n    use(v)\n    return v\n", None),
    ],
)
def test_a_dictionary_must_not_lose_entries_while_it_is_walked_through(text: str, line: int | None) -> None:
    rule = "logic/changed-while-iterating"
    hits = [f.line for f in inspect("x.py", text, (), has_ruff=True).findings if f.rule == rule]
    assert hits == ([] if line is None else [line])


SOURCES = {
    "ws.py": "import os\nasync def f(ws):\n    name = await ws.receive_text()\n    os.system(name)\n",
    "argv.py": "import os, sys\ndef f():\n    name = sys.argv[1]\n    other = 1\n    os.system(name)\n",
    "page.js": "function f() {\n  const text = document.URL;\n  const other = 1;\n  eval(text);\n}\n",
    "at_once.js": "function f(req) {\n  eval(req.body.code);\n}\n",
}


@every("name", sorted(SOURCES))
def test_what_a_stranger_says_is_followed_from_the_statement_that_brings_it(name: str) -> None:
    assert found(name, SOURCES[name]) & {"flow/command-injection", "flow/code-injection"}
