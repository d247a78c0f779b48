"""Downloads archives, verifies their hashes, and unpacks them so that no file lands outside the folder.

The hash is checked before a byte is unpacked. Only plain files and folders are written, each file anew, into
a folder that holds no link: a link of the archive becomes a copy of the file that it names, and one that
names anything else is refused, as are devices and paths that lead out. Sizes and numbers are bounded.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import os
import shutil
import stat
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from http.client import HTTPException, HTTPMessage
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO
from urllib.parse import unquote, urlsplit

from dragoman.errors import DragomanError
from dragoman.version import VERSION
from dragoman_local.known.installation.registry import is_inner_path

MOST_DOWNLOADED = 1024**3
MOST_UNPACKED = 4 * 1024**3
MOST_FILES = 100_000
CHUNK = 256 * 1024
IDLE_SECONDS = 30.0
"""The seconds of silence after which a server is given up."""

TARS = (".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar")
INSTALLERS = (".dmg", ".pkg", ".deb", ".rpm", ".msi", ".appimage")
BROKEN = (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)

Progress = Callable[[str], None]


class InstallFailed(DragomanError):
    """An agent could not be installed; the earlier installation is unchanged."""


class _HttpsRedirects(urllib.request.HTTPRedirectHandler):
    """An address that was safe must not lead to one that is not."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        if urlsplit(newurl).scheme != "https":
            raise InstallFailed("the server redirects to an address that is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def open_address(address: str, *, folder: Path | None) -> tuple[BinaryIO, int | None]:
    """Open an https address, or a file if `folder` is the base of relative paths; return it with its size."""
    scheme = urlsplit(address).scheme
    if scheme == "https":
        request = urllib.request.Request(address, headers={"user-agent": f"dragoman/{VERSION}"})  # noqa: S310 (https, as the line above says)
        opener = urllib.request.build_opener(_HttpsRedirects)
        answer = opener.open(request, timeout=IDLE_SECONDS)
        length = answer.headers.get("content-length", "")
        return answer, int(length) if length.isdecimal() else None
    if folder is None or (scheme not in ("", "file") and len(scheme) > 1):
        raise InstallFailed(f"{address[:200]} is not an https address")
    path = folder / (unquote(urlsplit(address).path) if scheme == "file" else address)
    return path.open("rb"), path.stat().st_size


def download(
    address: str,
    target: Path,
    *,
    folder: Path | None,
    seconds: float,
    progress: Progress,
    most: int = MOST_DOWNLOADED,
) -> str:
    """Download an archive. Returns its SHA-256. Raises `InstallFailed`."""
    deadline, digest, count, shown = time.monotonic() + seconds, hashlib.sha256(), 0, 0
    try:
        source, length = open_address(address, folder=folder)
        with source, target.open("xb") as file:
            while chunk := source.read(CHUNK):
                count += len(chunk)
                if count > most:
                    raise InstallFailed(f"{address[:200]} has more than {most:,} bytes")
                if time.monotonic() > deadline:
                    raise InstallFailed(f"{address[:200]} took longer than {seconds:g} seconds")
                digest.update(chunk)
                file.write(chunk)
                if length and count * 10 // length > shown:
                    shown = count * 10 // length
                    progress(f"downloaded {count:,} of {length:,} bytes")
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise InstallFailed(f"cannot download {address[:200]}: {reason}") from None
    if length is not None and count != length:
        raise InstallFailed(f"{address[:200]} ended after {count:,} of {length:,} bytes")
    return digest.hexdigest()


def unpack(archive: Path, address: str, folder: Path, *, program: str) -> None:
    """Unpack into an empty folder; a file that is not an archive is the program itself. Raises
    `InstallFailed`.
    """
    name = urlsplit(address).path.lower() or address.lower()
    if name.endswith(INSTALLERS):
        raise InstallFailed(f"{os.path.basename(name)} is an installer, not an archive")
    try:
        if name.endswith(".zip"):
            with zipfile.ZipFile(archive) as zipped:
                _Unpacking(folder).write(_zip_files(zipped))
        elif name.endswith(TARS):
            with tarfile.open(archive) as tar:
                _Unpacking(folder).write(_tar_files(tar))
        else:
            target = inner_path(folder, program)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(archive, target)
    except (*BROKEN, NotImplementedError, RuntimeError) as error:  # the last two: ways to pack unknown here
        raise InstallFailed(f"the archive is damaged: {error}") from None
    except OSError as error:
        raise InstallFailed(f"the archive cannot be unpacked: {error.strerror or error}") from None


def inner_path(folder: Path, name: str) -> Path:
    """Return an archive's path below the folder. Raises `InstallFailed` if it leads out."""
    if "\0" in name or not is_inner_path(name):
        raise InstallFailed(f"the archive has a path that leads out of its folder: {name[:200]!r}")
    return folder.joinpath(*PurePosixPath(name.replace("\\", "/")).parts)


class _Unpacking:
    """Writes files into one folder, within the bounds."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._links: list[tuple[str, str]] = []
        self._bytes = 0
        self._files = 0

    def write(self, members: Iterator[tuple[str, int, IO[bytes] | str | None]]) -> None:
        for name, mode, content in members:
            self._files += 1
            if self._files > MOST_FILES:
                raise InstallFailed(f"the archive has more than {MOST_FILES:,} files")
            if name.strip("/.") == "":
                continue  # the folder itself
            path = inner_path(self._folder, name)
            if isinstance(content, str):
                self._links.append((name, content))
            elif content is None:
                path.mkdir(parents=True, exist_ok=True)
            else:
                self._write_file(path, content, mode)
        for name, target in self._links:  # at the end: a link may stand before what it names
            self._copy_link(name, target)

    def _write_file(self, path: Path, content: IO[bytes], mode: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            file = path.open("xb")
        except FileExistsError:
            raise InstallFailed(f"the archive has {path.name!r} twice") from None
        with file:
            while chunk := content.read(CHUNK):
                self._bytes += len(chunk)
                if self._bytes > MOST_UNPACKED:
                    raise InstallFailed(f"the archive unpacks to more than {MOST_UNPACKED:,} bytes")
                file.write(chunk)
        path.chmod(0o755 if mode & 0o111 else 0o644)

    def _copy_link(self, name: str, target: str) -> None:
        source = inner_path(self._folder, target)
        if not source.is_file():
            raise InstallFailed(
                f"the archive has a link to something that is not a file of it: {name[:200]!r}"
            )
        with source.open("rb") as content:
            self._write_file(inner_path(self._folder, name), content, source.stat().st_mode)


def _tar_files(tar: tarfile.TarFile) -> Iterator[tuple[str, int, IO[bytes] | str | None]]:
    for member in tar:
        if member.isdir():
            yield member.name, 0, None
        elif member.isfile():
            yield member.name, member.mode, tar.extractfile(member)
        elif member.issym():
            yield member.name, 0, _beside(member.name, member.linkname)
        elif member.islnk():
            yield member.name, 0, member.linkname
        else:
            raise InstallFailed(f"the archive has a device or a pipe: {member.name[:200]!r}")


def _zip_files(zipped: zipfile.ZipFile) -> Iterator[tuple[str, int, IO[bytes] | str | None]]:
    for info in zipped.infolist():
        mode = info.external_attr >> 16
        if info.is_dir():
            yield info.filename, 0, None
        elif stat.S_ISLNK(mode):
            with zipped.open(info) as content:
                yield info.filename, 0, _beside(info.filename, content.read(4096).decode(errors="replace"))
        else:
            with zipped.open(info) as content:
                yield info.filename, mode, content


def _beside(name: str, target: str) -> str:
    """The target of a link, from the archive's root. One that is absolute or leads out stays recognizable."""
    if target.startswith(("/", "\\")):
        return target
    parts = list(PurePosixPath(name).parts[:-1])
    for part in PurePosixPath(target.replace("\\", "/")).parts:
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
        else:
            return target
    return "/".join(parts) or "."
