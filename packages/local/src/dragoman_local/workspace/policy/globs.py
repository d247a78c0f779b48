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
from functools import lru_cache
from itertools import takewhile
from typing import Final

from dragoman_local.workspace.policy.decision import Certainty
from dragoman_local.workspace.policy.partial_words import ANY, has_unknown_part, is_known, may_be, overlap

Parts = tuple[str, ...]

_MAGIC: Final = frozenset("*?[")
_MOST_CHARACTERS: Final = 512


@lru_cache(maxsize=4096)
def absolute(path: str, base: str, *, home: str = "") -> str:
    """A path with its base before it and `.` and `..` worked out as far as text can tell."""
    if home and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    # What is not known may begin at the top of the disk.
    whole = path if path.startswith(("/", ANY)) else f"{base}/{path}"
    if not is_known(whole):
        return f"/{whole}"
    names: list[str] = []
    for name in whole.split("/"):
        if name == "..":
            del names[-1:]
        elif name not in ("", "."):
            names.append(name)
    return "/" + "/".join(names)


def literal(text: str) -> str:
    """The pattern of exactly this text."""
    return "".join(f"[{c}]" if c in _MAGIC else c for c in text)


def is_plain(path: str) -> bool:
    """Whether text alone tells where a path leads: `..` behind a link leads elsewhere."""
    return ".." not in path.split("/")


def is_beneath(path: str, root: str) -> bool:
    names, above = _parts(path), _parts(root)
    return names[: len(above)] == above


def permits(globs: Iterable[str], path: str, *, roots: Sequence[str], home: str = "") -> bool:
    """Whether one of the globs names exactly this path."""
    return is_plain(path) and any(
        _match(_parts(_at_home(glob, home)), names)
        for glob in globs
        for names in ([_parts(path)] if glob.startswith(("/", "~/")) else _below(path, roots))
    )


def restricts(globs: Iterable[str], path: str, *, roots: Sequence[str], home: str = "") -> Certainty:
    """Whether one of the globs means this path, or might."""
    wanted = [parts for glob in globs for parts in _anywhere(glob, tuple(roots), home)]
    if is_known(path):
        names = _parts(absolute(path, "/").casefold())
        return Certainty.YES if any(_match(parts, names) for parts in wanted) else Certainty.NO
    if len(path) > _MOST_CHARACTERS:
        return Certainty.PERHAPS
    names = _possible_names(path)
    is_possible = any(
        overlap(parts, names, fits=lambda glob, name: may_be(name, glob), runs=("**",)) for parts in wanted
    )
    return Certainty.PERHAPS if is_possible else Certainty.NO


def is_above(globs: Iterable[str], path: str, *, roots: Sequence[str], home: str = "") -> bool:
    """Whether a folder holds what one of the globs names, as far as it begins with plain names."""
    names = _parts(absolute(path, "/").casefold())
    places = [
        _plain_ends(parts)[0]
        for glob in globs
        if "/" in glob and not glob.startswith("**")
        for parts in _anywhere(glob, tuple(roots), home)
    ]
    return any(len(place) > len(names) and place[: len(names)] == names for place in places)


def _possible_names(path: str) -> Parts:
    """The names in a path of which only a part is known: what may hold slashes may be any number of names."""
    names: list[str] = []
    for name in path.split("/"):
        if name == "..":
            # Nobody knows how many names there were before.
            names = ["**"] if "**" in names else names[:-1]
        elif name not in ("", "."):
            names.append("**" if has_unknown_part(name) else name.casefold())
    return tuple(names)


@lru_cache(maxsize=4096)
def _anywhere(glob: str, roots: tuple[str, ...], home: str) -> Sequence[Parts]:
    """A glob as names from the top of the disk, wherever it counts from."""
    folded_glob = _at_home(glob, home).casefold()
    if "/" not in folded_glob:
        folded_glob = f"**/{folded_glob}"
    found = [_parts(folded_glob)] if folded_glob.startswith(("/", "**/")) else []
    bases = [] if folded_glob.startswith("/") else [_parts(literal(root.casefold())) for root in roots]
    return [*found, *(base + _parts(folded_glob) for base in bases)]


def _at_home(glob: str, home: str) -> str:
    return home + glob[1:] if home and glob.startswith("~/") else glob


def names_below(path: str, roots: Sequence[str]) -> Parts:
    """The names in a path: those below the root that it is in, or all of them."""
    return next(iter(_below(path, roots)), _parts(path))


def _below(path: str, roots: Sequence[str]) -> Iterable[Parts]:
    names = _parts(path)
    for root in roots:
        above = _parts(root)
        if names[: len(above)] == above:
            yield names[len(above) :]


@lru_cache(maxsize=4096)
def _parts(path: str) -> Parts:
    # Two spellings of one letter are one name to some file systems.
    normal_path = unicodedata.normalize("NFC", path)
    return tuple(name for name in normal_path.split("/") if name not in ("", "."))


def _match(glob_parts: Parts, names: Parts) -> bool:
    """Whether names match a glob's parts; `**` stands for any number of them, none included."""
    head, last = _plain_ends(glob_parts)
    if names[: len(head)] != head or (last and names[-1:] != last):
        return False  # most globs begin or end in plain names, and most paths in others
    return overlap(
        glob_parts, names, fits=lambda glob, name: fnmatchcase(name, glob), runs=("**",), is_literal=True
    )


@lru_cache(maxsize=4096)
def _plain_ends(glob_parts: Parts) -> tuple[Parts, Parts]:
    """The plain names with which a glob begins, and the one with which it ends, if it does."""
    head = tuple(takewhile(lambda name: not _MAGIC & set(name), glob_parts))
    last = glob_parts[-1:]
    return head, () if last and _MAGIC & set(last[0]) else last
