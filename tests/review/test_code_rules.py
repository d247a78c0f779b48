"""Rules that follow values and branches: each with what it finds, and what it leaves alone."""

from __future__ import annotations

from typing import NamedTuple

from dragoman.review.code_rules import CODE_RULES
from dragoman.review.inspection import inspect
from dragoman.review.taint import tables
from tests.every import every


class Pair(NamedTuple):
    path: str
    bad: str
    good: str


FLASK = "def view():\n    name = request.args['name']\n    {}\n"
EXPRESS = "app.get('/x', (req, res) => {{\n  {}\n}});\n"

PAIRS = {
    "flow/resource-leak": Pair(
        "x.go",
        "func f() error {\n\tfile, err := os.Open(p)\n\tif err != nil {\n\t\treturn "
        "err\n\t}\n\treturn read(file)\n}\n",
        "func f() error {\n\tfile, err := os.Open(p)\n\tif err != nil {\n\t\treturn "
        "err\n\t}\n\tdefer file.Close()\n\treturn read(file)\n}\n",
    ),
    "flow/lock-not-released": Pair(
        "x.go",
        "func f() int {\n\tmu.Lock()\n\tif bad {\n\t\treturn 0\n\t}\n\tmu.Unlock()\n\treturn 1\n}\n",
        "func f() int {\n\tmu.Lock()\n\tdefer mu.Unlock()\n\tif bad {\n\t\treturn 0\n\t}\n\treturn 1\n}\n",
    ),
    "flow/missing-await": Pair(
        "x.ts",
        "async function save() {}\nasync function f() {\n  save();\n  done();\n}\n",
        "async function save() {}\nasync function f() {\n  await save();\n  done();\n}\n",
    ),
    "flow/floating-promise": Pair(
        "x.js",
        "function f() {\n  fetch('/a');\n}\n",
        "function f() {\n  fetch('/a').catch(report);\n}\n",
    ),
    "flow/async-callback": Pair(
        "x.js",
        "const a = list.filter(async (x) => await ok(x));\n",
        "const a = list.filter((x) => ok(x));\n",
    ),
    "flow/blocking-in-async": Pair(
        "x.kt",
        "suspend fun f() {\n    Thread.sleep(1)\n}\n",
        "fun f() {\n    Thread.sleep(1)\n}\n",
    ),
    "flow/weak-random": Pair(
        "x.js",
        "function newToken() {\n  return Math.random();\n}\n",
        "function jitter() {\n  return Math.random();\n}\n",
    ),
    "flow/unused-result": Pair(
        "x.py",
        "def f(name):\n    name.strip()\n    return name\n",
        "def f(name):\n    return g(\n        name.strip()\n    )\n",
    ),
    "flow/panic-instead-of-error": Pair(
        "x.rs",
        "fn f() -> Result<u8, E> {\n    Ok(g().unwrap())\n}\n",
        "fn f() -> u8 {\n    g().unwrap()\n}\n",
    ),
    "logic/repeated-condition": Pair(
        "x.java",
        "class A {\n  int f(int n) {\n    if (n > 1) {\n      return 1;\n    } else if (n > 1) {\n   "
        "   return 2;\n    }\n    return 3;\n  }\n}\n",
        "class A {\n  int f(int n) {\n    if (n > 2) {\n      return 1;\n    } else if (n > 1) {\n   "
        "   return 2;\n    }\n    return 3;\n  }\n}\n",
    ),
    "logic/same-branches": Pair(
        "x.go",
        "func f() int {\n\tif a {\n\t\treturn 1\n\t} else {\n\t\treturn 1\n\t}\n}\n",
        'func f() string {\n\tif a {\n\t\treturn "1"\n\t} else {\n\t\treturn "2"\n\t}\n}\n',
    ),
    "logic/unreachable": Pair(
        "x.js",
        "function f() {\n  return 1;\n  g();\n}\n",
        "function f() {\n  if (a)\n    return 1;\n  g();\n}\n",
    ),
    "logic/fallthrough": Pair(
        "x.java",
        "class A {\n  void f() {\n    switch (k) {\n      case 1:\n        a();\n      case 2:\n     "
        "   b();\n    }\n  }\n}\n",
        "class A {\n  void f() {\n    switch (k) {\n      case 1:\n      case 2:\n        b();\n     "
        "   break;\n      case 3:\n        c();\n        // falls through\n      default:\n        "
        "d();\n    }\n  }\n}\n",
    ),
    "logic/changed-while-iterating": Pair(
        "x.py",
        "for row in rows:\n    if not row:\n        rows.remove(row)\n",
        "for row in rows:\n    if not row:\n        rows.remove(row)\n        break\n",
    ),
    "logic/off-by-one": Pair(
        "x.ts",
        "for (let i = 0; i <= xs.length; i++) {\n  use(xs[i]);\n}\n",
        "for (let i = 0; i <= xs.length; i++) {\n  use(gaps[i]);\n}\n",
    ),
    "logic/null-dereference": Pair(
        "x.go",
        "func f(p *P) string {\n\tif p == nil {\n\t\treturn p.Name\n\t}\n\treturn x\n}\n",
        "func f(p *P) string {\n\tif p == nil {\n\t\tp = New()\n\t\treturn p.Name\n\t}\n\treturn x\n}\n",
    ),
    "logic/contradiction": Pair("x.py", "ok = n < 10 and n > 20\n", "ok = n < 20 and n > 10\n"),
    "logic/accidental-tuple": Pair("x.py", "limit = a * 2,\n", "limit = f(\n    b = a,\n)\n"),
    "logic/placeholder-in-quotes": Pair("x.js", "f('Hi ${name}');\n", 'f(`Hi "${name}"`);\n'),
    "logic/equals-without-hash": Pair(
        "x.java",
        "class A {\n  public boolean equals(Object o) { return true; }\n}\n",
        "class A {\n  public int hashCode() { return 1; }\n  public boolean equals(Object o) { "
        "return true; }\n}\n",
    ),
    "flow/path-traversal": Pair(
        "x.py",
        FLASK.format("return open(f'/srv/{name}').read()"),
        FLASK.format("return open(f'/srv/{os.path.basename(name)}').read()"),
    ),
    "flow/command-injection": Pair(
        "x.js",
        EXPRESS.format("execSync(`ls ${req.query.dir}`);"),
        EXPRESS.format("execSync(COMMANDS[req.query.dir]);"),
    ),
    "flow/code-injection": Pair(
        "x.py",
        FLASK.format("return import_module(name)"),
        FLASK.format("return import_module(HANDLERS[name])"),
    ),
    "flow/xss": Pair(
        "x.js",
        EXPRESS.format("res.send('<b>' + req.query.name);"),
        EXPRESS.format("res.send('<b>' + escapeHtml(req.query.name));"),
    ),
    "flow/open-redirect": Pair(
        "x.py", FLASK.format("return redirect(name)"), FLASK.format("return redirect(f'/users/{name}')")
    ),
    "flow/ssrf": Pair(
        "x.js",
        EXPRESS.format("const url = req.query.url;\n  fetch(url).catch(report);"),
        EXPRESS.format(
            "const url = req.query.url;\n  if (!isAllowed(url)) return;\n  fetch(url).catch(report);"
        ),
    ),
    "flow/sql-injection": Pair(
        "x.py",
        FLASK.format("return Item.objects.raw('SELECT %s' % name)"),
        FLASK.format("return Item.objects.raw('SELECT %s', [name])"),
    ),
    "flow/nosql-injection": Pair(
        "x.js",
        EXPRESS.format("User.findOne({ name: req.body.name }).catch(report);"),
        EXPRESS.format("User.findOne({ name: String(req.body.name) }).catch(report);"),
    ),
    "flow/template-injection": Pair(
        "x.py",
        FLASK.format("return render_template_string('Hi ' + name)"),
        FLASK.format("return render_template_string('Hi {{ name }}', name=name)"),
    ),
    "flow/regex-injection": Pair(
        "x.js",
        EXPRESS.format("new RegExp(req.query.q).test(x);"),
        EXPRESS.format("new RegExp(escapeRegExp(req.query.q)).test(x);"),
    ),
    "flow/unsafe-deserialization": Pair(
        "x.py", FLASK.format("return pickle.loads(name)"), FLASK.format("return json.loads(name)")
    ),
}


def found(path: str, text: str) -> set[str]:
    result = inspect(path, text, (), has_ruff=True)
    assert result.failures == []
    return {finding.rule for finding in result.findings}


def test_every_rule_has_a_pair() -> None:
    assert PAIRS.keys() == {rule.id for rule in CODE_RULES}
    assert {rule.id for rule in tables().sink} <= PAIRS.keys()


@every("name", PAIRS)
def test_a_rule_finds_the_bug_and_leaves_its_twin_alone(name: str) -> None:
    pair = PAIRS[name]
    assert name in found(pair.path, pair.bad)
    assert name not in found(pair.path, pair.good)


def test_a_line_that_a_machine_wrote_costs_no_time() -> None:
    assert found("x.py", "a" * 200_000 + "\n") == set()
    assert found("x.go", "func f() {\n\tx := " + "a." * 100_000 + "b\n}\n") == set()


def test_offsets_stay_right_behind_strings_and_comments() -> None:
    text = "// été\nconst s = 'ü';\nfunction newToken() {\n  return Math.random();\n}\n"
    (hit,) = [f for f in inspect("x.js", text, (), has_ruff=True).findings if f.rule == "flow/weak-random"]
    assert (hit.line, hit.place.column) == (4, 3)
