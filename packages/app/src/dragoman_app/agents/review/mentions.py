"""Finds paths and pieces of code in a prompt. Pure.

A path is what stands behind `@` or between backticks or quotes, what looks like one (`src/app.py`, `app.py`,
`./src`), and a `file:` address. It may carry lines: `app.py:10-20`, `app.py#L10`.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

_WRAPPED = re.compile(r"@?`([^`\n]+)`|@?\"([^\"\n]+)\"|(?<!\w)@?'([^'\n]+)'(?!\w)")
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")
_WORD = re.compile(r"[^\s,;()<>]+")
_SUFFIX = re.compile(r"[\w\])-]\.[A-Za-z][\w+-]{0,9}(?:(?::\d[\d:-]*)|(?:#L\d[\w:-]*))?$")
_LINES = re.compile(r"^(?P<path>.*?)(?::(?P<a>\d+)(?:[-:](?P<b>\d+))?|#L(?P<c>\d+)(?:[-:]L?(?P<d>\d+))?)$")
_FENCE = re.compile(
    r"^[ \t]*(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^\n`]*)\n(?P<code>.*?)^[ \t]*(?P=mark)", re.M | re.S
)
_NO_PATHS = frozenset(
    {"and/or", "w/o", "n/a", "i/o", "yes/no", "ci/cd", "read/write", "e.g", "i.e", "node.js"}
)
_BARE = re.compile(r"[A-Za-z_][\w-]*")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        """
    a about against all also an and any are as at be before branch bug bugs can change changed changes
    check code commit could diff do error errors everything feedback file files find fix folder for from
    give go good has have i if in index inspect into is issue issues it last latest lint look me
    mistakes my not of on only or our out over please problem problems project quality repo repository
    review scan secrets security see should some staged style tell that the them then there these this
    those thoroughly through to uncommitted up vs we what whole with work working wrong you your
    """,
    )
)
"""Words that are never meant as a name by themselves; `review the "test" folder` says that one is."""

_LANGUAGES = {
    "py": ("python", "py"),
    "js": ("javascript", "js", "node"),
    "ts": ("typescript", "ts"),
    "rs": ("rust", "rs"),
    "kt": ("kotlin", "kt"),
    "cpp": ("cpp", "c++"),
    "cs": ("csharp", "cs", "c#"),
    "rb": ("ruby", "rb"),
    "sh": ("bash", "sh", "shell", "zsh", "console"),
    "yaml": ("yaml", "yml"),
}
_SUFFIXES = {name: suffix for suffix, names in _LANGUAGES.items() for name in names}
_SAME = frozenset(
    {"jsx", "tsx", "go", "java", "c", "php", "sql", "json", "toml", "html", "css", "swift", "lua"}
)
"""Languages that are called as their files end."""


class Mention(NamedTuple):
    """A path as written, with its first and last line."""

    path: str
    lines: tuple[int, int] | None = None


class Snippet(NamedTuple):
    """Code in the prompt itself."""

    name: str
    text: str


def drop_unprintable(text: str) -> str:
    """Return the text without characters that can't be in a path: NUL, and lone surrogates."""
    return _NOT_TEXT.sub(" ", text)


def find_mentions(text: str) -> tuple[str, ...]:
    """Return everything that is surely a path, in order, each once."""
    paths: list[str] = []

    def take(match: re.Match[str]) -> str:
        inner = next(group for group in match.groups() if group is not None)
        if not _looks(inner.strip()) and "@" not in match[0][:1]:
            return inner  # a quoted word is only a guess
        paths.append(inner.strip())
        return " "

    rest = _WRAPPED.sub(take, text)
    paths += [_bare(word) for word in _WORD.findall(rest) if is_path(word)]
    return tuple(dict.fromkeys(path for path in paths if path))


def guesses(text: str) -> tuple[str, ...]:
    """Return bare words that may be the names of files or folders, such as `src` and `Makefile`."""
    quoted_words = [next(group for group in match.groups() if group) for match in _WRAPPED.finditer(text)]
    words = [word for word in map(_bare, _WORD.findall(_WRAPPED.sub(" ", text))) if _BARE.fullmatch(word)]
    candidates = [*(word for word in quoted_words if not _looks(word)), *words]
    return tuple(
        dict.fromkeys(word for word in candidates if word in quoted_words or word.lower() not in _COMMON)
    )


def is_path(word: str) -> bool:
    """Whether a word is surely a path."""
    return (word.startswith("@") and len(word) > 1) or _looks(_bare(word))


def split_lines(path: str) -> Mention:
    """Split the line numbers from a path."""
    match = _LINES.match(path)
    if match is None or not match["path"]:
        return Mention(path)
    first = int(match["a"] or match["c"])
    return Mention(match["path"], (first, max(first, int(match["b"] or match["d"] or first))))


def path_of(uri: str) -> Mention | None:
    """Return the path in a `file:` address, or a plain path; None for any other address."""
    uri = drop_unprintable(uri)
    try:
        parts = urlsplit(uri)
    except ValueError:  # such as brackets that hold no address
        return None
    if parts.scheme == "file":
        path = drop_unprintable(unquote(parts.path))
        if re.match(r"/[A-Za-z]:", path):  # a drive of Windows
            path = path[1:]
        return split_lines(f"{path}#{parts.fragment}") if parts.fragment.startswith("L") else Mention(path)
    if "://" in uri or (parts.scheme and len(parts.scheme) > 1):
        return None
    return split_lines(uri)


def snippets(text: str) -> tuple[str, tuple[Snippet, ...]]:
    """Return the text without its fenced code, and that code."""
    pieces: list[Snippet] = []

    def take(match: re.Match[str]) -> str:
        language = match["info"].strip().lower().partition(" ")[0]
        suffix = _SUFFIXES.get(language) or (language if language in _SAME else "txt")
        pieces.append(Snippet(f"snippet-{len(pieces) + 1}.{suffix}", match["code"]))
        return " "

    return _FENCE.sub(take, text), tuple(pieces)


def _looks(word: str) -> bool:
    if not word or word.lower() in _NO_PATHS or word.isdigit():
        return False
    if word.startswith("file://"):
        return True
    if "://" in word or word.startswith("-"):
        return False
    if "/" in word:
        return word.strip("/") != ""
    return _SUFFIX.search(word) is not None


def _bare(word: str) -> str:
    word = word.strip("`'\"*").rstrip(".,:;!?…").removeprefix("@")
    return path.path if word.startswith("file://") and (path := path_of(word)) else word
