"""Numbers that are not what they seem, beside numbers that are."""

from __future__ import annotations

from tests.every import every
from tests.review.twins import Twins

TWINS = {
    "fields with numbers that are sorted as texts": Twins(
        "x.js",
        "logic/numbers-sorted-as-texts",
        "const a = xs.map((x) => x.elapsedMs).sort();\n",
        "const a = xs.map((x) => x.name).sort();\n",
    ),
    "a quotient of Go that becomes a fraction": Twins(
        "x.go",
        "logic/cut-quotient",
        "package m\nfunc f(a, b int) float64 {\n\tq := a / b\n\treturn float64(q)\n}\n",
        "package m\nfunc f(a, b int) float64 {\n\tq := float64(a) / float64(b)\n\treturn q\n}\n",
    ),
    "a quotient of Go that becomes one at once": Twins(
        "x.go",
        "logic/cut-quotient",
        "package m\nfunc f(a, b int) float64 {\n\treturn float64(a / b)\n}\n",
        "package m\nfunc f(a int) int {\n\treturn int(math.Ceil(float64(a) / b))\n}\n",
    ),
    "a duration that is made whole on purpose": Twins(
        "x.go",
        "logic/cut-quotient",
        "package m\nfunc f(a, b int) float64 {\n\treturn float64(a / b)\n}\n",
        "package m\nfunc f(d time.Duration) float64 {\n\treturn float64(d / time.Millisecond)\n}\n",
    ),
    "a sum of fractions": Twins(
        "A.java",
        "logic/compared-sum",
        "class A {\n  boolean f(double[] xs, double t) {\n    double s = 0;\n"
        "    for (double x : xs) {\n      s += x;\n    }\n    return s == t;\n  }\n}\n",
        "class A {\n  boolean f(int[] xs, int t) {\n    int s = 0;\n    for (int x : xs) {\n"
        "      s += x;\n    }\n    return s == t;\n  }\n}\n",
    ),
    "a sum that is asked whether it is nought": Twins(
        "x.py",
        "logic/compared-sum",
        "def f(xs):\n    s = 0.0\n    for x in xs:\n        s += x\n    return s == 1.5\n",
        "def f(xs):\n    s = 0.0\n    for x in xs:\n        s += x\n    return s == 0\n",
    ),
    "a count that was begun as a fraction": Twins(
        "x.py",
        "logic/compared-sum",
        "def f(xs):\n    s = 0.0\n    for x in xs:\n        s += x\n    return s != xs.total\n",
        "def f(xs):\n    s = 0.0\n    for x in xs:\n        s += x\n    return s != xs.calls + 1\n",
    ),
    "a setting that is a text": Twins(
        "x.py",
        "logic/text-as-number",
        'def f():\n    n = os.getenv("N")\n    return n > 3\n',
        'def f():\n    n = os.getenv("N")\n    n = int(n)\n    return n > 3\n',
    ),
    "a setting with a number for a default": Twins(
        "x.py",
        "logic/text-as-number",
        'def f():\n    n = os.environ.get("N", "0")\n    return n == 0\n',
        'def f():\n    n = os.environ.get("N", DEFAULT)\n    return n == 0\n',
    ),
    "a setting of a script": Twins(
        "x.js",
        "logic/text-as-number",
        "function f() {\n  return process.env.PORT === 80;\n}\n",
        'function f() {\n  return process.env.PORT === "80";\n}\n',
    ),
}


@every("name", sorted(TWINS))
def test_a_number_that_is_none_is_found_and_one_that_is_one_is_not(name: str) -> None:
    TWINS[name].check()
