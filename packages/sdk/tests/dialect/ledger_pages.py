"""The ledger's words in the list of losses and repairs, and in the code of a dialect."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[4]
LIST = Path(__file__).parent / "LOSSES.md"
_ROW = re.compile(r"^\| (lost|repaired) \| (.+?) \| (.+?) \|$", re.MULTILINE)


def listed(heading: str) -> list[tuple[str, ...]]:
    """Outcome, what it is about and what is done, from the table under a heading."""
    part = LIST.read_text("utf-8").split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
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
