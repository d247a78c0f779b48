"""The archive for a remote machine: this package and the msgspec that it uses, made from the files installed
here.

It is laid out like the released `dragoman.pyz`: `contents.json` names wheels with their SHA-256 and what an
interpreter must say of itself to load them. So a released one, which has msgspec for many systems, can be
brought instead. The same files make the same archive, byte for byte; it is kept in our cache until a file of
the package changes.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import os
import platform
import sysconfig
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import msgspec
from msgspec import Struct

from dragoman.errors import LocalMistake
from dragoman.system.folders import user_folder
from dragoman.system.replacement import replace_file
from dragoman.version import VERSION

MOST_ARCHIVES = 3
"""The most archives in the cache; older ones belong to versions that are no longer in use."""


class Bundle(Struct, frozen=True, kw_only=True):
    """An archive, and the name of its folder on the other side."""

    data: bytes
    sha256: str
    version: str

    @property
    def folder(self) -> str:
        return f"{self.version}-{self.sha256[:16]}"


def make_bundle(pyz: str | None = None) -> Bundle:
    """Return the named archive, or that of the running package. Raises `LocalMistake`."""
    if pyz is not None:
        data = read_released(pyz)
        return Bundle(data=data, sha256=hashlib.sha256(data).hexdigest(), version=VERSION)
    folder = user_folder("cache") / "bundles"
    path = folder / f"{VERSION}-{_fingerprint()}.zip"
    try:
        data = path.read_bytes()
    except OSError:
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


# Makes the archive of our code for a remote machine from this installation, or reads a released one.
#
# Apart from `bundle`, because a start that finds its archive made needs nothing of this.

DATE = (1980, 1, 1, 0, 0, 0)


def pack() -> bytes:
    """Return the archive of the running package."""
    library = Path(msgspec.__file__).parent
    compiled = (file for file in package_files(library) if file.suffix in (".so", ".pyd"))
    suffix = next(map(_suffix, compiled), "")
    machine = platform.machine().lower() if "darwin" in suffix else ""
    wheels = [
        (f"dragoman-{VERSION}-py3-none-any.whl", _zip_of(*own_packages()), "", ""),
        (f"msgspec-{sysconfig.get_platform()}.whl", _zip_of(library), suffix, machine),
    ]
    contents = {
        "systems": sysconfig.get_platform(),
        "msgspec": f"msgspec=={importlib.metadata.version('msgspec')}",
        "wheels": [
            {
                "name": name,
                "sha256": hashlib.sha256(data).hexdigest(),
                "suffix": suffix,
                "machine": machine,
            }
            for name, data, suffix, machine in wheels
        ],
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        _add(archive, "contents.json", json.dumps(contents, indent=1).encode())
        for name, data, _, _ in wheels:
            _add(archive, f"wheels/{name}", data)
    return content.getvalue()


def _zip_of(*packages: Path) -> bytes:
    """Packages as they are imported, each below its name."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression=zipfile.ZIP_DEFLATED) as archive:
        for package in packages:
            for file in package_files(package):
                name = f"{package.name}/{file.relative_to(package).as_posix()}"
                _add(archive, name, file.read_bytes(), compression=zipfile.ZIP_DEFLATED)
    return content.getvalue()


def _add(archive: zipfile.ZipFile, name: str, data: bytes, *, compression: int = zipfile.ZIP_STORED) -> None:
    entry = zipfile.ZipInfo(name, DATE)
    entry.external_attr = 0o644 << 16
    entry.create_system = 3
    entry.compress_type = compression
    archive.writestr(entry, data)


def read_released(pyz: str) -> bytes:
    """Return the bytes of a released file of our version. Raises `LocalMistake`."""
    try:
        data = Path(pyz).read_bytes()
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            wheels = json.loads(archive.read("contents.json"))["wheels"]
        name = next(wheel["name"] for wheel in wheels if wheel["name"].startswith("dragoman-"))
    except (OSError, zipfile.BadZipFile, KeyError, ValueError, StopIteration) as error:
        raise LocalMistake(f"{pyz} is not a dragoman.pyz that can be copied there: {error}") from error
    version = name.split("-")[1]
    if version != VERSION:
        raise LocalMistake(
            f"{pyz} is version {version}, this is {VERSION}; both sides must be the same version"
        )
    return data


def _suffix(file: Path) -> str:
    return "." + file.name.split(".", 1)[1]


# Lists the files to copy to a remote machine: all of msgspec, and the parts of ours that it needs.

LEFT_OUT = ("__pycache__",)

NEEDED = ("dragoman", "dragoman_local", "dragoman_review", "dragoman_hub", "dragoman_app")
"""Our packages that the other side needs, without the folders below."""

NOT_NEEDED = {"dragoman_app": ("tui",)}
"""Folders that are not needed there."""

ALONE = {"dragoman_hub": (("agents", "host"), ("remote",))}
"""Packages whose other parts are not needed."""


def own_packages() -> list[Path]:
    """Return the folders of our installed packages."""
    specs = [spec for name in NEEDED if (spec := find_spec(name)) is not None]
    return [Path(place) for spec in specs for place in spec.submodule_search_locations or ()]


def package_files(package: Path) -> Iterator[Path]:
    """Return the files of a package, in order."""
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
