"""Reads a tool's input: the contents that files would have after the call, and the paths in its texts.

Pure. An agent shows a change in one or more ways: as a diff, as the whole new text, as old and new strings,
as a unified diff. Each way is a source. A person who says yes agrees to one result: `result_of` gives the
text on which all sources agree, applied to the file as it is. Where they differ, or one cannot be applied,
there is no such text, and the write is asked again. `_meta` is never looked at.

An agent calls the members of its input as it likes, so a list of names can never be whole. What stands under
a name that tells what it is, is understood. Every other text may be a place or a command: no rule for paths
allows it, and rules that deny compare every path that could be read in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

from msgspec import UNSET, Struct
from msgspec.structs import replace

from dragoman.schema import v1
from dragoman_local.workspace.policy.globs import ANY, ONE, RUN, absolute, is_plain, without_marks

PLACE_KEYS: Final = (
    *("path", "file_path", "filePath", "filepath", "filename", "file", "target_file"),
    *("abs_path", "absolute_path", "notebook_path"),
)
WHOLE_KEYS: Final = ("content", "newText", "new_text", "file_text", "new_source")
OLD_KEYS: Final = ("old_string", "oldString", "old_str", "oldText", "old_text")
NEW_KEYS: Final = ("new_string", "newString", "new_str", "newText", "new_text")
PATCH_KEYS: Final = ("diff", "patch", "unified_diff")
EVERYWHERE_KEYS: Final = ("replace_all", "replaceAll")
TEXT_KEYS: Final = frozenset((*WHOLE_KEYS, *OLD_KEYS, *NEW_KEYS))
CHANGE_KEYS: Final = (*TEXT_KEYS, *PATCH_KEYS, *EVERYWHERE_KEYS, "edits")

_HUNK: Final = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


class FileChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change of one file, from one source. Without a new text or a patch, it is unknown."""

    path: str
    source: str = ""
    new: str | None = None
    old: str | None = None
    """The text that `new` replaces: a part of the file, or all of it. None: `new` is the whole file."""
    patch: str | None = None
    everywhere: bool = False
    """Whether every place with the old text changes."""


def changes_in(call: v1.ToolCallUpdate) -> tuple[FileChange, ...]:
    """Return every change in a call."""
    content: Sequence[Any] = call.content if isinstance(call.content, list) else ()
    shown = [
        FileChange(
            path=item.path,
            source="diff",
            new=item.new_text,
            old=item.old_text if isinstance(item.old_text, str) and item.old_text else None,
        )
        for item in content
        if isinstance(item, v1.Diff)
    ]
    return (*shown, *_in_input(call.raw_input))


def texts_of(changes: Sequence[FileChange], remarks: Iterable[str] = ()) -> tuple[v1.Diff, ...]:
    """Return every text, with its earlier version if known; a remark belongs to no file."""
    whole = [change for change in changes if change.source in ("diff", "write")]
    shown = [
        v1.Diff(path=change.path, new_text=change.new, old_text=UNSET if change.old is None else change.old)
        for change in whole or [replace(change, old=None) for change in changes]
        if change.new is not None
    ]
    return (*shown, *(v1.Diff(path="", new_text=text) for text in remarks))


def result_of(changes: Sequence[FileChange], before: str | None) -> str | None:
    """Return the text of a file after its changes; None if they contradict each other. `before` is the
    current file, None if it does not exist or is unknown.
    """
    results = set()
    for source in dict.fromkeys(change.source for change in changes):
        text = before
        own = list(dict.fromkeys(change for change in changes if change.source == source))
        if len(own) > 1 and any(change.old is None and change.patch is None for change in own):
            return None  # beside a whole text, any other is another result
        for change in own:
            text = _apply(change, text)
            if text is None:
                return None
        results.add(text)
    return results.pop() if len(results) == 1 else None


def _apply(change: FileChange, text: str | None) -> str | None:
    if change.patch is not None:
        return apply_patch(change.patch, text or "")
    if change.old is None or change.old == text:
        return change.new
    if text is None:
        return change.new if change.source == "diff" else None
    found = text.count(change.old)
    return (
        text.replace(change.old, change.new or "")
        if (found == 1 or (found > 1 and change.everywhere))
        else None
    )


def apply_patch(patch: str, text: str) -> str | None:
    """Return a text after its unified diff; None if the diff does not fit."""
    lines = text.splitlines(keepends=True)
    result: list[str] = []
    at = 0
    hunks = _hunks(patch)
    for first, removed, added in hunks:
        start = first - 1 if removed else first
        if start < at or lines[start : start + len(removed)] != removed:
            return None
        result += [*lines[at:start], *added]
        at = start + len(removed)
    return "".join([*result, *lines[at:]]) if hunks else None


def _hunks(patch: str) -> list[tuple[int, list[str], list[str]]]:
    """The line at which each hunk begins, what it removes there, and what it puts in its place."""
    hunks: list[tuple[int, list[str], list[str]]] = []
    last: tuple[list[str], ...] = ()
    for line in patch.splitlines(keepends=True):
        if match := _HUNK.match(line):
            hunks.append((int(match[1]), [], []))
            last = ()
        elif hunks and line.startswith("\\"):  # "\ No newline at end of file"
            for side in last:
                side[-1] = side[-1].removesuffix("\n")
        elif hunks:
            _, removed, added = hunks[-1]
            last = {"-": (removed,), "+": (added,)}.get(line[:1], (removed, added))
            body = line[1:] if line[:1] in "-+ " and line.strip("\n") else line
            for side in last:
                side.append(body if body.endswith("\n") else f"{body}\n")
    return hunks


def _in_input(raw: object) -> list[FileChange]:
    if not isinstance(raw, Mapping) or (path := _text(raw, PLACE_KEYS)) is None:
        return []
    parts = [raw, *(edits if isinstance(edits := raw.get("edits"), list) else ())]
    return [change for part in parts if isinstance(part, Mapping) for change in _in_part(path, part)]


def _in_part(path: str, part: Mapping[Any, Any]) -> Iterator[FileChange]:
    old, new = _text(part, OLD_KEYS), _text(part, NEW_KEYS)
    if old is not None and new is not None:
        everywhere = any(part.get(key) is True for key in EVERYWHERE_KEYS)
        yield FileChange(path=path, source="strings", old=old or None, new=new, everywhere=everywhere)
    elif (whole := _text(part, (*WHOLE_KEYS, *NEW_KEYS))) is not None:
        yield FileChange(path=path, source="text", new=whole)
    if (patch := _text(part, PATCH_KEYS)) is not None:
        yield FileChange(path=path, source="patch", patch=patch)


def _text(fields: Mapping[Any, Any], keys: Sequence[str]) -> str | None:
    return next((fields[key] for key in keys if isinstance(fields.get(key), str)), None)


def remarks_in(call: v1.ToolCallUpdate) -> list[str]:
    """Return the agent's remarks about a call, as plain text."""
    return [
        item.content.text
        for item in (call.content if isinstance(call.content, list) else ())
        if isinstance(item, v1.Content) and isinstance(item.content, v1.TextContent)
    ]


PATH_LISTS: Final = ("paths", "file_paths", "files")
COMMAND_KEYS: Final = ("command", "cmd")
VARIABLE_KEYS: Final = ("env", "environment", "variables")
FOLDER_KEYS: Final = ("cwd", "workdir", "working_directory", "directory", "dir_path")

_PROSE_KEYS: Final = frozenset(
    (
        *("description", "reason", "explanation", "prompt", "query", "pattern", "regex", "message", "title"),
        *("call_id", "turn_id", "subagent_type", "language", "model", "todos", "plan", "type"),
        *("parsed_cmd", "proposed_execpolicy_amendment", "available_decisions"),
    )
)
"""Members whose texts are neither a place nor a command that is carried out."""

_CONTENT_KEYS: Final = frozenset(CHANGE_KEYS) - {"edits"}
"""Members whose texts are what files would hold."""

_KNOWN_KEYS: Final = frozenset((*PLACE_KEYS, *PATH_LISTS, *COMMAND_KEYS))
_KNOWN_OF_COMMANDS: Final = _KNOWN_KEYS | {"args", *VARIABLE_KEYS}

MOST_TEXTS: Final = 256
MOST_CHARACTERS: Final = 65_536
"""The most unknown texts to keep, and the most characters of them."""

MOST_EARLIER: Final = 8
"""The most replaced values of one member; above it, only the fact of a replacement is kept."""

MOST_PLACES: Final = 300
"""The most paths of one act to compare with rules; in an act with more, any might match."""

LONGEST_PATH: Final = 4096
"""The most characters of a path: no system opens a longer one."""

_DEEPEST: Final = 32

_HOMES: Final = ("~", "$HOME", "${HOME}")
_PLACES: Final = ("/", "./", "../", *(f"{home}/" for home in _HOMES))
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/]*(/.*)", re.DOTALL)
_PIECES: Final = re.compile(r"[\s\"'`,;|<>(){}=\0]+")
_BEHIND: Final = re.compile(r"[:#?]")
"""What stands before a line number, or a part of what the path names."""
_IN_PATHS: Final = re.compile(r"[/\\.~]")
_IN_PLACES: Final = re.compile(r"[/\\.~$]")
_PATTERN: Final = re.compile(r"\*\*|\*|\?|\[[^\]/]+\]")
_PATCHED: Final = re.compile(
    r"^(?:\+\+\+|---|Index:|\*\*\* (?:Update|Add|Delete) File:|\*\*\* Move to:|rename (?:from|to)) (.+)$",
    re.MULTILINE,
)
_KERNEL_FOLDERS: Final = ("/proc/", "/dev/fd/", "/dev/fd", "//")
_MARKS: Final = {"**": ANY, "*": RUN, "?": ONE}


def bounded(texts: Iterable[str | None]) -> tuple[list[str], bool]:
    """Return the texts up to the limit, and whether those are all; None is an unreadable one."""
    kept: list[str] = []
    left = MOST_CHARACTERS
    for text in texts:
        if text is None or len(kept) == MOST_TEXTS or len(text) > left:
            return kept, False
        kept.append(text)
        left -= len(text)
    return kept, True


def unknown_texts(raw: object) -> Iterator[str | None]:
    """Return every text of an input under a name of unknown meaning, with names of files; None if it is
    nested too deep.
    """
    return (text for text, is_prose in _texts_in(raw) if not is_prose)


def prose_in(raw: object) -> Iterator[str]:
    """Return texts that run nothing, but may name the target."""
    return (text for text, is_prose in _texts_in(raw) if is_prose and text is not None)


def _texts_in(raw: object) -> Iterator[tuple[str | None, bool]]:
    """Each text that no other reader takes, and whether its name means prose."""
    # Arguments and variables say something where there is a command for them; else they may be anything.
    runs = isinstance(raw, Mapping) and any(key in raw for key in COMMAND_KEYS)
    known = _KNOWN_OF_COMMANDS if runs else _KNOWN_KEYS
    waiting: list[tuple[object, int, bool]] = [(raw, 0, False)]
    while waiting:
        value, depth, is_prose = waiting.pop()
        if isinstance(value, str):
            if value:
                yield value, is_prose
        elif depth > _DEEPEST:
            yield None, False
        elif isinstance(value, Mapping):
            waiting += [
                (key, depth + 1, is_prose) for key in value if isinstance(key, str) and _IN_PATHS.search(key)
            ]
            waiting += [
                (item, depth + 1, is_prose or key in _PROSE_KEYS)
                for key, item in value.items()
                if key not in _CONTENT_KEYS
                and not (
                    depth == 0
                    and key in known
                    and (
                        isinstance(item, str)
                        or key in VARIABLE_KEYS
                        or (isinstance(item, list) and all(isinstance(each, str) for each in item))
                    )
                )
            ]
        elif isinstance(value, list):
            waiting += [(item, depth + 1, is_prose) for item in value]


def merge_inputs(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return the current input of a tool: later members replace earlier ones. An earlier text that a later
    one does not continue is kept under its own name, so that an agent can't take anything back.
    """
    merged = {**before, **after}
    for name in before.keys() & after.keys():
        if not _continues(before[name], after[name]):
            earlier = before.get(f"{name} (said before)")
            texts = [before[name], *(earlier if isinstance(earlier, list) else ())]
            merged[f"{name} (said before)"] = texts[:MOST_EARLIER]
    return merged


def _continues(before: object, after: object) -> bool:
    """Whether a value is an earlier one, as far as that had come; numbers and the like carry nothing out."""
    if isinstance(before, str):
        return isinstance(after, str) and after.startswith(before)
    if isinstance(before, Mapping):
        return isinstance(after, Mapping) and all(
            name in after and _continues(value, after[name]) for name, value in before.items()
        )
    if isinstance(before, list):
        return isinstance(after, list) and len(before) <= len(after) and all(map(_continues, before, after))
    return True


def patched_paths(raw: Mapping[Any, Any]) -> Iterator[str]:
    """Return the files in a patch of the input."""
    for key in PATCH_KEYS:
        patch = raw.get(key)
        for match in _PATCHED.finditer(patch) if isinstance(patch, str) else ():
            path = match[1].split("\t")[0].strip()
            if path != "/dev/null":
                yield path[2:] if path.startswith(("a/", "b/")) else path


def is_odd(path: str) -> bool:
    """Whether a program may read the path as a different one."""
    return (
        path.strip() != path
        or path[:1] in "\"'@"
        or any(sign in path for sign in "\\*?\n\0")
        or ("," in path and re.search(r",\s*[/~.$]", path) is not None)
        or (_ADDRESS.match(path) is not None and not path.lower().startswith("file://"))
        or path.startswith(_KERNEL_FOLDERS)
    )


def is_address(text: str) -> bool:
    """Whether a text is a network address."""
    return re.match(r"\s*(?:https?|wss?|ftps?|s3|gs|ssh|git)://", text, re.IGNORECASE) is not None


def is_place(text: str) -> bool:
    """Whether a text is almost surely a path."""
    return (
        (text.startswith(_PLACES) or text[:7].lower() == "file://")
        and len(text) <= LONGEST_PATH
        and "\n" not in text
    )


def canonical_paths(paths: Iterable[str], base: str, home: str) -> tuple[str, ...]:
    """Return absolute paths as spelled on the disk."""
    whole = [_canonical(path, home) for path in paths if path]
    whole = [path if path.startswith("/") else f"{base}/{path}" for path in whole]
    # A path that needs no thought is brought into one spelling; `..` is left for the rules to see.
    return tuple(dict.fromkeys(absolute(path, "/") if is_plain(path) else path for path in whole))


def possible_places(texts: Sequence[str], prose: Sequence[str], *, base: str, home: str) -> tuple[str, ...]:
    """Return every path that these texts may contain, with marks for open parts of a pattern. In prose only
    texts in the form of a path count.
    """
    found: dict[str, None] = {}
    pieces = [piece for text in texts for piece in _pieces(text)]
    prose_pieces = [piece for text in prose for piece in _pieces(text)]
    pieces += [piece for piece in prose_pieces if _IN_PLACES.search(piece.rstrip(".,:;!?"))]
    for piece in dict.fromkeys(pieces):
        for reading in _readings(piece, home):
            if len(found) >= MOST_PLACES:
                return (*found, f"/{ANY}")
            found[absolute(reading, base)] = None
    return tuple(found)


def _canonical(path: str, home: str) -> str:
    """Agents also write `file:///x`, `~/x` and `$HOME/x`."""
    if path[:7].lower() == "file://":
        rest = unquote(path[7:])
        path = rest if rest.startswith("/") else f"/{rest.partition('/')[2]}"
    for spelling in _HOMES:
        if home and (path == spelling or path.startswith(f"{spelling}/")):
            return home + path[len(spelling) :]
    return path


def _pieces(text: str) -> Iterator[str]:
    text = text[:LONGEST_PATH]
    yield from dict.fromkeys(filter(None, (text.strip(), *_PIECES.split(text))))


def _readings(piece: str, home: str) -> Iterator[str]:
    """Possible meanings of a piece of text for a program. Most pieces are a plain word."""
    if piece.isalnum():
        yield piece
        return
    piece = without_marks(piece).strip(" \t\"'`").lstrip("@").rstrip(".,:;!?")
    address = _ADDRESS.match(piece)
    for spelling in dict.fromkeys((piece, piece.strip("[]"), address[1] if address else piece)):
        for plain in dict.fromkeys((spelling, unquote(spelling).replace("\\", "/"))):
            plain = _canonical(plain, home)
            if plain.startswith(_KERNEL_FOLDERS):
                yield ANY  # a process's own view of the disk
                continue
            yield plain
            yield from _BEHIND.split(plain, 1)[:1]
            if _PATTERN.search(plain):
                yield _PATTERN.sub(lambda match: _MARKS.get(match[0], ONE), plain)
