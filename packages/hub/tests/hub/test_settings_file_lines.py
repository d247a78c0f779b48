"""In which line something stands, for everything that TOML can write."""

from __future__ import annotations

import pytest

from dragoman_hub.settings_file import TomlLines

TEXT = """# a comment
a.b.c = 1
"quo ted" = '''
[not.a.header]
'''
[t]
x = [ # one
  1, [2, 3],
  "],",

  4,
]
y.'z w' = { p = 1, q = 2 }

[t.u]
v = 1

[[many]]
name = "first"
[[many]]
name = "second"
[many.inner]
k = 1
[[many.deep]]
k = 1
[[many.deep]]
k = 2
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("a",), 2),
        (("a", "b", "c"), 2),
        (("quo ted",), 3),
        (("not", "a"), 1),
        (("t",), 6),
        (("t", "x"), 7),
        (("t", "x", 0), 8),
        (("t", "x", 1), 8),
        (("t", "x", 2), 9),
        (("t", "x", 3), 11),
        (("t", "y", "z w", "q"), 13),
        (("t", "u", "v"), 16),
        (("t", "u", "missing"), 15),
        (("many",), 18),
        (("many", 0, "name"), 19),
        (("many", 1), 20),
        (("many", 1, "name"), 21),
        (("many", 1, "inner", "k"), 23),
        (("many", 1, "deep", 0, "k"), 25),
        (("many", 1, "deep", 1, "k"), 27),
        (("nowhere",), 1),
    ],
)
def test_the_line_of_a_key(path: tuple[str | int, ...], line: int) -> None:
    assert TomlLines(TEXT).of(path) == line
