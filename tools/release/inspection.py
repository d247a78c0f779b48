"""Looks into built archives: what must be in them is there, and nothing else is."""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

UPPER_BOUND = re.compile(r"<|==")
WANTED = (
    "dragoman/py.typed",
    "dragoman_hub/web/static/index.html",
    "dragoman_app/cli/pages/run.md",
)
PACKAGES = tuple(f"dragoman{box}/" for box in ("", "_local", "_check", "_review", "_hub", "_app"))
LICENSES = ("LICENSE", "LICENSES/highlight.js.txt", "LICENSES/lit.txt")
UNWANTED = re.compile(r"__pycache__|\.pyc$|node_modules|(^|/)\.venv|(^|/)\.git/")
SOURCES = (
    "packages/sdk/src/dragoman/__init__.py",
    "tests/house.py",
    "docs/install.md",
    "packages/hub/web/src/main.ts",
    "SECURITY.md",
)


def inspect_wheel(wheel: Path, *, version: str) -> None:
    """End the program with every fault of a wheel, if it has one."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        information = f"dragoman-{version}.dist-info"
        metadata = Parser().parsestr(archive.read(f"{information}/METADATA").decode())
        scripts = archive.read(f"{information}/entry_points.txt").decode()
    faults = [f"{name} is missing" for name in WANTED if name not in names]
    faults += [f"{name} is missing" for name in LICENSES if f"{information}/licenses/{name}" not in names]
    faults += [f"{name} does not belong there" for name in names if UNWANTED.search(name)]
    faults += [
        f"{name} is in no package of ours"
        for name in names
        if not name.startswith((*PACKAGES, f"{information}/"))
    ]
    if "dragoman = dragoman_app.cli:main" not in scripts:
        faults.append("there is no command dragoman")
    report(wheel, [*faults, *metadata_faults(metadata, version)])


def metadata_faults(metadata: Message, version: str) -> list[str]:
    """What is wrong with the metadata."""
    faults = []
    if (metadata["Name"], metadata["Version"]) != ("dragoman", version):
        faults.append(f"it is called {metadata['Name']} {metadata['Version']}, not dragoman {version}")
    faults += [
        f"{field} is missing"
        for field in ("Requires-Python", "License-Expression", "Summary", "Description-Content-Type")
        if not metadata[field]
    ]
    faults += [
        f"a requirement has no upper bound: {line}"
        for line in metadata.get_all("Requires-Dist", [])
        if not UPPER_BOUND.search(line.partition(";")[0])
    ]
    return faults


def inspect_sdist(sdist: Path, *, version: str) -> None:
    """End the program with every fault of a source archive, if it has one."""
    with tarfile.open(sdist) as archive:
        names = {member.name.removeprefix(f"dragoman-{version}/") for member in archive.getmembers()}
    faults = [f"{name} is missing" for name in (*SOURCES, *LICENSES) if name not in names]
    report(sdist, [*faults, *(f"{name} does not belong there" for name in names if UNWANTED.search(name))])


def report(file: Path, faults: list[str]) -> None:
    if faults:
        sys.exit("\n".join(f"{file.name}: {fault}" for fault in faults))
