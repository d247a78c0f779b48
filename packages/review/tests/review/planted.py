"""The planted bugs, as they are written down: a bug and its clean twin in one text.

A file `*.cases` has a language, or `secrets`. `## class/name` begins a case; a suffix may follow if the text
is not of the usual one. A line with `-` before it belongs to the bug alone, one with `+` to the twin alone,
one with a blank to both. In secrets `@20` becomes twenty random letters, the same in every run, so that
nothing that looks like a key lies in the repository.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman_review import ReviewSource

CORPUS = Path(__file__).parent / "corpus"
SUFFIXES = {
    "python": "py",
    "script": "ts",
    "go": "go",
    "rust": "rs",
    "java": "java",
    "kotlin": "kt",
    "shell": "sh",
    "secrets": "py",
}
_NOISE = re.compile(r"@([xU]?)(\d+)")
_ALPHABETS = {
    "": string.ascii_letters + string.digits,
    "x": "0123456789abcdef",
    "U": string.ascii_uppercase + "234567",
}


class Case(NamedTuple):
    """One planted bug and the same text without it."""

    id: str
    group: str
    """The file that it stands in: a language, or `secrets`."""
    kind: str
    """The class of the bug."""
    suffix: str
    bug: str
    clean: str


def read_corpus(folder: Path = CORPUS) -> list[Case]:
    return [case for path in sorted(folder.glob("*.cases")) for case in _cases(path)]


def _cases(path: Path) -> Iterator[Case]:
    for part in path.read_text("utf-8").split("\n## ")[1:]:
        head, _, body = part.partition("\n")
        name, _, suffix = head.partition(" ")
        full = f"{path.stem}/{name}"
        lines = body.rstrip("\n").split("\n")
        if bad := [line for line in lines if line[:1] not in ("", " ", "-", "+")]:
            raise ValueError(f"{path.name}: {name}: a line begins with neither blank, - nor +: {bad[0]}")
        bug, clean = (_side(lines, mark, full, path.stem) for mark in "-+")
        yield Case(full, path.stem, name.partition("/")[0], suffix or SUFFIXES[path.stem], bug, clean)


def _side(lines: Sequence[str], mark: str, name: str, group: str) -> str:
    text = "\n".join(line[1:] for line in lines if line[:1] in ("", " ", mark)) + "\n"
    return _with_noise(text, name) if group == "secrets" else text


def _with_noise(text: str, name: str) -> str:
    dice = random.Random(name)
    return _NOISE.sub(lambda found: "".join(dice.choices(_ALPHABETS[found[1]], k=int(found[2]))), text)


def sources_of(cases: Iterable[Case]) -> Iterator[ReviewSource]:
    for number, case in enumerate(cases):
        yield ReviewSource(f"{number}_bug.{case.suffix}", case.bug)
        yield ReviewSource(f"{number}_clean.{case.suffix}", case.clean)
