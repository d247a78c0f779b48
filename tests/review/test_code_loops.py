"""Loops that read past the end, beside those that stop before it."""

from __future__ import annotations

from tests.every import every
from tests.review.twins import Twins

TWINS = {
    "from the end of a list of Python": Twins(
        "x.py",
        "logic/off-by-one",
        "def f(xs):\n    for i in range(len(xs), 0, -1):\n        g(xs[i])\n",
        "def f(xs):\n    for i in range(len(xs) - 1, -1, -1):\n        g(xs[i])\n",
    ),
    "from the end of a list of Python, one before": Twins(
        "x.py",
        "logic/off-by-one",
        "def f(xs):\n    for i in range(len(xs), -1, -1):\n        g(xs[i])\n",
        "def f(xs):\n    for i in range(len(xs), 0, -1):\n        g(xs[i - 1])\n",
    ),
    "from the end of a slice": Twins(
        "x.go",
        "logic/off-by-one",
        "package m\nfunc f(xs []int) {\n\tfor i := len(xs); i >= 0; i-- {\n\t\tg(xs[i])\n\t}\n}\n",
        "package m\nfunc f(xs []int) {\n\tfor i := len(xs) - 1; i >= 0; i-- {\n\t\tg(xs[i])\n\t}\n}\n",
    ),
    "from the end of a list of Kotlin": Twins(
        "x.kt",
        "logic/off-by-one",
        "fun f(xs: List<Int>) {\n    for (i in xs.size downTo 0) {\n        g(xs[i])\n    }\n}\n",
        "fun f(xs: List<Int>) {\n    for (i in xs.size - 1 downTo 0) {\n        g(xs[i])\n    }\n}\n",
    ),
    "the letters of a text": Twins(
        "A.java",
        "logic/off-by-one",
        "class A {\n  void f(String s) {\n    for (int i = 0; i <= s.length(); i++) {\n"
        "      g(s.charAt(i));\n    }\n  }\n}\n",
        "class A {\n  void f(String s) {\n    for (int i = 0; i <= s.length(); i++) {\n"
        "      g(s.substring(0, i));\n    }\n  }\n}\n",
    ),
    "the neighbour of the last": Twins(
        "x.rs",
        "logic/off-by-one",
        "fn f(xs: &[u8]) {\n    for i in 0..=xs.len() - 1 {\n        g(xs[i], xs[i + 1]);\n    }\n}\n",
        "fn f(xs: &[u8]) {\n    for i in 0..xs.len() - 1 {\n        g(xs[i], xs[i + 1]);\n    }\n}\n",
    ),
    "a loop that moves as it sees fit": Twins(
        "x.go",
        "logic/off-by-one",
        "package m\nfunc f(p string) {\n\tfor i := 0; i < len(p); i++ {\n\t\tg(p[i], p[i+1])\n\t}\n}\n",
        "package m\nfunc f(p string) {\n\tfor i := 0; i < len(p); {\n\t\tif i+3 <= len(p) {\n"
        "\t\t\tg(p[i+1])\n\t\t}\n\t\ti++\n\t}\n}\n",
    ),
}


@every("name", sorted(TWINS))
def test_a_loop_past_the_end_is_found_and_one_that_stops_is_not(name: str) -> None:
    TWINS[name].check()
