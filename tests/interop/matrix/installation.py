"""Installs a program of the catalogue into a folder of its own, from npm or from PyPI.

Nothing is shared between programs, so that none gets another's dependencies. What is there already is not
installed again: a file says what it was. A failure is an `InstallFailed` with the end of the installer's
words.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from dragoman.testing.pace import patience
from tests.interop.matrix.catalogue import CatalogueRow

INSTALL_SECONDS = 600.0
"""Until an installer is given up on a quiet machine."""

STAMP = "installed.json"
REPORT = "report.json"
"""What pip says about the packages that it installed."""

ADDRESS = re.compile(r"https?://\S+")
VERSIONS = re.compile(r" \(from versions: [^)]*\)")
NOISE = ("complete log", "Ignored the following")
"""What stands in the errors of npm and pip and is no reason."""


class InstallFailed(Exception):
    """The installer ended with an error, is not there, or took too long."""


def install(row: CatalogueRow, root: Path) -> Path:
    """Install the row's packages if they are not there; returns the folder with its programs."""
    folder = root / row.name
    wanted = [*row.npm, *row.pypi]
    if _installed(folder) != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for command in _commands(row, folder):
            _run(command, folder)
        (folder / STAMP).write_text(json.dumps(wanted))
    return folder / "node_modules" / ".bin" if row.npm else folder / "bin"


def installed_hash(row: CatalogueRow, root: Path) -> str:
    """The hash of the row's own package as it was installed: `sha512-…` of npm, SHA-256 in hexadecimal of a
    wheel that is the same on every system. Empty if there is none.
    """
    folder, name = root / row.name, row.package.rpartition("@")[0]
    if row.npm:
        lock = _read_json(folder / "node_modules" / ".package-lock.json") or {"packages": {}}
        return str(lock["packages"].get(f"node_modules/{name}", {}).get("integrity", ""))
    report = _read_json(folder / REPORT) or {"install": []}
    archives = [item["download_info"] for item in report["install"] if _is_own(item, row)]
    hashes = [archive["archive_info"].get("hashes", {}).get("sha256", "") for archive in archives]
    return str(hashes[0]) if archives and archives[0]["url"].endswith("-none-any.whl") else ""


def _is_own(item: dict[str, Any], row: CatalogueRow) -> bool:
    plain = re.sub(r"[-_.]+", "-", item["metadata"]["name"]).lower()
    return plain == re.split(r"[\[=]", row.package)[0]


def _installed(folder: Path) -> object:
    return _read_json(folder / STAMP)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None


def _commands(row: CatalogueRow, folder: Path) -> list[list[str]]:
    commands: list[list[str]] = []
    if row.npm:
        quiet = ["--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]
        commands.append(["npm", "install", *quiet, "--prefix", str(folder), *row.npm])
    if row.pypi:
        commands.append([find_python(row.python), "-m", "venv", str(folder)])
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        commands.append([*pip, "--report", str(folder / REPORT), *row.pypi])
    return commands


def find_python(version: str) -> str:
    """A Python of at least this version. Raises `InstallFailed` if there is none."""
    wanted = tuple(int(part) for part in version.split(".")) if version else ()
    if sys.version_info[: len(wanted)] >= wanted:
        return sys.executable
    for minor in range(wanted[1], wanted[1] + 4):
        for place in (shutil.which(f"python3.{minor}"), *_pyenv(minor)):
            if place and subprocess.run([place, "-c", ""], capture_output=True, check=False).returncode == 0:
                return place
    raise InstallFailed(f"it needs Python {version}, and there is none on PATH")


def _pyenv(minor: int) -> list[str]:
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    return [str(path) for path in sorted(root.glob(f"versions/3.{minor}.*/bin/python3"))]


def _run(command: list[str], folder: Path) -> None:
    seconds = patience(INSTALL_SECONDS)
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except FileNotFoundError as error:
        raise InstallFailed(f"{error.filename} is not on PATH") from None
    except subprocess.TimeoutExpired:
        raise InstallFailed(f"{command[0]} was not done after {seconds:g} s") from None
    (folder / "install.log").write_text(run.stdout + run.stderr)
    if run.returncode:
        raise InstallFailed(_summary(run.stderr or run.stdout))


def _summary(text: str) -> str:
    """The lines that say what is wrong: those with an error, or else the last; no addresses, which are
    others on every machine, and none of pip's lists of versions.
    """
    lines = [ADDRESS.sub("…", line.strip()) for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower() and not any(map(line.__contains__, NOISE))]
    return (
        " ".join(VERSIONS.sub("", line) for line in (errors or lines)[-4:]) or "the installer gave no reason"
    )
