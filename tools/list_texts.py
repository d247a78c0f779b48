"""Print every text that a person can see, with its place: `make texts ARGS="packages/app --json"`.

A text is a string of at least three words in the source. Docstrings, queries and patterns are left out.
Values inside a text are shown as `{name}`. Nothing is kept: the source is the only catalogue.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct, to_builtins

ROOT = Path(__file__).parent.parent
PLACES = ("packages", "vscode/src", "vscode/package.json")
WORDS = re.compile(r"[A-Za-z][a-z']*(?:[ ,:;.…] ?[A-Za-z{“\"][^ ]*){2,}")
MACHINES = re.compile(
    r"^\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|PRAGMA|WITH|BEGIN|ON CONFLICT)\b|\\[swdb]\b|\(\?"
)
SCRIPT = re.compile(r"`(?:[^`\\]|\\.)*`|\"(?:[^\"\\\n]|\\.)*\"|>([^<>`$]{8,})<")
SUFFIXES = (".py", ".ts", ".html")
ELSEWHERE = {"node_modules", "tests", "test", "static", "schema"}
"""Folders whose files nobody sees, or that are made from others."""
COMMENT = re.compile(r"^\s*(?://|\*|/\*)")


class Text(Struct, frozen=True, kw_only=True):
    place: str
    text: str


def texts_of(path: Path) -> Iterator[Text]:
    found = _of_python(path) if path.suffix == ".py" else _of_script(path)
    name = path.relative_to(ROOT).as_posix()
    for line, text in found:
        shown = " ".join(text.split())
        if WORDS.search(shown) and not MACHINES.search(text):
            yield Text(place=f"{name}:{line}", text=shown)


def _of_python(path: Path) -> Iterator[tuple[int, str]]:
    tree = ast.parse(path.read_text("utf-8"))
    parts: set[int] = set()
    for node in ast.walk(tree):  # whoever holds a string comes before it
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            parts.add(id(node.value))  # a docstring, or one of an attribute
        elif isinstance(node, ast.JoinedStr):
            parts |= {id(value) for value in node.values}
            yield node.lineno, "".join(_part(value) for value in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.lineno, node.value


def _part(value: ast.expr) -> str:
    if isinstance(value, ast.FormattedValue):
        return "{" + ast.unparse(value.value) + "}"
    return str(value.value) if isinstance(value, ast.Constant) else ""


def _of_script(path: Path) -> Iterator[tuple[int, str]]:
    """Of TypeScript, HTML and JSON, without reading their grammar: strings, and words between tags."""
    source = path.read_text("utf-8")
    for number, line in enumerate(source.splitlines(), 1):
        if not COMMENT.match(line):
            for found in SCRIPT.finditer(line):
                text = found[1] or found[0][1:-1]
                yield number, re.sub(r"<[^<>]*>", " ", text)


def files(wanted: list[str]) -> Iterator[Path]:
    for place in wanted or PLACES:
        path = ROOT / place
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if (file == path or file.suffix in SUFFIXES) and ELSEWHERE.isdisjoint(
                file.relative_to(ROOT).parts
            ):
                yield file


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("places", nargs="*", help="files or folders, from the root of the repository")
    parser.add_argument("--json", action="store_true", help="one object a line")
    given = parser.parse_args()
    count = 0
    for path in files(given.places):
        for text in texts_of(path):
            count += 1
            print(json.dumps(to_builtins(text)) if given.json else f"{text.place}: {text.text}")
    print(f"{count} texts", file=sys.stderr)
    return 0 if count else 1


if __name__ == "__main__":
    raise SystemExit(main())
