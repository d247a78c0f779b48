"""Examines a program without running it: where it is, whether it can run, and its interpreter.

The system gives one error for many causes; these are told apart here before it is asked.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

USUAL = (
    *(".local/bin", ".npm-global/bin", ".volta/bin", ".bun/bin", ".deno/bin", ".cargo/bin", "bin", "go/bin"),
    *(".opencode/bin", ".claude/local", ".nvm/versions/node/*/bin", ".local/share/mise/shims", ".asdf/shims"),
)
"""Where installers put programs below the home folder, on PATH or not."""

EVERYWHERE = ("/usr/local/bin", "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin", "/snap/bin")

MAGIC = {
    b"\x7fELF": "a program for Linux",
    b"\xcf\xfa\xed\xfe": "a program for macOS",
    b"MZ": "a program for Windows",
}

FETCHERS = frozenset({"npx", "bunx", "pnpx", "uvx", "pipx"})
"""Programs that may download what they are to run, which takes time and a network."""

PARENTS = 5
"""Folders to go up from a script in search of the package that it belongs to."""


def locate(word: str, *, cwd: str, path: str) -> str | None:
    """The file that a command's first word names, executable or not."""
    if os.path.dirname(word):
        place = os.path.normpath(os.path.join(cwd, word))
        return place if os.path.lexists(place) else None
    return shutil.which(word, path=path)


def elsewhere(word: str, *, home: str, path: str) -> list[str]:
    """Places outside PATH that have the program; also on PATH, if the file is not executable."""
    if os.path.dirname(word):
        return []
    folders = [*path.split(os.pathsep), *EVERYWHERE]
    candidates = [os.path.join(folder, word) for folder in folders if folder]
    for folder in USUAL:
        candidates += map(str, sorted(Path(home).glob(f"{folder}/{word}")))
    return [place for place in dict.fromkeys(candidates) if os.path.isfile(place)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramKind:
    """The kind of a file, for running it."""

    what: str
    interpreter: str | None = None
    """The program that runs it, as a path or a name on PATH."""

    problem: str = ""
    advice: str = ""


def nature_of(place: str) -> ProgramKind:
    """Look at the file's kind, permissions and first bytes."""
    if not os.path.exists(place):
        target = os.path.realpath(place)
        return ProgramKind(
            what="a dangling link",
            problem=f"it points to {target}, which is not there",
            advice="install the agent again",
        )
    if os.path.isdir(place):
        return ProgramKind(
            what="a folder", problem="a folder cannot be run", advice="give the program inside of it"
        )
    if not os.access(place, os.X_OK):
        return ProgramKind(
            what="a file", problem="it is not executable", advice=f"chmod +x {place}, or name its interpreter"
        )
    if os.name == "nt":  # the name's ending says there what a file is, and `which` has gone by that
        return ProgramKind(what="a program")
    try:
        with open(place, "rb") as file:
            start = file.read(256)
    except OSError:
        return ProgramKind(what="a program that may be run but not read")
    return _by_first_bytes(start)


def _by_first_bytes(start: bytes) -> ProgramKind:
    for magic, what in MAGIC.items():
        if start.startswith(magic):
            return ProgramKind(what=what)
    if not start.startswith(b"#!"):
        return ProgramKind(
            what="a file without a first line that says what runs it",
            problem="the system cannot run it" if start else "it is empty",
            advice="name its interpreter in the command, or give it a first line like #!/usr/bin/env node",
        )
    line = start.split(b"\n", 1)[0][2:].decode(errors="replace")
    if line.endswith("\r"):
        return ProgramKind(
            what="a script",
            interpreter=line.strip(),
            problem="its first line ends with a carriage return, which the system takes for part of the name",
            advice="convert it to Unix line ends",
        )
    return ProgramKind(what="a script", interpreter=_interpreter(line.split()))


def _interpreter(words: list[str]) -> str | None:
    """`/usr/bin/env -S node --flag` runs node."""
    if not words:
        return None
    if os.path.basename(words[0]) != "env":
        return words[0]
    candidates = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return candidates[0] if candidates else words[0]


def required_node(place: str) -> str | None:
    """The version of node that a script's package requires."""
    for manifest in _manifests(place):
        try:
            document = json.loads(manifest.read_bytes())
        except (OSError, ValueError):
            return None
        engines = document.get("engines") if isinstance(document, Mapping) else None
        requirement = engines.get("node") if isinstance(engines, Mapping) else None
        return requirement if isinstance(requirement, str) else None
    return None


def is_too_old(version: str, requirement: str) -> bool:
    """Whether `v18.2.0` is below `>=20`. Ranges that say more than a least version are not judged."""
    least = re.fullmatch(r"\s*>=\s*v?(\d+)(?:\.(\d+))?(?:\.(\d+))?\s*", requirement)
    have = re.match(r"v?(\d+)\.(\d+)\.(\d+)", version)
    if least is None or have is None:
        return False
    return tuple(map(int, have.groups())) < tuple(int(part or 0) for part in least.groups())


def _manifests(place: str) -> Iterator[Path]:
    """The nearest package.json above the file that the link on PATH really means."""
    folder = Path(os.path.realpath(place)).parent
    for candidate in [folder, *folder.parents][:PARENTS]:
        manifest = candidate / "package.json"
        if manifest.is_file():
            yield manifest
