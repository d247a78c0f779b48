"""Makes the archive of our code for a remote machine from this installation, or reads a released one.

Apart from `bundle`, because a start that finds its archive made needs nothing of this.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import platform
import sysconfig
import zipfile
from pathlib import Path

import msgspec

from dragoman.errors import LocalMistake
from dragoman.version import VERSION
from dragoman_hub.remote.package_files import own_packages, package_files

DATE = (1980, 1, 1, 0, 0, 0)


def pack() -> bytes:
    """The archive of the package that runs here."""
    library = Path(msgspec.__file__).parent
    suffix = next((_suffix(file) for file in package_files(library) if _is_compiled(file)), "")
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
    """The bytes of a released file of our version. Raises `LocalMistake`."""
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


def _is_compiled(file: Path) -> bool:
    return file.suffix in (".so", ".pyd")


def _suffix(file: Path) -> str:
    return "." + file.name.split(".", 1)[1]
