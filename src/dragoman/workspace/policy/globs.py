"""Whether a path is one that a rule names.

Pure; paths are text here and nothing is looked up. `*`, `?` and `[…]` stay within one name, `**` stands for
any number of folders. A glob that does not begin with `/` or `~/` counts from the session's roots. Permitting
and forbidding differ on purpose: a path is permitted only if it is plain, beneath a root where the glob
counts from roots, and spelled alike; it is forbidden whatever its case, and `**/name` or a bare `name` is
forbidden everywhere on the disk.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

Parts = tuple[str, ...]


def absolute(path: str, base: str, *, home: str = "") -> str:
    """A path with its base before it and `.` and `..` worked out as far as text can tell."""
    if home and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    whole = path if path.startswith("/") else f"{base}/{path}"
    kept: list[str] = []
    for name in whole.split("/"):
        if name == "..":
            del kept[-1:]
        elif name not in ("", "."):
            kept.append(name)
    return "/" + "/".join(kept)


def is_plain(path: str) -> bool:
    """Whether text alone tells where a path leads: `..` behind a link leads elsewhere."""
    return ".." not in path.split("/")


def is_beneath(path: str, root: str) -> bool:
    names, above = _parts(path), _parts(root)
    return names[: len(above)] == above


def permits(globs: Iterable[str], path: str, *, roots: Sequence[str], home: str = "") -> bool:
    """Whether one of the globs names exactly this path."""
    if not is_plain(path):
        return False
    for glob in globs:
        if glob.startswith(("/", "~/")):
            if _match(_parts(_at_home(glob, home)), _parts(path)):
                return True
        elif any(_match(_parts(glob), below) for below in _below(path, roots)):
            return True
    return False


def restricts(globs: Iterable[str], path: str, *, roots: Sequence[str], home: str = "") -> bool:
    """Whether one of the globs may mean this path."""
    path = absolute(path, "/").casefold()
    roots = [root.casefold() for root in roots]
    for glob in globs:
        folded = _at_home(glob, home).casefold()
        if "/" not in folded:
            folded = f"**/{folded}"
        if folded.startswith(("/", "**/")) and _match(_parts(folded), _parts(path)):
            return True
        if not folded.startswith("/") and any(_match(_parts(folded), below) for below in _below(path, roots)):
            return True
    return False


def _at_home(glob: str, home: str) -> str:
    return home + glob[1:] if home and glob.startswith("~/") else glob


def _below(path: str, roots: Sequence[str]) -> Iterable[Parts]:
    names = _parts(path)
    for root in roots:
        above = _parts(root)
        if names[: len(above)] == above:
            yield names[len(above) :]


def _parts(path: str) -> Parts:
    # Two spellings of one letter are one name to some file systems.
    composed = unicodedata.normalize("NFC", path)
    return tuple(name for name in composed.split("/") if name not in ("", "."))


def _match(wanted: Parts, names: Parts) -> bool:
    """Whether names match a glob's parts; `**` stands for any number of them, none included."""
    reached = {0}  # how many parts of the glob may be used up
    reached = _skip(wanted, reached)
    for name in names:
        forward: set[int] = set()
        for at in reached:
            if at == len(wanted):
                continue
            if wanted[at] == "**":
                forward.add(at)
            elif fnmatchcase(name, wanted[at]):
                forward.add(at + 1)
        reached = _skip(wanted, forward)
    return len(wanted) in reached


def _skip(wanted: Parts, reached: set[int]) -> set[int]:
    grown = set(reached)
    for at in sorted(reached):
        while at < len(wanted) and wanted[at] == "**":
            at += 1
            grown.add(at)
    return grown
