"""Compiles the tests as pytest does, with their asserts rewritten, on every core and once.

Each of pytest's workers imports every test to find what is in it, and all of them at the same time: in a
fresh checkout each would rewrite everything. This knows how the pinned pytest names and marks what it keeps.
If a later one does it in another way, nothing is found and the tests take some seconds longer.
"""

from __future__ import annotations

import ast
import gc
import importlib.util
import multiprocessing
import os
import sys
from pathlib import Path

from _pytest.assertion.rewrite import PYC_TAIL, _write_pyc_fp, rewrite_asserts

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("test_*.py", "conftest.py")
SKIPPED = "node_modules"


def rewrite(path: Path) -> None:
    source = path.read_bytes()
    tree = ast.parse(source, filename=str(path))
    rewrite_asserts(tree, source, str(path))
    code = compile(tree, str(path), "exec", dont_inherit=True)
    kept = path.parent / "__pycache__" / (path.stem + PYC_TAIL)
    kept.parent.mkdir(exist_ok=True)
    part = kept.with_name(f"{kept.name}.{os.getpid()}")
    with part.open("wb") as file:
        _write_pyc_fp(file, importlib.util.source_hash(source), code)
    part.replace(kept)


def is_new(path: Path) -> bool:
    kept = path.parent / "__pycache__" / (path.stem + PYC_TAIL)
    return not kept.exists() or kept.stat().st_mtime < path.stat().st_mtime


def main() -> int:
    folders = [ROOT / "tests", *ROOT.glob("packages/*/tests")]
    found = [
        path
        for folder in folders
        for kind in KINDS
        for path in folder.rglob(kind)
        if SKIPPED not in path.parts
    ]
    wanted = [path for path in found if is_new(path)]
    with multiprocessing.Pool(
        initializer=gc.disable
    ) as pool:  # trees are no garbage as long as they are there
        pool.map(rewrite, wanted, chunksize=20)
    return 0


if __name__ == "__main__":
    sys.exit(main())
