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
"""A project's own rules, and its known findings."""

PAGE_VARIABLE = "DRAGOMAN_RULES_PAGE"
"""The variable with the address of the page of all rules."""


def default_cache_folder() -> Path:
    """Return this system's folder for data that can be created again."""
    return user_folder("cache") / "review"


def find_program(name: str) -> str | None:
    """Return the full path of a program, or None."""
    beside = shutil.which(name, path=str(Path(sys.executable).parent))
    return beside or shutil.which(name, path=_absolute_path())


def find_ruff() -> str | None:
    """Return the path of ruff, or None if it is not installed."""
    return find_program("ruff")


def find_oxlint() -> str | None:
    """Return the path of oxlint, or None if it is not installed."""
    return find_program("oxlint")


def _absolute_path() -> str:
    # An empty or relative entry of PATH means the working directory: what is reviewed, often.
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if os.path.isabs(entry))
