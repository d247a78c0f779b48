"""The house has a lid: what each box holds of code and data may fall, and never rises.

Counted are statements of Python without docstrings, lines of TypeScript with code on them, and rows of data
that we write by hand. Who adds must delete, or show why the number in `budget.toml` has to rise.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.boxes import PACKAGES, ROOT, modules, source_of
from tests.test_layers import package_of, read

BUDGET = tomllib.loads((ROOT / "tests" / "budget.toml").read_text("utf-8"))

SLACK = 0.01
"""So far below its number a part may be before the number has to follow."""

_COMMENT = re.compile(r"^\s*(?://|\*|/\*|$)")


def rows(path: Path) -> int:
    lines = path.read_text("utf-8").splitlines()
    if path.suffix == ".ts":
        return sum(not _COMMENT.match(line) for line in lines)
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in lines)


def size_of(part: str) -> int:
    files = [path for path in source_of(part).rglob("*") if "static" not in path.parts]
    if part == "hub":
        files += (ROOT / "packages" / "hub" / "web" / "src").rglob("*.ts")
    if part == "app":
        files += (ROOT / "vscode" / "src").rglob("*.ts")
    python = sum(
        read(path.read_text("utf-8"), package_of(module, path))[1]
        for module, path in modules()
        if path.is_relative_to(source_of(part))
    )
    return python + sum(rows(path) for path in files if path.suffix in (".ts", ".toml"))


@pytest.mark.parametrize("part", list(PACKAGES))
def test_a_box_does_not_grow(part: str) -> None:
    size, lid = size_of(part), BUDGET[part]
    assert size <= lid, f"{part} has {size} statements and rows, and may have {lid}: delete something"
    assert size >= lid * (1 - SLACK), f"{part} has {size}: lower its number in tests/budget.toml from {lid}"
