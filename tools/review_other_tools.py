"""Linters of others, run as somebody would who looks for bugs and not for style.

`review_figure.py` compares us with them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

# What a tool says of a text, in any words that are the same for the same finding: by file name.
Reports = dict[str, set[tuple[str, str]]]


class Remark(NamedTuple):
    """What a linter says of some lines of a file."""

    path: Path
    rule: str
    first: int
    last: int


def _ruff(folder: Path) -> Iterator[Remark]:
    rules = "F,E7,E9,B,S,PLE,PLW,ASYNC,RUF006,RUF008,RUF009,RUF012,RUF015,RUF016"
    command = [program("ruff"), "check", "--isolated", "--no-cache", "--exit-zero", "--output-format=json"]
    for item in json.loads(output_of([*command, "--select", rules, str(folder)])):
        rows = item["location"]["row"], item["end_location"]["row"]
        yield Remark(Path(item["filename"]), str(item["code"]), *rows)


def _oxlint(folder: Path) -> Iterator[Remark]:
    command = [program("oxlint"), "--format=json", "-D", "correctness", "-D", "suspicious", str(folder)]
    for item in json.loads(output_of(command))["diagnostics"]:
        if item["labels"]:
            line = item["labels"][0]["span"]["line"]
            yield Remark(Path(item["filename"]), item.get("code", ""), line, line)


def _bandit(folder: Path) -> Iterator[Remark]:
    out = output_of([program("bandit"), "-r", "-f", "json", "-q", "--exit-zero", str(folder)])
    for item in json.loads(out)["results"]:
        lines = item["line_range"]
        yield Remark(Path(item["filename"]), item["test_id"], min(lines), max(lines))


LINTERS: dict[str, tuple[Callable[[Path], Iterator[Remark]], tuple[str, ...]]] = {
    "ruff": (_ruff, ("py",)),
    "bandit": (_bandit, ("py",)),
    "oxlint": (_oxlint, ("js", "ts", "tsx")),
}
"""What runs a linter on a folder, and the endings of the files that it reads."""


def program(name: str) -> str:
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"{name} is not installed: pip install {name}")
    return found


def output_of(command: list[str]) -> bytes:
    return subprocess.run(command, capture_output=True, check=False).stdout


def version_of(name: str) -> str:
    return output_of([program(name), "--version"]).decode().split("\n")[0].split()[-1]


def reports_of(name: str, folder: Path) -> Reports:
    reports: Reports = defaultdict(set)
    texts: dict[Path, list[str]] = {}
    for path, rule, first, _ in LINTERS[name][0](folder):
        lines = texts.setdefault(path, path.read_text("utf-8").split("\n"))
        reports[path.name].add((rule, lines[first - 1].strip()))
    return reports


TOOLS: dict[str, tuple[Callable[[Path], Reports], tuple[str, ...]]] = {
    name: (partial(reports_of, name), endings) for name, (_, endings) in LINTERS.items()
}
