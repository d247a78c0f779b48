"""Linters of others, run as somebody would who looks for bugs and not for style.

`review_corpus.py` compares us with them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

# What a tool says of a text, in any words that are the same for the same finding: by file name.
Reports = dict[str, set[tuple[str, str]]]


def _ruff(folder: Path) -> Reports:
    rules = "F,E7,E9,B,S,PLE,PLW,ASYNC,RUF006,RUF008,RUF009,RUF012,RUF015,RUF016"
    command = [program("ruff"), "check", "--isolated", "--no-cache", "--exit-zero", "--output-format=json"]
    out = output_of([*command, "--select", rules, str(folder)])
    return _collect(
        (item["filename"], str(item["code"]), item["location"]["row"]) for item in json.loads(out)
    )


def _oxlint(folder: Path) -> Reports:
    command = [program("oxlint"), "--format=json", "-D", "correctness", "-D", "suspicious", str(folder)]
    found = json.loads(output_of(command))["diagnostics"]
    return _collect(
        (item["filename"], item.get("code", ""), item["labels"][0]["span"]["line"]) for item in found
    )


def _bandit(folder: Path) -> Reports:
    out = output_of([program("bandit"), "-r", "-f", "json", "-q", "--exit-zero", str(folder)])
    return _collect(
        (item["filename"], item["test_id"], item["line_number"]) for item in json.loads(out)["results"]
    )


TOOLS: dict[str, tuple[Callable[[Path], Reports], tuple[str, ...]]] = {
    "ruff": (_ruff, ("py",)),
    "bandit": (_bandit, ("py",)),
    "oxlint": (_oxlint, ("js", "ts", "tsx")),
}


def program(name: str) -> str:
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"{name} is not installed: pip install {name}")
    return found


def output_of(command: list[str]) -> bytes:
    return subprocess.run(command, capture_output=True, check=False).stdout


def _collect(found: Iterable[tuple[str, str, int]]) -> Reports:
    reports: Reports = defaultdict(set)
    texts: dict[str, list[str]] = {}
    for path, code, line in found:
        lines = texts.setdefault(path, Path(path).read_text("utf-8").split("\n"))
        reports[Path(path).name].add((code, lines[line - 1].strip()))
    return reports
