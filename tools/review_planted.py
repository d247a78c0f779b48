"""Bugs planted in files of published packages, and commits of public projects that mended one.

`tests/review/real/planted.jsonl` has a bug in each line: the package, its version and its registry, the
file, the kind of bug, what breaks, and the edits that make it. An edit names its first line, how many lines
it takes (`count`, one if it is not there), the digest of these lines, and either `replace`, the characters
that change at their first place in that line, or `new`, the lines that come instead. Nobody's code is
stored but those few characters.

`fixes.jsonl` beside it has a commit in each line, and which lines of the files before it the commit
changes.

A package is fetched by its name with `pip`, `npm` or `apt-get`, and unpacked into a folder of the cache
once.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

RECORDS = Path(__file__).parents[1] / "packages/review/tests/review/real"


class Edit(NamedTuple):
    line: int
    length: int
    digest: str
    replace: tuple[str, str] | None
    new: tuple[str, ...]


class Planted(NamedTuple):
    """A bug to plant in one file of a package."""

    id: str
    registry: str
    package: str
    version: str
    file: str
    language: str
    edits: tuple[Edit, ...]
    kind: str
    breaks: str

    @property
    def folder(self) -> str:
        """Where the package is in the cache."""
        return f"{self.registry}/{self.package.replace('/', '+')}-{self.version.replace(':', '+')}"


class ChangedFile(NamedTuple):
    file: str
    lines: tuple[tuple[int, int], ...]


class BugFix(NamedTuple):
    """A commit that mended a bug, and the lines that it changed, as they are numbered before it."""

    id: str
    repository: str
    commit: str
    language: str
    files: tuple[ChangedFile, ...]


class RecordMismatch(Exception):
    """A file is not the one that a record was written for."""


def read_planted(path: Path = RECORDS / "planted.jsonl") -> list[Planted]:
    return [
        Planted(**{**fields, "edits": tuple(map(_read_edit, fields["edits"]))})
        for fields in _json_lines(path)
    ]


def read_fixes(path: Path = RECORDS / "fixes.jsonl") -> list[BugFix]:
    return [
        BugFix(
            **{
                **fields,
                "files": tuple(
                    ChangedFile(changed["file"], tuple((first, last) for first, last in changed["lines"]))
                    for changed in fields["files"]
                ),
            }
        )
        for fields in _json_lines(path)
    ]


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text("utf-8").splitlines():
        yield json.loads(line)


def _read_edit(fields: dict[str, Any]) -> Edit:
    replace = fields.get("replace")
    return Edit(
        fields["line"],
        fields.get("count", 1),
        fields["digest"],
        (replace[0], replace[1]) if replace else None,
        tuple(fields.get("new", ())),
    )


def digest_of(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def plant(text: str, edits: tuple[Edit, ...]) -> tuple[str, list[tuple[int, int]]]:
    """The text with the bug, and the first and last line of each edit as they are numbered in it. An edit
    that only removes lines is where they were.
    """
    lines = text.split("\n")
    places: list[tuple[int, int]] = []
    shift = 0
    for edit in sorted(edits):
        start = edit.line - 1 + shift
        old = lines[start : start + edit.length]
        if digest_of(old) != edit.digest:
            raise RecordMismatch(f"line {edit.line} is not the one that the record was written for")
        new = [old[0].replace(*edit.replace, 1)] if edit.replace else list(edit.new)
        if new == old:
            raise RecordMismatch(f"the edit of line {edit.line} changes nothing")
        lines[start : start + edit.length] = new
        places.append((start + 1, start + max(len(new), 1)))
        shift += len(new) - edit.length
    return "\n".join(lines), places


def fetch(bug: Planted, cache: Path) -> Path:
    """The folder of the unpacked package. OSError, with the registry's last line, if it cannot be had."""
    folder = cache / bug.folder
    if folder.is_dir():
        return folder
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    downloads, unpacked = part / "downloads", part / "unpacked"
    downloads.mkdir(parents=True)
    unpacked.mkdir()
    command = {
        "pip": [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
            f"{bug.package}=={bug.version}",
        ],
        "npm": ["npm", "pack", "--silent", f"{bug.package}@{bug.version}"],
        "apt": ["apt-get", "download", "--quiet", f"{bug.package}={bug.version}"],
    }[bug.registry]
    done = subprocess.run(command, cwd=downloads, capture_output=True, text=True, check=False)
    archives = list(downloads.iterdir())
    if done.returncode or len(archives) != 1:
        reason = (done.stderr.strip() or "nothing arrived").splitlines()[-1]
        shutil.rmtree(part)
        raise OSError(f"{bug.registry} has no {bug.package} {bug.version}: {reason}")
    _unpack(archives[0], unpacked)
    unpacked.rename(folder)
    shutil.rmtree(part)
    return folder


def _unpack(archive: Path, folder: Path) -> None:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(folder)
    elif archive.suffix == ".tgz":
        with tarfile.open(archive) as package:
            for member in package.getmembers():
                member.name = member.name.partition("/")[2]
                if member.isfile() and member.name:
                    package.extract(member, folder, filter="data")
    else:
        subprocess.run(["dpkg-deb", "-x", str(archive), str(folder)], check=True)


def repository_folder(name: str, repositories: Path | None) -> Path | None:
    """The clone of `owner/name` below a folder: as `owner/name`, `owner+name` or `name`."""
    if repositories is None:
        return None
    for spelling in (name, name.replace("/", "+"), name.rpartition("/")[2]):
        for folder in (repositories / spelling, repositories / spelling / "repo"):
            if (folder / ".git").exists() or (folder / "HEAD").exists():
                return folder
    return None


def file_at(repository: Path, commit: str, file: str) -> str:
    command = ["git", "-C", str(repository), "show", f"{commit}:{file}"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise OSError(f"no {file} at {commit[:12]}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode("utf-8")
