"""Matches a path with the pattern of a rule.

Pure; paths are text here and nothing is looked up. `*`, `?` and `[…]` stay within one name, `**` stands for
any number of folders. A glob that does not begin with `/` or `~/` counts from the session's roots. Permitting
and forbidding differ on purpose: a path is permitted only if it is plain, beneath a root where the glob
counts from roots, and spelled alike; it is forbidden whatever its case, and `**/name` or a bare `name` is
forbidden everywhere on the disk.

A command line says `$NAME`, `$(…)`, `*` or `{a,b}`, and the shell puts something else there. Three characters
of the private range stand for what is not known, so that such a word is still text:

    ANY    any text at all, several words and slashes included: a variable, a substitution, braces
    RUN    any part of one file name: the shell's `*`
    ONE    one character of a file name: the shell's `?` and `[…]`

`may_be` says whether a word might be what a pattern of a rule names. It errs on the side of yes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import accumulate, takewhile
from operator import and_, or_
from typing import Final

from dragoman_local.workspace.policy.decision import Certainty

ANY: Final = "\ue000"
RUN: Final = "\ue001"
ONE: Final = "\ue002"

_MARKS: Final = frozenset((ANY, RUN, ONE))

MOST_CHARACTERS: Final = 1024
"""The most characters of a word to compare; a longer one may be anything, because the work is the product of
both lengths.
"""


def is_known(text: str) -> bool:
    """Whether no part of a text is open."""
    return text.isascii() or not (ANY in text or RUN in text or ONE in text)


def has_unknown_part(text: str) -> bool:
    return ANY in text


def without_marks(text: str) -> str:
    """Return a text of another author, in which our marks have no meaning."""
    return text if text.isascii() else text.translate(dict.fromkeys(map(ord, _MARKS), ANY))


def may_be(word: str, pattern: str) -> bool:
    """Whether a word may match a pattern (`*`, `?`, `[…]`), ignoring case."""
    # The shell's patterns leave out names that begin with a dot.
    if word[:1] in (RUN, ONE) and pattern[:1] == ".":
        return False
    if len(word) > MOST_CHARACTERS or len(pattern) > MOST_CHARACTERS:
        return True
    return overlap(
        _pattern_parts(pattern.casefold()),
        word.casefold(),
        fits=lambda first, second: ONE in (first, second) or first == second,
        runs=(ANY, RUN),
    )


@lru_cache(maxsize=1024)
def _pattern_parts(pattern: str) -> tuple[str, ...]:
    """A pattern with our marks in the place of its own; a set of characters may be any of them."""
    return tuple(
        {"*": RUN, "?": ONE}.get(one, one) if one else inside if len(inside) == 1 else ONE
        for inside, one in re.findall(r"\[(.[^]]*)\]|(.)", pattern, re.DOTALL)
    )


def overlap(
    first: Sequence[str],
    second: Sequence[str],
    *,
    fits: Callable[[str, str], bool],
    runs: Container[str],
    is_literal: bool = False,
) -> bool:
    """Whether a text can fit two patterns at once. A part in `runs` stands for any number of parts, even
    none; with `is_literal`, only in the first.
    """
    stars = [not is_literal and part in runs for part in second]
    # Whether the parts of `first` up to here fit none, one, two, … and all parts of `second`.
    reached: list[bool] = [True, *accumulate(stars, and_)]
    for part in first:
        if part in runs:
            reached = [*accumulate(reached, or_)]
            continue
        before, reached = reached, [False]
        for at, other in enumerate(second):
            # A star of `second` may take this part, too, or match nothing.
            fits_star = stars[at] and (before[at + 1] or reached[at])
            reached.append(fits_star or (before[at] and not stars[at] and fits(part, other)))
        if not any(reached):
            return False
    return reached[-1]


Parts = tuple[str, ...]

_MAGIC: Final = frozenset("*?[")
_MOST_CHARACTERS: Final = 512


@lru_cache(maxsize=4096)
def absolute(path: str, base: str, *, home: str = "") -> str:
    """Return a path with its base, and `.` and `..` resolved as far as text allows."""
    if home and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    # What is not known may begin at the top of the disk.
    whole = path if path.startswith(("/", ANY)) else f"{base}/{path}"
    return "/" + ("/".join(_resolved(whole)) if is_known(whole) else whole)


def _resolved(path: str) -> Parts:
    """The names in a path, with `.` and `..` resolved as far as text allows. A name with an unknown part is
    `ANY`: there may be slashes in it.
    """
    names: Parts = ()
    for name in path.split("/"):
        if name == "..":
            # Nobody knows how many names an unknown part stands for.
            names = (ANY,) if ANY in names else names[:-1]
        elif name not in ("", "."):
            names += (ANY if has_unknown_part(name) else name,)
    return names


def literal(text: str) -> str:
    """Return the pattern of exactly this text."""
    return "".join(f"[{c}]" if c in _MAGIC else c for c in text)


def is_plain(path: str) -> bool:
    """Whether text alone shows where a path leads: `..` after a link leads elsewhere."""
    return ".." not in path.split("/")


def is_beneath(path: str, root: str) -> bool:
    names, above = _parts(path), _parts(root)
    return names[: len(above)] == above


def permits(globs: Iterable[str], path: str, *, roots: Sequence[str], home: str = "") -> bool:
    """Whether one of the globs matches exactly this path."""
    return is_plain(path) and any(
        _match(_parts(_at_home(glob, home)), names)
        for glob in globs
        for names in ([_parts(path)] if glob.startswith(("/", "~/")) else _below(path, roots))
    )


def restricts(
    globs: Iterable[str], paths: Iterable[str], *, roots: Sequence[str], home: str = ""
) -> Certainty:
    """Whether one of the globs matches, or may match, one of these paths."""
    wanted = _anywhere(tuple(globs), tuple(roots), home)
    certainty = Certainty.NO
    for path in paths:
        if is_known(path):
            names = _parts(absolute(path, "/").casefold())
            if any(_match(parts, names) for parts in wanted):
                return Certainty.YES
        elif any(
            len(path) > _MOST_CHARACTERS
            or overlap(
                parts,
                # Some programs read `**` as any folders themselves.
                _resolved(re.sub(r"(?<![^/])\*\*(?![^/])", ANY, path.casefold())),
                fits=lambda glob, name: may_be(name, glob),
                runs=("**", ANY),
            )
            for parts in wanted
        ):
            certainty = Certainty.PERHAPS
    return certainty


def is_above(globs: Iterable[str], path: str, *, roots: Sequence[str], home: str = "") -> bool:
    """Whether a folder contains paths of the globs, as far as these begin with plain names."""
    names = _parts(absolute(path, "/").casefold())
    wanted = tuple(glob for glob in globs if "/" in glob and not glob.startswith("**"))
    places = [_plain_ends(parts)[0] for parts in _anywhere(wanted, tuple(roots), home)]
    return any(len(place) > len(names) and place[: len(names)] == names for place in places)


@lru_cache(maxsize=256)
def _anywhere(globs: tuple[str, ...], roots: tuple[str, ...], home: str) -> Sequence[Parts]:
    """Globs as names from the top of the disk, wherever they count from."""
    folded_globs = [_at_home(glob, home).casefold() for glob in globs]
    places = [glob if "/" in glob else f"**/{glob}" for glob in folded_globs]
    found = [_parts(place) for place in places if place.startswith(("/", "**/"))]
    bases = [_parts(literal(root.casefold())) for root in roots]
    return [*found, *(base + _parts(place) for place in places if place[0] != "/" for base in bases)]


def _at_home(glob: str, home: str) -> str:
    return home + glob[1:] if home and glob.startswith("~/") else glob


def names_below(path: str, roots: Sequence[str]) -> Parts:
    """Return the names in a path: those below its root, or all of them."""
    return next(iter(_below(path, roots)), _parts(path))


def _below(path: str, roots: Sequence[str]) -> Iterable[Parts]:
    return (_parts(path)[len(_parts(root)) :] for root in roots if is_beneath(path, root))


@lru_cache(maxsize=4096)
def _parts(path: str) -> Parts:
    # Two spellings of one letter are one name to some file systems.
    return tuple(name for name in (unicodedata.normalize("NFC", path).split("/")) if name not in ("", "."))


def _match(glob_parts: Parts, names: Parts) -> bool:
    """Whether names match a glob's parts; `**` stands for any number of them, none included."""
    head, last = _plain_ends(glob_parts)
    # Most globs begin or end in plain names, and most paths in others.
    may_match = names[: len(head)] == head and (not last or names[-1:] == last)
    return may_match and overlap(
        glob_parts, names, fits=lambda glob, name: fnmatchcase(name, glob), runs=("**",), is_literal=True
    )


@lru_cache(maxsize=4096)
def _plain_ends(glob_parts: Parts) -> tuple[Parts, Parts]:
    """The plain names with which a glob begins, and the one with which it ends, if it does."""
    head = tuple(takewhile(lambda name: not _MAGIC & set(name), glob_parts))
    last = glob_parts[-1:]
    return head, () if last and _MAGIC & set(last[0]) else last
