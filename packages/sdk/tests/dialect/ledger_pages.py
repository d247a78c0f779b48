"""The ledger's words on a page of the docs, and in the code of a dialect."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[4]
_ROW = re.compile(r"^\| `([^`]+)` \| (.+?) \|$", re.MULTILINE)


def on_the_page(dialect: str, heading: str) -> list[tuple[str, str]]:
    """What it is about and what is done, from the table under a heading."""
    text = (ROOT / "docs" / "dialects" / f"{dialect}.md").read_text("utf-8")
    part = text.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return _ROW.findall(part)


def in_the_code(dialect: str, method: str) -> set[str]:
    """The names of the remarks that the package puts down with `note_loss` or `note_repair`."""
    found: set[str] = set()
    for path in (ROOT / "packages/sdk/src/dragoman/dialect" / dialect).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == method
            ):
                (argument,) = node.args
                assert isinstance(argument, ast.Starred), f"{path}: words of its own"
                assert isinstance(argument.value, ast.Name)
                found.add(argument.value.id)
    return found
