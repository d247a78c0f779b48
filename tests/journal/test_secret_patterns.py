"""The tables of secrets: nothing in them costs a program that meets no secret."""

from __future__ import annotations

import re
import subprocess
import sys

from dragoman.journal.secret_patterns import AFTER, SHAPES, SecretShape

_COUNT = """
import re
compiled = []
compile, re.compile = re.compile, lambda *words: compiled.append(words) or compile(*words)
from dragoman.journal.secret_patterns import AFTER, SHAPES
shapes = {(shape.pattern,) for _, shape in (*SHAPES, *AFTER)}
before = len([words for words in compiled if words in shapes])
assert SHAPES[0][1].sub(b"-", b"it is sk-abcdefghijklmnopqrst") == b"it is -"
assert SHAPES[0][1].sub(b"-", b"it is sk-abcdefghijklmnopqrst") == b"it is -"
print(before, len([words for words in compiled if words in shapes]))
"""


def test_a_shape_is_compiled_when_it_is_first_tried_and_once() -> None:
    counted = subprocess.run([sys.executable, "-c", _COUNT], capture_output=True, check=True, text=True)
    assert counted.stdout == "0 1\n"


def test_every_shape_is_a_regular_expression() -> None:
    for _, shape in (*SHAPES, *AFTER):
        re.compile(shape.pattern)


def test_a_shape_tells_where_it_is_found() -> None:
    assert [match.span() for match in SecretShape(rb"b+").finditer(b"abbabc")] == [(1, 3), (4, 5)]
