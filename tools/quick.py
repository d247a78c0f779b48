"""Checks what changed since `main`, within about a minute: format, lint, types, and the nearest tests.

What changed is what differs from the merge base with `main`, committed or not. The nearest tests of a module
are its mirror (`tests/a/test_b.py` for `a/b.py` in the same box), then the tests that import it, those in its
own room first; those of data and pages are in `HOLDERS`. Of these at most `MOST_FILES` are run; the number of
the others is printed, and `make test` runs them all.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

CHECKED = ("packages", "tests", "examples", "tools", "bench")
"""Folders of Python that the tools look at, as in the Makefile."""

STRUCTURE = ("tests/test_boxes.py", "tests/test_layers.py", "tests/test_sizes.py", "tests/test_exports.py")
"""Cheap tests about all modules, for every change of a `src`."""

HOLDERS: dict[str, tuple[str, ...]] = {
    "docs/check.md": ("packages/check/tests/check/test_rules_coverage.py",),
    "docs/cookbook.md": ("tests/test_cookbook.py",),
    "docs/dialects/quirks.md": ("packages/sdk/tests/dialect/quirks/test_edge.py",),
    "docs/hub-protocol.md": ("packages/hub/tests/hub/gate/test_table.py",),
    "mkdocs.yml": ("tests/docsite/test_site.py",),
    "packages/check/src/dragoman_check/requirements.json": (
        "packages/check/tests/check/test_rules_coverage.py",
        "tests/requirements/test_ledger.py",
    ),
    "packages/check/src/dragoman_check/rules/": ("packages/check/tests/check/test_rules_coverage.py",),
    "packages/app/src/dragoman_app/cli/options/": (
        "packages/app/tests/cli/test_commands.py",
        "packages/app/tests/cli/test_options.py",
    ),
    "packages/hub/src/dragoman_hub/gate/table.py": ("packages/hub/tests/hub/outside/test_gate_cells.py",),
    "packages/hub/src/dragoman_hub/clients/hub_methods.py": (
        "packages/hub/tests/hub/clients/test_methods.py",
        "packages/hub/tests/hub/gate/test_table.py",
    ),
    "packages/review/src/dragoman_review/data/": ("packages/review/tests/review/test_rules_own.py",),
    "packages/sdk/src/dragoman/sdk/agent/": (
        "packages/sdk/tests/sdk/test_sync_facades.py",
        "packages/sdk/tests/sdk/test_outbound.py",
    ),
    "packages/sdk/src/dragoman/sdk/sync/": ("packages/sdk/tests/sdk/test_sync_facades.py",),
    "packages/sdk/tests/dialect/quirks/stories/": ("packages/sdk/tests/dialect/quirks/test_edge.py",),
    "tests/interop/matrix/catalogue.toml": ("tests/interop/test_matrix.py",),
    "packages/hub/web/": ("packages/hub/tests/web/test_build.py",),
}
"""Tests of files and folders that they do not import: data, pages, and modules that are found by name."""

SOURCE = re.compile(r"packages/(?P<box>\w+)/src/\w+/(?P<place>.+)")
BOX = re.compile(r"^packages/\w+/(src/)?")

MOST_FILES = 20
"""Test files of one run."""


def main() -> int:
    changed = changed_files(ROOT)
    python = [path for path in changed if path.endswith(".py") and path.partition("/")[0] in CHECKED]
    tests, left_out = nearest_tests(changed, imports_of_tests(ROOT), root=ROOT)
    steps = {
        "format": ["ruff", "format", "--check", "--quiet", *python],
        "lint": ["ruff", "check", "--quiet", *python],
        "types": ["mypy", "--no-error-summary", *python],
        "tests": ["pytest", "-q", "-p", "tests.workers", "--workers", "2", *tests],
    }
    if not python:
        for name in ("format", "lint", "types"):
            del steps[name]
    if not tests:
        del steps["tests"]
    print(f"{len(changed)} files changed since main, {len(tests)} files of tests", flush=True)
    failed = [name for name, step in steps.items() if _run(step) != 0]
    if left_out:
        print(f"not run: {left_out} more files of tests that import what changed (make test runs them)")
    if failed:
        print(f"quick: failed: {', '.join(failed)}")
    return 1 if failed else 0


def changed_files(root: Path) -> list[str]:
    """Files that exist and differ from the merge base with `main`, and new files that git does not ignore."""
    base = _git(root, "merge-base", "main", "HEAD") or ["HEAD"]
    differing = _git(root, "diff", "--name-only", "--diff-filter=d", base[0])
    return sorted({*differing, *_git(root, "ls-files", "--others", "--exclude-standard")})


def imports_of_tests(root: Path) -> dict[str, set[str]]:
    """The modules that each Python file of the tests imports, by its path."""
    folders = (root / "tests", *root.glob("packages/*/tests"))
    files = (path for folder in folders for path in folder.rglob("*.py") if "node_modules" not in path.parts)
    return {str(path.relative_to(root)): set(_imported(path)) for path in files}


def nearest_tests(
    changed: Iterable[str], imports: dict[str, set[str]], *, root: Path
) -> tuple[list[str], int]:
    """Test files to run, nearest first, and how many others there are."""
    files: dict[str, None] = {}  # in the order in which they were found
    wide: dict[str, None] = {}
    for path in changed:
        room = _room(path)
        holders = (names for start, names in HOLDERS.items() if path.startswith(start))
        files.update(dict.fromkeys(name for names in holders for name in names))
        if _is_test(path):
            files[path] = None
        elif path.endswith(".md") and (path == "README.md" or path.startswith("docs/")):
            files["tests/test_docs.py"] = None
        elif (source := SOURCE.match(path)) and path.endswith(".py"):
            files.update(dict.fromkeys([*STRUCTURE, *_mirrors(source["box"], source["place"])]))
        if path.endswith(".py") and not _is_test(path):
            importing = sorted(name for name in importers(module_name(path), imports) if _is_test(name))
            for name in sorted(importing, key=lambda name: f"tests/{room}/" not in name):
                wide[name] = None
    found = [name for name in (files | wide) if (root / name).exists()]
    return found[:MOST_FILES], len(found[MOST_FILES:])


def importers(module: str, imports: dict[str, set[str]]) -> set[str]:
    """Files that import the module, directly or through helpers of the tests."""
    found: set[str] = set()
    wanted = [module]
    while wanted:
        name = wanted.pop()
        for path, modules in imports.items():
            if name in modules and path not in found:
                found.add(path)
                if not _is_test(path):
                    wanted.append(module_name(path))
    return found


def module_name(path: str) -> str:
    """`packages/sdk/src/dragoman/a/b.py` is `dragoman.a.b`; `packages/sdk/tests/a/c.py` is `tests.a.c`."""
    parts = BOX.sub("", path).removesuffix(".py").split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(path: Path) -> Iterator[str]:
    """Each module, and each name from a module, because that may be a module too."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _room(path: str) -> str:
    source = SOURCE.match(path)
    return (source["place"] if source else BOX.sub("", path).removeprefix("tests/")).split("/")[0]


def _mirrors(box: str, place: str) -> list[str]:
    """The test of a file, where the room is a folder of the box's package, or that package itself."""
    folder, _, name = place.rpartition("/")
    folders = (folder, f"{box}/{folder}".rstrip("/"))
    return [f"packages/{box}/tests/{folder}/test_{name}" for folder in folders]


def _is_test(path: str) -> bool:
    name = path.rpartition("/")[2]
    return BOX.sub("", path).startswith("tests/") and name.startswith("test_") and name.endswith(".py")


def _git(root: Path, *arguments: str) -> list[str]:
    """The lines that git prints; none where it fails, as in a clone without a branch `main`."""
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def _run(module: list[str]) -> int:
    return subprocess.run([sys.executable, "-m", *module], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
