"""`dragoman new agent|client|proxy NAME`: a project that begins with passing tests.

It is made of the files in `templates`: those of its kind and those that all kinds share. Nothing that exists
is written over, and a project that cannot be made whole is not begun.
"""

from __future__ import annotations

import argparse
import keyword
import re
import shlex
import sys
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from dragoman.errors import LocalMistake
from dragoman.text.sanitize import sanitize_line
from dragoman.version import VERSION
from dragoman_app.apps.console import ErrorStatus, say

SUFFIX = ".template"
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
ABOUT = {
    "agent": "An agent for every editor that speaks the Agent Client Protocol.",
    "client": "A client for every agent that speaks the Agent Client Protocol.",
    "proxy": "A proxy between an editor and an agent that speak the Agent Client Protocol.",
}


def run(args: argparse.Namespace) -> int:
    """0: created. 1: a file could not be written. 2: the name or the folder is not allowed."""
    folder = Path(args.into or args.name)
    texts = project_files(args.kind, args.name)
    with ErrorStatus(OSError, status=1, act="write"):
        _check_folder(folder)
        for path, text in texts.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    say(f"{sanitize_line(str(folder))}: {len(texts)} files. Next:")
    place = sanitize_line(shlex.quote(str(folder)))
    say(f'  cd {place} && python -m venv .venv && .venv/bin/pip install -e ".[dev]"')
    say("  .venv/bin/pytest")
    return 0


TAKEN = frozenset({"dragoman", "msgspec", "mypy", "pytest", "pytest_asyncio", "test", "tests"})
"""Names that the project imports or runs, and `test`, a hidden module of Python: a module of this name would
hide it.
"""


def project_files(kind: str, name: str) -> dict[str, str]:
    """Return the text of each file of a project, by its path below the project's folder."""
    module = name.replace("-", "_")
    is_taken = module in sys.stdlib_module_names or module in TAKEN
    if not NAME.fullmatch(name) or keyword.iskeyword(module) or is_taken:
        raise LocalMistake(
            f"{name!r} can't name a project and a Python module: use lower case letters, "
            "digits and single hyphens, but not the name of a module of Python or of the project"
        )
    words = {
        "NAME": name,
        "MODULE": module,
        "KIND": kind,
        "TITLE": name.replace("-", " ").title(),
        "ABOUT": ABOUT[kind],
        "VERSION": VERSION,
    }
    templates = files("dragoman_app.cli") / "templates"
    texts = [*_walk(templates / "common"), *_walk(templates / kind)]
    return {_fill(path.removesuffix(SUFFIX), words): _fill(text, words) for path, text in texts}


def _walk(folder: Traversable, place: str = "") -> Iterator[tuple[str, str]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _walk(entry, f"{place}{entry.name}/")
        elif entry.name.endswith(SUFFIX):
            yield f"{place}{entry.name}", entry.read_text(encoding="utf-8")


def _fill(text: str, words: dict[str, str]) -> str:
    return re.sub(r"\b(NAME|MODULE|KIND|TITLE|ABOUT|VERSION)\b", lambda match: words[match[1]], text)


def _check_folder(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise LocalMistake(f"{folder} exists and is not empty: name another folder with --into")
