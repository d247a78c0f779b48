"""Where everything is that a review depends on, and whether it is still the same: programs of others, our own
rules and code, what a project brings, what is kept.

A program is looked for beside our own interpreter and on PATH, never in what is being reviewed: a project
must not be able to bring the program that judges it. Nothing of what judges is loaded here.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from dragoman.system.folders import user_folder
from dragoman.version import VERSION

RULES = Path(".dragoman") / "rules"
BASELINE = Path(".dragoman") / "baseline.json"
"""What a project may bring: rules of its own, and the findings that it knows."""

PAGE_VARIABLE = "DRAGOMAN_RULES_PAGE"
"""Names the address of the page of all rules, for whoever publishes it."""

OUR_FOLDERS = (Path(__file__).parent, Path(__file__).parent / "data")


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


def judge_digest(programs: Iterable[str | None], folders: Iterable[Path] = OUR_FOLDERS) -> bytes:
    """Another one whenever one of the programs, a file of one of the folders, the version of Python or of the
    library that knows the shape of programs is another one.
    """
    # Rules that are functions are part of the judge, too: a changed module is another judge. Nothing of it is
    # read: where every text is known, nobody needs it.
    library = importlib.util.find_spec("ast_grep_py")
    digest = hashlib.sha256(f"{VERSION} {sys.version}".encode())
    for program in (*programs, None if library is None else library.origin):
        digest.update(_stamp(program) if program else b"-")
    for folder in folders:
        for name in sorted(_names(folder)):
            if name.endswith((".py", ".toml")):
                digest.update(_stamp(os.path.join(folder, name)))
    return digest.digest()


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:  # we are read from an archive; our version says what is in it
        return []


def _stamp(path: str) -> bytes:
    try:
        status = os.stat(path)
        stamp = f"{path}:{status.st_size}:{status.st_mtime_ns}\0"
    except OSError:
        stamp = f"{path}\0"
    return stamp.encode(errors="surrogateescape")
