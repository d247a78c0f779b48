"""What we bring along: one archive with this package and the msgspec that it runs with, made from what is
installed here.

It is laid out like the released `dragoman.pyz`: `contents.json` names wheels with their SHA-256 and what an
interpreter must say of itself to load them. So a released one, which has msgspec for many systems, can be
brought instead. The same files make the same archive, byte for byte; it is kept in our cache until a file of
the package changes.
"""

from __future__ import annotations

import hashlib
import os
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from dragoman.system.folders import user_folder
from dragoman.system.replacement import replace_file
from dragoman.version import VERSION

LEFT_OUT = ("__pycache__",)
NOT_NEEDED = ("check", "trace", "tui", "web")
"""Rooms that nobody needs on the other side. Of the hub, only its agent host is."""

HOST = ("hub", "agents", "host")

KEPT = 3
"""Archives that stay in the cache; more are of versions that nobody runs any more."""

PACKAGE = Path(__file__).parents[1]


class Bundle(Struct, frozen=True, kw_only=True):
    """An archive, and the name of its folder on the other side."""

    data: bytes
    sha256: str
    version: str

    @property
    def folder(self) -> str:
        return f"{self.version}-{self.sha256[:16]}"


def make_bundle(pyz: str | None = None) -> Bundle:
    """The archive: the one that is named, or one of the package that runs here. Raises `LocalMistake`."""
    if pyz is not None:
        from dragoman.remote.packing import read_released

        data = read_released(pyz)
        return Bundle(data=data, sha256=hashlib.sha256(data).hexdigest(), version=VERSION)
    folder = user_folder("cache") / "bundles"
    path = folder / f"{VERSION}-{_fingerprint()}.zip"
    try:
        data = path.read_bytes()
    except OSError:
        from dragoman.remote.packing import pack  # needed once for each version

        data = pack()
        _keep(path, data)
    return Bundle(data=data, sha256=hashlib.sha256(data).hexdigest(), version=VERSION)


def _keep(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(path, data)
        archives = sorted(path.parent.glob("*.zip"), key=lambda file: file.stat().st_mtime, reverse=True)
        for old in archives[KEPT:]:
            old.unlink(missing_ok=True)
    except OSError:
        pass  # without a cache it is made each time


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


def _fingerprint() -> str:
    """Changes when a file does: names, sizes and times are looked at, and nothing is read."""
    digest = hashlib.sha256(sysconfig.get_platform().encode())
    for package in (PACKAGE, Path(msgspec.__file__).parent):
        for file in package_files(package):
            status = file.stat()
            digest.update(f"{file}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
