"""Which files of a package are brought along: all of msgspec, and of ours what the other side needs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

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
