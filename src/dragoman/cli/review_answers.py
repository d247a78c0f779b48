"""Answers of `dragoman review` that are kept for the next time that the same is asked.

A question is all that an answer depends on, but for the files: the options, the rules and the baseline of the
project, every file that judges or shows. What is kept for a question is its last answer, and it is believed
while the files are the same, so that a run in which nothing has changed loads nothing that judges texts or
shows findings. In other runs `finding_cache` knows single files.

An answer shows lines of the files. It is sealed with their content: whoever has not the files as they were
cannot read it, and no secret outlives its file here. A folder that cannot be read or written keeps nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from dragoman.cli.review_files import ReviewFile
from dragoman.review.places import (
    BASELINE,
    OUR_FOLDERS,
    PAGE_VARIABLE,
    RULES,
    default_cache_folder,
    find_oxlint,
    find_ruff,
    judge_digest,
)
from dragoman.system.cache_files import write_cache_file

LARGEST = 1_000_000
"""Bytes of an answer that is kept."""

MOST = 100
"""Answers that are kept; then the older half goes."""

_PACKAGE = Path(__file__).parents[1]
_FOLDERS = (*OUR_FOLDERS, _PACKAGE / "cli", _PACKAGE / "text", _PACKAGE / "apps", _PACKAGE / "system")
"""Where the code is that judges texts, shows findings, and reads this."""

_FORMATS = ("text", "json", "sarif", "junit", "github")
"""Those that are text. A diff is bytes: names of files in it need not be text."""


class ReviewAnswer(NamedTuple):
    """What a run of the command says."""

    status: int
    out: str
    err: str

    def show(self) -> int:
        """Print it; returns the exit status. What is in it was made safe for a terminal."""
        sys.stdout.write(self.out)
        if self.err and sys.stderr is not None:
            sys.stdout.flush()
            sys.stderr.write(self.err)
        return self.status


class ReviewQuestion:
    """One way to ask, and what is kept for it."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._digest = self._look()

    @staticmethod
    def is_of_files(args: argparse.Namespace) -> bool:
        """Whether this is about files as they are on the disk: not if it is about changes that git knows, or
        about rules.
        """
        return args.diff is None and not (args.staged or args.list_rules or args.try_rules)

    @staticmethod
    def is_kept(args: argparse.Namespace) -> bool:
        """Whether an answer to this may be kept: if it is of files, and writes none."""
        is_written = args.fix or args.write_baseline is not None
        is_of_files = ReviewQuestion.is_of_files(args)
        return is_of_files and args.format in _FORMATS and not (is_written or args.no_cache)

    def read(self, files: Iterable[ReviewFile]) -> ReviewAnswer | None:
        """The answer for these files, if it is known."""
        content = self._content(files)
        try:
            head, _, body = self._place.read_bytes().partition(b"\n")
            status, size, check = head.split()
            data = _seal(content, body)
            if check != _check(content, head[: -len(check)] + data):  # the files, or it, are not as they were
                return None
            return ReviewAnswer(int(status), _text(data[: int(size)]), _text(data[int(size) :]))
        except (OSError, ValueError):
            return None

    def write(self, files: Iterable[ReviewFile], answer: ReviewAnswer) -> None:
        """Keep an answer. A rule or a baseline that changed during the review may or may not be in it; then
        it is not kept.
        """
        out, data = _data(answer.out), _data(answer.out + answer.err)
        if len(data) > LARGEST or self._look() != self._digest:
            return
        content = self._content(files)
        head = b"%d %d " % (answer.status, len(out))
        kept = b"%s%s\n%s" % (head, _check(content, head + data), _seal(content, data))
        write_cache_file(self._place, kept, most=MOST)

    def _content(self, files: Iterable[ReviewFile]) -> bytes:
        """A digest of the question and of all files."""
        digest = hashlib.sha256(self._digest.encode())
        for file in files:
            digest.update(file.digest())
        return digest.digest()

    @property
    def _place(self) -> Path:
        return default_cache_folder() / "answers" / self._digest

    def _look(self) -> str:
        """Everything as it is now."""
        options = {name: value for name, value in vars(self._args).items() if name != "command_row"}
        surroundings = (os.getcwd(), os.environ.get(PAGE_VARIABLE), sys.stdout.isatty())
        digest = hashlib.sha256(
            repr((sorted(options.items()), surroundings)).encode(errors="backslashreplace")
        )
        programs = () if self._args.no_tools else (find_ruff(), find_oxlint())
        digest.update(judge_digest(programs, _FOLDERS))
        for place in (RULES, *map(Path, self._args.rules), Path(self._args.baseline or BASELINE)):
            for part in _contents(place):
                digest.update(b"%d\0%s" % (len(part), part))
        return digest.hexdigest()


def _contents(place: Path) -> Iterator[bytes]:
    """Name and content of a file, or of each file of a folder of rules."""
    if place.is_dir():
        for path in sorted(place.glob("*.toml")):
            yield from _contents(path)
        return
    yield str(place).encode(errors="surrogateescape")
    try:
        yield place.read_bytes()
    except OSError as error:
        yield repr(error).encode(errors="backslashreplace")


def _check(content: bytes, data: bytes) -> bytes:
    return hashlib.sha256(content + data).hexdigest().encode()


def _seal(content: bytes, data: bytes) -> bytes:
    """Seals what is open, and opens what is sealed. A content seals one answer: two would tell each other."""
    pad = hashlib.shake_256(b"seal" + content).digest(len(data))
    return (int.from_bytes(data) ^ int.from_bytes(pad)).to_bytes(len(data))


def _data(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
