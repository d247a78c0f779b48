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
from itertools import takewhile
from typing import Final

from dragoman.workspace.policy.decision import Certainty
from dragoman.workspace.policy.partial_words import ANY, has_unknown_part, is_known, may_be

Parts = tuple[str, ...]

_MAGIC: Final = frozenset("*?[")
_MOST_CHARACTERS: Final = 4096
_MOST_READINGS: Final = 8
"""In how many ways a path of which only parts are known is read; beyond that it may be anything."""


def absolute(path: str, base: str, *, home: str = "") -> str:
    """A path with its base before it and `.` and `..` worked out as far as text can tell."""
    if home and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    # What is not known may begin at the top of the disk.
    whole = path if path.startswith(("/", ANY)) else f"{base}/{path}"
    if not is_known(whole):
        return f"/{whole}"
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


def restricts(globs: Iterable[str], path: str, *, roots: Sequence[str], home: str = "") -> Certainty:
    """Whether one of the globs means this path, or might."""
    if is_known(path):
        found = _restricts_known(globs, path, roots=roots, home=home)
        return Certainty.YES if found else Certainty.NO
    if len(path) > _MOST_CHARACTERS:
        return Certainty.PERHAPS
    names = _possible_names(path)
    for glob in globs:
        for wanted in _anywhere(_at_home(glob, home), roots):
            if any(_meet(wanted, name) for name in names):
                return Certainty.PERHAPS
    return Certainty.NO


def is_above(globs: Iterable[str], path: str, *, roots: Sequence[str], home: str = "") -> bool:
    """Whether a folder holds what one of the globs names, as far as it begins with plain names."""
    names = _parts(absolute(path, "/").casefold())
    for glob in globs:
        if "/" not in glob or glob.startswith("**"):
            continue
        for wanted in _anywhere(_at_home(glob, home), roots):
            plain = tuple(takewhile(lambda name: not _MAGIC & set(name), wanted))
            if len(plain) > len(names) and plain[: len(names)] == names:
                return True
    return False


def _possible_names(path: str) -> Sequence[Parts]:
    """The names in a path of which only a part is known: what may hold slashes may be several names."""
    kept: list[str] = []
    for name in path.split("/"):
        if name == "..":
            # Nobody knows how many names there were before.
            kept = ["**"] if any(has_unknown_part(each) or each == "**" for each in kept) else kept[:-1]
        elif name not in ("", "."):
            kept.append(name.casefold())
    found: list[Parts] = [()]
    for name in kept:
        if name == ANY or (has_unknown_part(name) and len(found) > _MOST_READINGS):
            ways: Sequence[Parts] = [("**",)]
        elif has_unknown_part(name):
            head, _, tail = name.partition(ANY)
            ways = [(name,), (head + ANY, "**", ANY + tail)]
        else:
            ways = [(name,)]
        found = [before + way for before in found for way in ways]
    return found


def _anywhere(glob: str, roots: Sequence[str]) -> Iterable[Parts]:
    """A glob as names from the top of the disk, wherever it counts from."""
    folded = glob.casefold()
    if "/" not in folded:
        folded = f"**/{folded}"
    if folded.startswith(("/", "**/")):
        yield _parts(folded)
    if not folded.startswith("/"):
        for root in roots:
            plain = "".join(f"[{c}]" if c in "*?[" else c for c in root.casefold())
            yield _parts(plain) + _parts(folded)


def _meet(one: Parts, other: Parts) -> bool:
    """Whether some path fits two rows of names, in both of which `**` stands for any number of them."""
    reached = {(0, 0)}
    while reached:
        if (len(one), len(other)) in reached:
            return True
        forward: set[tuple[int, int]] = set()
        for at, to in reached:
            mine = one[at] if at < len(one) else None
            theirs = other[to] if to < len(other) else None
            if mine == "**":
                forward.add((at + 1, to))
                forward.update([(at, to + 1)] if theirs is not None else [])
            if theirs == "**":
                forward.add((at, to + 1))
                forward.update([(at + 1, to)] if mine is not None else [])
            if (
                mine is not None
                and theirs is not None
                and "**" not in (mine, theirs)
                and may_be(theirs, mine)
            ):
                forward.add((at + 1, to + 1))
        reached = forward
    return False


def _restricts_known(globs: Iterable[str], path: str, *, roots: Sequence[str], home: str) -> bool:
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
