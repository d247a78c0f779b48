"""Which files of an installed package are brought to the other side, and whether one has changed."""

from __future__ import annotations

import hashlib
import os
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import msgspec

LEFT_OUT = ("__pycache__",)
NOT_NEEDED = ("check", "trace", "tui", "web")
"""Rooms that nobody needs on the other side. Of the hub, only its agent host is."""

HOST = ("hub", "agents", "host")

PACKAGE = Path(__file__).parents[1]


def package_files(package: Path) -> Iterator[Path]:
    """The files of a package, in order."""
    for folder, folders, names in os.walk(package):
        way = Path(folder).relative_to(package).parts
        folders[:] = [
            name
            for name in sorted(folders)
            if name not in LEFT_OUT and (package != PACKAGE or _is_needed((*way, name)))
        ]
        is_way_to_host = package == PACKAGE and way in (HOST[:1], HOST[:2])
        for name in sorted(names):
            if not is_way_to_host or name == "__init__.py":
                yield Path(folder, name)


def _is_needed(way: tuple[str, ...]) -> bool:
    """Whether a folder of ours is needed on the other side, by the names on the way to it."""
    if way[0] == "hub":
        return way[: len(HOST)] == HOST[: len(way)]
    return way[0] not in NOT_NEEDED


def fingerprint() -> str:
    """Changes when a file does: names, sizes and times are looked at, and nothing is read."""
    digest = hashlib.sha256(sysconfig.get_platform().encode())
    for package in (PACKAGE, Path(msgspec.__file__).parent):
        for file in package_files(package):
            status = file.stat()
            digest.update(f"{file}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
