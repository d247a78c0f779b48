"""Lines that look like mistakes, and that the lines above or the whole line refute."""

from __future__ import annotations

from tests.every import every
from tests.review.twins import Twins

TWINS = {
    "elements that are pointers": Twins(
        "x.go",
        "go/range-copy",
        "package m\nfunc f(ps []P) {\n\tfor _, p := range ps {\n\t\tp.N = 2\n\t}\n}\n",
        "package m\nfunc f(ps []*P) {\n\tfor _, p := range ps {\n\t\tp.N = 2\n\t}\n}\n",
    ),
    "a file for a moment": Twins(
        "x.go",
        "go/unchecked-call",
        "package m\nfunc f() {\n\tos.Remove(path)\n\tg()\n}\n",
        "package m\nfunc f() {\n\tos.Remove(tmpPath)\n\tg()\n}\n",
    ),
    "an error that a comment says why to ignore": Twins(
        "x.rs",
        "rust/dropped-result",
        "fn f() {\n    let _ = tx.send(1);\n}\n",
        "fn f() {\n    // Nobody may wait any more.\n    let _ = tx.send(1);\n}\n",
    ),
    "a screen that is no cookie": Twins(
        "x.kt",
        "security/insecure-cookie",
        "fun f(cookie: Cookie) {\n    cookie.setSecure(false)\n}\n",
        "fun f(activity: Activity) {\n    activity.setSecure(false)\n}\n",
    ),
    "a value of a lambda": Twins(
        "x.kt",
        "logic/lost-exception",
        'fun f() {\n    if (a) {\n        WrongError("no")\n    }\n}\n',
        "val m = module {\n    factory {\n        WrongError()\n    }\n}\n",
    ),
    "a key in the tests of a file": Twins(
        "x.rs",
        "rust/unfinished",
        "fn f() { todo!() }\n",
        "fn f() {}\n#[cfg(test)]\nmod tests {\n    fn g() { todo!() }\n}\n",
    ),
    "a script that ends with the first error": Twins(
        "x.sh",
        "shell/unchecked-cd",
        "cd build\nrm -rf out\n",
        "set -eu\ncd build\nrm -rf out\n",
    ),
    "a script that goes on after errors again": Twins(
        "x.sh",
        "shell/unchecked-cd",
        "set -e\nset +e\ncd build\nrm -rf out\n",
        "set -o errexit\ncd build\nrm -rf out\n",
    ),
    "an error that is an argument": Twins(
        "x.go",
        "go/unused-errorf",
        'package m\nfunc f() {\n\tfmt.Errorf("no")\n}\n',
        'package m\nfunc f() (int, error) {\n\treturn 1,\n\t\tfmt.Errorf("no")\n}\n',
    ),
    "a slice that is an argument": Twins(
        "x.go",
        "go/unused-append",
        "package m\nfunc f() {\n\tappend(a, b)\n}\n",
        "package m\nfunc f() {\n\tg(a,\n\t\tappend(a, b))\n}\n",
    ),
    "a line for another program": Twins(
        "x.sh",
        "shell/spaced-assignment",
        "count = 5\n",
        "python3 - <<EOF\ncount = 5\nEOF\n",
    ),
    "a number of parameters in a clause": Twins(
        "x.js",
        "javascript/built-sql",
        "function f(v) {\n  const c = [\"a\"];\n  c.push(`b = '${v.b}'`);\n"
        '  db.query(`select a from t where ${c.join(" and ")}`);\n}\n',
        'function f(v) {\n  const c = ["a"];\n  c.push(`b = $${v.length}`);\n'
        '  db.query(`select a from t where ${c.join(" and ")}`, v);\n}\n',
    ),
    "an element that is written down": Twins(
        "x.js",
        "flow/unchecked-absence",
        "function f(id) {\n  const e = document.getElementById(id);\n  e.focus();\n}\n",
        'function f() {\n  const e = document.getElementById("name");\n  e.focus();\n}\n',
    ),
    "a value that is said to be there": Twins(
        "x.ts",
        "flow/unchecked-absence",
        "function f(p?: P) {\n  const c = p?.city;\n  return c!.length;\n}\n",
        'function f(p?: P) {\n  const c = p?.city ?? "";\n  return c!.length;\n}\n',
    ),
    "a sum that an if of Kotlin drops": Twins(
        "x.kt",
        "flow/unused-result",
        "fun f(xs: List<Int>, y: Int): List<Int> {\n    if (y > 0) {\n        xs + y\n    }\n"
        "    return xs\n}\n",
        "fun f(xs: List<Int>, y: Int): List<Int> {\n    val zs = if (y > 0) {\n        xs + y\n"
        "    } else {\n        xs\n    }\n    return zs\n}\n",
    ),
    "an element that is taken out of a queue": Twins(
        "x.kt",
        "flow/unused-result",
        "fun f(xs: List<Int>) {\n    xs.take(2)\n    g()\n}\n",
        "fun f(xs: Queue<Int>) {\n    xs.take()\n    g()\n}\n",
    ),
    "a list that is changed in its place": Twins(
        "A.java",
        "flow/unused-result",
        'class A {\n  void f(String s) {\n    s.replaceAll("a", "b");\n  }\n}\n',
        "class A {\n  void f(List<Integer> s) {\n    s.replaceAll(x -> -x);\n  }\n}\n",
    ),
    "a title of a window": Twins(
        "x.py",
        "flow/unused-result",
        "def f(w):\n    w.name.title()\n",
        'def f(w):\n    w.root.title("a")\n',
    ),
    "a code that somebody logs in with": Twins(
        "x.py",
        "flow/weak-random",
        "import random\n\ndef f():\n    login_code = random.randint(0, 9)\n    return login_code\n",
        "import random\n\ndef f():\n    colour_code = random.randint(0, 9)\n    return colour_code\n",
    ),
}


@every("name", sorted(TWINS))
def test_a_line_is_judged_by_what_stands_around_it(name: str) -> None:
    TWINS[name].check()
