"""The promises of the seed documents, as data: what each promises, where, how it is shown, and which test
proves it.

A seed document describes a system that the project was made for. Each has a file here (`000.toml` to
`004.toml`), in our own words. `place` is the line of the document; `command` is a name in the file's table
`commands`, the command line that shows it; `proof` is the id of a test. `page` makes `PROMISES.md` and
the table of `docs/seeds.md` of all this.
"""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path

import msgspec

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


class SeedPromise(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that a document promises."""

    id: str
    place: int
    promise: str
    command: str
    proof: str


class SeedDocument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One document with all that it promises."""

    number: str
    title: str
    about: str
    lines: int
    """How many lines the document has."""
    page: str
    """Our page for whoever comes from there, below `docs`."""
    commands: dict[str, str]
    promises: list[SeedPromise]


@cache
def documents() -> tuple[SeedDocument, ...]:
    return tuple(
        msgspec.convert(tomllib.loads(path.read_text("utf-8")), SeedDocument)
        for path in sorted(HERE.glob("[0-9][0-9][0-9].toml"))
    )


def has_test(proof: str) -> bool:
    """Whether `make test` runs the test of this id: it is a function of its module, and not a slow one."""
    path, _, name = proof.partition("::")
    return name in _tests_of(path)


@cache
def _tests_of(path: str) -> frozenset[str]:
    file = ROOT / path
    if not file.is_file() or not file.name.startswith("test_") or file.suffix != ".py":
        return frozenset()
    functions = [
        node
        for node in ast.parse(file.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]
    return frozenset(node.name for node in functions if not any(map(_is_slow, node.decorator_list)))


def _is_slow(decorator: ast.expr) -> bool:
    return ast.unparse(decorator) == "pytest.mark.slow"
