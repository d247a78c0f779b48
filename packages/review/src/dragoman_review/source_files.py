"""Reads texts from the disk: chooses the files of a folder that are worth a review.

What is not reviewed (binary, too large) is told in a note, unless it is of a kind that nobody expects to be
reviewed. A link is not followed and nothing but a regular file is opened: a pipe would wait for ever.
"""

from __future__ import annotations

import codecs
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from dragoman.errors import LocalMistake
from dragoman.system.files import open_regular
from dragoman.system.replacement import replacement_of
from dragoman_review.source import ReviewNote

LARGEST = 4_000_000
"""The most bytes of a file; a larger one is data."""

SKIPPED_FOLDERS = frozenset(
    {
        *(".git", ".hg", ".svn", ".jj", "node_modules", "bower_components", "vendor", "third_party"),
        *(".venv", "venv", "site-packages", "__pycache__", ".tox", ".nox", ".eggs", ".direnv"),
        *(".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".gradle", ".idea", ".vs"),
        *("target", "dist", "build", "out", ".next", ".nuxt", ".terraform", "coverage", ".cache"),
    }
)
_LOCKS = frozenset(
    {
        *("package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb"),
        *("cargo.lock", "poetry.lock", "uv.lock", "pdm.lock", "pipfile.lock", "composer.lock"),
        *("gemfile.lock", "go.sum", "flake.lock", "mix.lock", "packages.lock.json", "pubspec.lock"),
    }
)
_MADE_CODE = (".min.js", ".bundle.js", ".pb.go", "_pb2.py", "_pb2.pyi", ".g.dart")
_MADE = (*_MADE_CODE, ".min.css", ".map", ".snap")
_BINARY = frozenset(
    {
        *(".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".bmp", ".tiff", ".pdf", ".zip", ".gz", ".bz2"),
        *(".xz", ".zst", ".7z", ".tar", ".jar", ".war", ".class", ".pyc", ".so", ".dylib", ".dll", ".exe"),
        *(".o", ".a", ".lib", ".wasm", ".woff", ".woff2", ".ttf", ".otf", ".eot", ".mp3", ".mp4", ".mov"),
        *(".avi", ".ogg", ".wav", ".db", ".sqlite", ".sqlite3", ".parquet", ".bin", ".dat", ".pack", ".idx"),
        *(".pickle", ".pkl", ".npy", ".npz", ".pt", ".onnx", ".whl"),
    }
)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class SourceText(NamedTuple):
    """A file that was read."""

    text: str
    data: bytes
    """The exact content on the disk."""
    codec: str
    mark: bytes

    def encode(self, text: str) -> bytes:
        """Return another text in the file's own encoding."""
        return self.mark + text.encode(self.codec)


def is_worth_it(path: str, *, is_trusted: bool = True) -> bool:
    """Whether to review a file that was not named. Code of an untrusted change is always reviewed: a name
    like that of a generated file would hide it.
    """
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    if name in _LOCKS or (name.endswith(_MADE) and (is_trusted or not name.endswith(_MADE_CODE))):
        return False
    return os.path.splitext(name)[1] not in _BINARY


def files_below(folder: Path) -> Iterator[Path]:
    """Return the files of a folder that are worth a review, in order, without git."""
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        for name in sorted(names):
            path = Path(here) / name
            if is_worth_it(name) and not path.is_symlink():
                yield path


def read_text(path: Path, *, largest: int = LARGEST, is_trusted: bool = True) -> SourceText | ReviewNote:
    """Return the text of a file, or the reason why it has none."""
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > largest:
                return ReviewNote(str(path), f"not reviewed: {size} bytes are too many")
            data = file.read()
    except OSError as error:
        is_failure = error.errno != errno.EINVAL  # something else than a file is nothing to review
        return ReviewNote(str(path), f"not reviewed: {error.strerror or error}", is_failure=is_failure)
    return decode(data, is_trusted=is_trusted) or ReviewNote(str(path), "not reviewed: it is not text")


def decode(data: bytes, *, is_trusted: bool = True) -> SourceText | None:
    """Decode bytes as UTF-8, or UTF-16 if marked as such. Other encodings are never guessed, except for an
    untrusted change: one wrong byte would hide it, and in Latin-1 every byte is a character.
    """
    mark, codec = next(((mark, codec) for mark, codec in _MARKS if data.startswith(mark)), (b"", "utf-8"))
    try:
        text = data[len(mark) :].decode(codec)
    except UnicodeDecodeError:
        if is_trusted:
            return None
        mark, codec, text = b"", "latin-1", data.decode("latin-1")
    return None if "\0" in text else SourceText(text, data, codec, mark)


class StaleFile(LocalMistake):
    """The file has changed since the review; it stays unchanged."""


def write_fixed(path: Path, was: SourceText, text: str) -> None:
    """Replace a reviewed text by a new one. Raises `StaleFile` and `OSError`.

    A link stays a link: what it points to is written. Mode and encoding stay as they were.
    """
    path = path.resolve(strict=True)
    with replacement_of(path, mode=path.stat().st_mode & 0o7777) as copy:
        copy.write_bytes(was.encode(text))
        # As late as possible: what comes between this look and the replacement would be lost.
        if path.read_bytes() != was.data:
            raise StaleFile(f"{path} was changed since it was reviewed; it is left as it is")
