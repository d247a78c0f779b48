"""Lists the files to copy to a remote machine: all of msgspec, and the parts of ours that it needs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

LEFT_OUT = ("__pycache__",)

NEEDED = ("dragoman", "dragoman_local", "dragoman_review", "dragoman_hub", "dragoman_app")
"""Packages of ours that the other side needs, but for the folders below."""

NOT_NEEDED = {"dragoman_app": ("tui",)}
"""Folders that nobody needs there."""

ALONE = {"dragoman_hub": (("agents", "host"), ("remote",))}
"""Packages of which nothing else is needed."""


def own_packages() -> list[Path]:
    """The folders of those that are installed here."""
    specs = [spec for name in NEEDED if (spec := find_spec(name)) is not None]
    return [Path(place) for spec in specs for place in spec.submodule_search_locations or ()]


def package_files(package: Path) -> Iterator[Path]:
    """The files of a package, in order."""
    wanted = ALONE.get(package.name)
    for folder, folders, names in os.walk(package):
        way = Path(folder).relative_to(package).parts
        folders[:] = [name for name in sorted(folders) if _is_needed(package.name, (*way, name))]
        is_way = wanted is not None and not any(way[: len(place)] == place for place in wanted)
        for name in sorted(names):
            if not is_way or name == "__init__.py":
                yield Path(folder, name)


def _is_needed(package: str, way: tuple[str, ...]) -> bool:
    """Whether a folder is needed on the other side, or leads to one, by the names on the way to it."""
    if way[-1] in LEFT_OUT or way[0] in NOT_NEEDED.get(package, ()):
        return False
    wanted = ALONE.get(package)
    return wanted is None or any(way[: len(place)] == place[: len(way)] for place in wanted)
