"""The archive for a remote machine: this package and the msgspec that it uses, made from the files installed
here.

It is laid out like the released `dragoman.pyz`: `contents.json` names wheels with their SHA-256 and what an
interpreter must say of itself to load them. So a released one, which has msgspec for many systems, can be
brought instead. The same files make the same archive, byte for byte; it is kept in our cache until a file of
the package changes.
"""

from __future__ import annotations

import hashlib
import sysconfig
from pathlib import Path

import msgspec
from msgspec import Struct

from dragoman.system.folders import user_folder
from dragoman.system.replacement import replace_file
from dragoman.version import VERSION
from dragoman_hub.remote.package_files import own_packages, package_files

MOST_ARCHIVES = 3
"""Archives that stay in the cache; more are of versions that nobody runs any more."""


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
        from dragoman_hub.remote.archive import read_released

        data = read_released(pyz)
        return Bundle(data=data, sha256=hashlib.sha256(data).hexdigest(), version=VERSION)
    folder = user_folder("cache") / "bundles"
    path = folder / f"{VERSION}-{_fingerprint()}.zip"
    try:
        data = path.read_bytes()
    except OSError:
        from dragoman_hub.remote.archive import pack  # needed once for each version

        data = pack()
        _keep(path, data)
    return Bundle(data=data, sha256=hashlib.sha256(data).hexdigest(), version=VERSION)


def _keep(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(path, data)
        archives = sorted(path.parent.glob("*.zip"), key=lambda file: file.stat().st_mtime, reverse=True)
        for old in archives[MOST_ARCHIVES:]:
            old.unlink(missing_ok=True)
    except OSError:
        pass  # without a cache it is made each time


def _fingerprint() -> str:
    """Changes when a file does: names, sizes and times are looked at, and nothing is read."""
    digest = hashlib.sha256(sysconfig.get_platform().encode())
    for package in (*own_packages(), Path(msgspec.__file__).parent):
        for file in package_files(package):
            status = file.stat()
            digest.update(f"{file}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
