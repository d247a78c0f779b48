"""Writes `dragoman.schema`'s versions from the published JSON schemas; with --check, says whether they are
stale.

    python tools/generate_schema.py [--package FOLDER] [--check]

The output is committed and never edited. The same input gives the same bytes: nothing of the day, the machine
or the order of a set gets in. Formatting is ruff's, so that the committed files pass the same checks as
everything else.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from schema import render, source, tables, unions
from schema.methods import read_methods

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "packages/sdk/src/dragoman/schema"


def generate(package: Path) -> dict[str, str]:
    """Every generated file by its path below the schema room, formatted."""
    files: dict[str, str] = {}
    for name, (stable, unstable) in source.load(package).items():
        version = unions.build(name, unstable)
        found = render.modules(version, unstable)
        found["methods.py"] = tables.methods_module(version, read_methods(name, stable, unstable))
        found["unstable.py"] = tables.unstable_module(unions.build(name, stable), version)
        found["__init__.py"] = render.package(version)
        files |= {f"{name}/{file}": text for file, text in found.items()}
    return formatted(files)


def formatted(files: dict[str, str]) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        write(files, Path(folder))
        for command in (["check", "--select", "I,RUF022", "--fix-only"], ["format"]):
            ruff = [sys.executable, "-m", "ruff", *command, "--quiet", "--config", "pyproject.toml", folder]
            subprocess.run(ruff, check=True, cwd=ROOT)
        return {path: (Path(folder) / path).read_text() for path in files}


def stale(files: dict[str, str]) -> list[str]:
    """One line for each committed file that is not what would be written."""
    present = {
        str(path.relative_to(TARGET)) for name in ("v1", "v2") for path in (TARGET / name).glob("*.py")
    }
    lines = [f"left over: {path}" for path in sorted(present - set(files))]
    lines += [f"missing: {path}" for path in sorted(set(files) - present)]
    changed = (path for path in sorted(present & set(files)) if (TARGET / path).read_text() != files[path])
    return lines + [f"differs: {path}" for path in changed]


def write(files: dict[str, str], target: Path) -> None:
    for name in ("v1", "v2"):
        for path in (target / name).glob("*.py"):
            if str(path.relative_to(target)) not in files:
                path.unlink()
    for name, text in files.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--package", type=Path, default=source.DEFAULT_PACKAGE, help="an unpacked SDK package"
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 when the committed files are stale"
    )
    arguments = parser.parse_args()
    try:
        files = generate(arguments.package)
    except source.SourceProblem as problem:
        print(problem, file=sys.stderr)
        return 2
    if not arguments.check:
        write(files, TARGET)
        return 0
    lines = stale(files)
    if lines:
        print(
            "the generated schema is stale; run `make schema` and commit:",
            *lines,
            sep="\n  ",
            file=sys.stderr,
        )
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
