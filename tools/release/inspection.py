"""Looks into built archives: what must be in them is there, and nothing else is."""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import NamedTuple

UPPER_BOUND = re.compile(r"<|==")
RESERVED = re.compile(r"//([^/]*\.)?(example(\.com|\.net|\.org)?|invalid|test|localhost)(:|/|$)")
"""Hosts that belong to nobody, by RFC 2606: a placeholder for the project's home."""
LICENSES = ("LICENSE", "LICENSES/highlight.js.txt", "LICENSES/lit.txt")


class PublishedWheel(NamedTuple):
    """What a wheel of ours must be like."""

    box: str
    """The folder of `packages` that builds it."""
    packages: tuple[str, ...]
    wanted: tuple[str, ...]
    """Files that are missing first when something is wrong."""
    entry_point: str = ""
    licenses: tuple[str, ...] = LICENSES[:1]


WHEELS = {
    "dragoman_sdk": PublishedWheel(
        "sdk",
        ("dragoman", "dragoman_local"),
        ("dragoman/py.typed", "dragoman_local/py.typed"),
        "dragoman = dragoman.testing.plugin",
    ),
    "dragoman_check": PublishedWheel(
        "check", ("dragoman_check",), ("dragoman_check/py.typed", "dragoman_check/requirements.json")
    ),
    "dragoman_review": PublishedWheel(
        "review", ("dragoman_review",), ("dragoman_review/py.typed", "dragoman_review/data/rules-python.toml")
    ),
    "dragoman": PublishedWheel(
        "app",
        ("dragoman_hub", "dragoman_app"),
        ("dragoman_app/py.typed", "dragoman_hub/web/static/index.html", "dragoman_app/cli/pages/run.md"),
        "dragoman = dragoman_app.cli:main",
        LICENSES,
    ),
}
"""By the first word of their file names; each needs those above it alone."""
UNWANTED = re.compile(r"__pycache__|\.pyc$|node_modules|(^|/)\.venv|(^|/)\.git/")
SOURCES = (
    *(f"packages/{wheel.box}/pyproject.toml" for wheel in WHEELS.values()),
    "packages/sdk/src/dragoman/__init__.py",
    "tests/house.py",
    "docs/install.md",
    "packages/hub/web/src/main.ts",
    "SECURITY.md",
)


def inspect_wheel(wheel: Path, *, version: str) -> None:
    """End the program with every fault of a wheel, if it has one."""
    word = wheel.name.partition("-")[0]
    published, information = WHEELS[word], f"{word}-{version}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = Parser().parsestr(archive.read(f"{information}/METADATA").decode())
        points = f"{information}/entry_points.txt"
        entry_points = archive.read(points).decode().splitlines() if points in names else []
    wanted = [*published.wanted, *(f"{information}/licenses/{name}" for name in published.licenses)]
    faults = [f"{name} is missing" for name in wanted if name not in names]
    faults += [f"{name} does not belong there" for name in names if UNWANTED.search(name)]
    homes = tuple(f"{name}/" for name in (*published.packages, information))
    faults += [f"{name} is in no package of this wheel" for name in names if not name.startswith(homes)]
    points_to = [line for line in entry_points if "=" in line]
    if points_to != list(filter(None, [published.entry_point])):
        faults.append(f"its entry points are {points_to}, not {published.entry_point!r}")
    report(wheel, [*faults, *metadata_faults(metadata, word.replace("_", "-"), version)])


def metadata_faults(metadata: Message, name: str, version: str) -> list[str]:
    """What is wrong with the metadata."""
    faults = []
    if (metadata["Name"], metadata["Version"]) != (name, version):
        faults.append(f"it is called {metadata['Name']} {metadata['Version']}, not {name} {version}")
    faults += [
        f"{field} is missing"
        for field in ("Requires-Python", "License-Expression", "Summary", "Description-Content-Type")
        if not metadata[field]
    ]
    faults += [
        f"an address leads nowhere: {line}"
        for line in metadata.get_all("Project-URL", [])
        if RESERVED.search(line)
    ]
    faults += [
        f"it takes another version of ours: {line}"
        for line in metadata.get_all("Requires-Dist", [])
        if line.startswith("dragoman") and not line.endswith(f"=={version}")
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
