"""The public face explains itself: every name has a docstring with an example, every method has a docstring.

An example is the indented part of a docstring. It must be Python; `await` and `async with` may stand outside
of functions, as people read them. Each name that begins with a capital and is called or subclassed in it must
be one that its module, `dragoman`, the schema, or the example itself has: an example of a class that
was renamed fails here.
"""

import ast
import builtins
import inspect
import re
import textwrap

import pytest

import dragoman
import dragoman.blocking
import dragoman.testing
from dragoman.schema import v1
from tests.every import every

FACES = {
    "dragoman": dragoman,
    "dragoman.blocking": dragoman.blocking,
    "dragoman.testing": dragoman.testing,
}
VALUES = {"FAULTS", "Transcript"}
"""Names of values, which have no docstrings of their own."""

TRANSPORTS = {"RecordingTransport"}
"""Classes whose methods are those of every transport, which are explained there."""

NAMES = [(face, name) for face, module in FACES.items() for name in module.__all__ if name not in VALUES]

OTHERS = {"Path", "PoolTask", "Chat"}
"""Names in examples that come from elsewhere: the standard library, a room, the reader's own program."""


def examples(doc: str) -> list[str]:
    """The indented blocks of a docstring; blank lines inside a block belong to it."""
    found = re.findall(r"(?:^    .*\n?(?:[ \t]*\n(?=    ))*)+", doc, re.MULTILINE)
    return [textwrap.dedent(block) for block in found]


def parse(example: str) -> ast.Module:
    tree = compile(example, "example", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    assert isinstance(tree, ast.Module)
    return tree


def unknown(tree: ast.Module, face: str) -> set[str]:
    """Names of classes in an example that nobody has."""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id[:1].isupper()}
    return {
        name
        for name in used - OTHERS
        if not (hasattr(FACES[face], name) or hasattr(v1, name) or hasattr(builtins, name))
    }


@every(("face", "name"), NAMES)
def test_every_public_name_has_an_example_that_is_python(face: str, name: str) -> None:
    found = examples(inspect.getdoc(getattr(FACES[face], name)) or "")
    assert found, f"{face}.{name} has no example in its docstring"
    for example in found:
        assert unknown(parse(example), face) == set()


@every(("face", "name"), NAMES)
def test_every_public_method_says_what_it_does(face: str, name: str) -> None:
    value = getattr(FACES[face], name)
    if not inspect.isclass(value) or name in TRANSPORTS:
        return
    members = [(key, inspect.getattr_static(value, key)) for key in dir(value) if not key.startswith("_")]
    silent = [
        key
        for key, member in members
        if isinstance(member, property | classmethod | staticmethod) or inspect.isfunction(member)
        if not inspect.getdoc(member)
    ]
    assert silent == []


def test_an_example_with_an_unknown_class_is_found() -> None:
    assert unknown(parse("agent = Agnet('echo')"), "dragoman") == {"Agnet"}
    assert examples("Words.\n\n    first()\n\n    second()\n\nMore words.") == ["first()\n\nsecond()\n"]
    with pytest.raises(SyntaxError):
        parse("async with connect() as")
