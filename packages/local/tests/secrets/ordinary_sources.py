"""Ordinary lines: code and prose of other people, read at test time from packages that are installed here.

Nothing of it is stored in the repository. The order depends on the paths alone, so two runs on one machine
read the same lines; other versions of the packages give other lines. Not every line is free of secrets:
pages show URLs with a password, tests hold keys. Files about credentials are left out, and a caller sets a
limit to what is found instead of asking for none. Where the packages are absent `ordinary_lines` yields
next to nothing: compare with `ENOUGH`, and skip.
"""

from __future__ import annotations

import itertools
import sysconfig
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[4]
PYTHON_PACKAGES = Path(sysconfig.get_paths()["purelib"])
NODE_PACKAGES = ROOT / "packages/hub/web/node_modules"

SHARES = {
    ".py": 12_000,
    ".js": 5_000,
    ".ts": 4_000,
    ".md": 3_000,
    ".json": 2_000,
    ".yaml": 1_500,
    ".toml": 500,
    ".txt": 500,
}
"""How many lines of each kind of file are read at most: no language drowns the others."""

ENOUGH = 20_000
"""With fewer lines, packages are missing, and a rate of false finds would say nothing."""

LINES_OF_ONE_FILE = 150
"""A few large generated files would be the whole corpus otherwise."""

LONGEST_LINE = 4_000
"""Minified files are one line each. Such a line is cut, as a preview of it would be."""

OURS = ("dragoman",)
ABOUT_CREDENTIALS = (
    "auth",
    "credential",
    "crypt",
    "jwt",
    "keyring",
    "nacl",
    "nkeys",
    "password",
    "secret",
    "token",
)
"""Parts of paths. Whoever hides secrets is right to find some in these files."""


class Line(NamedTuple):
    """A line, and where it stands."""

    path: str
    number: int
    text: str


def ordinary_lines() -> Iterator[Line]:
    """Up to the share of each kind of file, from both package folders and this project's settings."""
    files = [*package_files(PYTHON_PACKAGES), *package_files(NODE_PACKAGES), *own_settings()]
    for suffix, share in SHARES.items():
        lines = itertools.chain.from_iterable(
            lines_of(path, name=name) for name, path in files if path.suffix == suffix
        )
        yield from itertools.islice(lines, share)


def package_files(folder: Path) -> list[tuple[str, Path]]:
    """The files of a package folder with their names below it, one of each package in turn.

    In the order of their paths, the packages whose names begin with an `a` would fill the shares.
    """
    packages: dict[str, list[tuple[str, Path]]] = {}
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        name = path.relative_to(folder).as_posix()
        if path.suffix in SHARES and is_ordinary(name):
            packages.setdefault(name.partition("/")[0], []).append((name, path))
    turns = itertools.zip_longest(*(packages[package] for package in sorted(packages)))
    return [file for turn in turns for file in turn if file is not None]


def is_ordinary(name: str) -> bool:
    """Whether a file with this path belongs to other people, and is about something else than credentials.

    Folders with a dot are where tools keep what they made here.
    """
    return not name.lower().startswith((*OURS, ".")) and not any(
        word in name.lower() for word in ABOUT_CREDENTIALS
    )


def own_settings() -> list[tuple[str, Path]]:
    """Settings in the root of this project: packages come without TOML."""
    return [(path.name, path) for path in sorted(ROOT.glob("*.toml"))]


def lines_of(path: Path, *, name: str) -> Iterator[Line]:
    """Lines from the middle of a file that hold something; the start of many is the same licence."""
    try:
        texts = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):  # a broken link, or a test file of another encoding
        return
    first = max(0, (len(texts) - LINES_OF_ONE_FILE) // 2)
    for number, text in enumerate(texts[first : first + LINES_OF_ONE_FILE], start=first + 1):
        if text.strip():
            yield Line(name, number, text[:LONGEST_LINE])


def main() -> None:
    """Says how many lines there are, of what, and how long it took to read them."""
    start = time.perf_counter()
    lines = list(ordinary_lines())
    seconds = time.perf_counter() - start
    print(f"{len(lines)} lines of {len({line.path for line in lines})} files in {seconds:.2f} s")
    for suffix, count in Counter(Path(line.path).suffix for line in lines).most_common():
        print(f"{count:7} {suffix}")


if __name__ == "__main__":
    main()
