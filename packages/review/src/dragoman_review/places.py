"""The paths that a review depends on: external programs, the project's files, and caches.

A program is looked for beside our own interpreter and on PATH, never in what is being reviewed: a project
must not be able to bring the program that judges it. Nothing of what judges is loaded here.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from dragoman.system.folders import user_folder

RULES = Path(".dragoman") / "rules"
BASELINE = Path(".dragoman") / "baseline.json"
"""What a project may bring: rules of its own, and the findings that it knows."""

PAGE_VARIABLE = "DRAGOMAN_RULES_PAGE"
"""Names the address of the page of all rules, for whoever publishes it."""


def default_cache_folder() -> Path:
    """Where this system's programs keep what can be made again."""
    return user_folder("cache") / "review"


def find_program(name: str) -> str | None:
    """The full path of a program, or None."""
    beside = shutil.which(name, path=str(Path(sys.executable).parent))
    return beside or shutil.which(name, path=_absolute_path())


def find_ruff() -> str | None:
    """The program that reviews Python, or None if it is not installed."""
    return find_program("ruff")


def find_oxlint() -> str | None:
    """The program that reviews JavaScript and TypeScript, or None if it is not installed."""
    return find_program("oxlint")


def _absolute_path() -> str:
    # An empty or relative entry of PATH means the working directory: what is reviewed, often.
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if os.path.isabs(entry))
