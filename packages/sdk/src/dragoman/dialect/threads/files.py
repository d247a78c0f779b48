"""Translates an agent's file requests both ways: text, bytes, whether a file exists, and which files match.

    readTextFile     ↔  fs/read_text_file          its lines count from 0 here, from 1 in v1
    readBinaryFile   ↔  _dragoman/fs/read_range
    stat             ↔  _dragoman/fs/stat
    globSearch       ↔  _dragoman/fs/glob

The last three are our own methods, because v1 has none (docs/workspace.md). Each function gives None for
what makes no sense.
"""

from __future__ import annotations

import hashlib

from dragoman.dialect.message import Json, Object, as_object, as_text
from dragoman.dialect.threads.content import Note
from dragoman.dialect.threads.ledger_notes import Lost, RepairNotes

IN_V1 = {
    "readTextFile": "fs/read_text_file",
    "readBinaryFile": "_dragoman/fs/read_range",
    "stat": "_dragoman/fs/stat",
    "globSearch": "_dragoman/fs/glob",
}
IN_THREADS = {method: name for name, method in IN_V1.items()}

WINDOWS = {
    "readTextFile": (("lineOffset", "line", 1), ("lineLimit", "limit", 0)),
    "readBinaryFile": (("byteOffset", "offset", 0), ("byteLimit", "limit", 0)),
}
"""Fields that select a part of a file: the names here and in v1, and the first number in v1."""

EXTENSIONS = tuple(sorted(method for method in IN_THREADS if method.startswith("_")))


def wrong_params(thread: str, method: str) -> str:
    """Return the reason to refuse a request. `thread` is the thread's id as its sender knows it."""
    subject = "pattern" if method == "_dragoman/fs/glob" else "path"
    parts = "; its offset and limit are whole numbers from 0" if IN_THREADS[method] in WINDOWS else ""
    return f"Invalid params: {thread} and {subject} are strings{parts}"


def asked_in_v1(name: str, params: Json) -> Object | None:
    """Convert a threads agent's request to v1 params."""
    fields = as_object(params)
    v1_params: Object = {"sessionId": fields.get("threadId")}
    subject = "pattern" if name == "globSearch" else "path"
    v1_params[subject] = fields.get(subject)
    if not all(type(value) is str for value in v1_params.values()):
        return None
    for theirs, ours, base in WINDOWS.get(name, ()):
        count = fields.get(theirs)
        if count is None:
            continue
        if type(count) is not int or not 0 <= count < (2**32 - 1 if base else 2**53):
            return None
        v1_params[ours] = count + base
    return v1_params


def asked_in_threads(method: str, params: Json, note: Note) -> Object | None:
    """Convert a v1 agent's request to params of this dialect."""
    fields = as_object(params)
    threads_params: Object = {"threadId": fields.get("sessionId")}
    subject = "pattern" if method == "_dragoman/fs/glob" else "path"
    threads_params[subject] = fields.get(subject)
    if not all(type(value) is str for value in threads_params.values()):
        return None
    if fields.get("hidden") is True:
        note(RepairNotes.HIDDEN)
    for theirs, ours, base in WINDOWS.get(IN_THREADS[method], ()):
        count = fields.get(ours)
        if count is None:
            continue
        if type(count) is not int or count < 0:
            return None
        threads_params[theirs] = max(count - base, 0)  # v1 takes line 0 for line 1
    return threads_params


def told_in_v1(method: str, params: Json, result: Json, note: Note) -> Object | None:
    """Convert a threads client's answer for the v1 agent that sent the request."""
    request, fields = as_object(params), as_object(result)
    if method == "_dragoman/fs/stat":
        stat = {"exists": fields.get("exists"), "isDirectory": fields.get("isDirectory")}
        return stat if all(type(value) is bool for value in stat.values()) else None
    if method == "_dragoman/fs/glob":
        return _matches_in_v1(request, fields)
    content = fields.get("content")
    if type(content) is not str:
        return None
    if method == "fs/read_text_file":
        return with_version({"content": content}, fields.get("version"))
    return _range_in_v1(request, content, fields.get("version"), note)


def _matches_in_v1(report: Object, fields: Object) -> Object | None:
    matches = fields.get("matches")
    if type(matches) is not list or not all(type(path) is str for path in matches):
        return None
    limit = report.get("limit")
    most = limit if type(limit) is int and limit >= 0 else len(matches)
    return {"matches": matches[:most], "truncated": most < len(matches)}


def _range_in_v1(fields: Object, content: str, version: Json, note: Note) -> Object:
    limit, offset = fields.get("limit"), fields.get("offset") or 0
    length = len(content) // 4 * 3 - content[-2:].count("=")  # of what stands in base64
    v1_result: Object = {
        "content": content,
        "version": token_of(version) if is_version(version) else "unknown",
    }
    if type(limit) is int and length >= limit:
        note(RepairNotes.SIZES)
        return {**v1_result, "eof": False}
    return {**v1_result, "size": offset + length, "eof": True}


def is_excerpt(params: Object) -> bool:
    """Whether a v1 read asks for a part of its file."""
    return params.get("line") not in (None, 0, 1) or params.get("limit") is not None


def needs_whole_text(name: str, params: Object, result: Json) -> bool:
    """Whether the version can't be computed from this answer: it holds only a part of the file, and no
    version.
    """
    members = as_object(result)
    return (
        name == "readTextFile"
        and is_excerpt(params)
        and type(members.get("content")) is str
        and version_in(members) is None
    )


def told_in_threads(name: str, result: Json, note: Note, *, whole: str | None = None) -> Object | None:
    """Convert v1's answer for the threads agent that sent the request. `whole` is the text of the whole file,
    if the answer holds only a part and no version.
    """
    fields = as_object(result)
    if name == "stat":
        return {"exists": fields.get("exists") is True, "isDirectory": fields.get("isDirectory") is True}
    if name == "globSearch":
        matches = fields.get("matches")
        if type(matches) is not list or not all(type(path) is str for path in matches):
            return None
        if fields.get("truncated") is True:
            note(Lost.MORE_MATCHES)
        return {"matches": matches}
    content = fields.get("content")
    if type(content) is not str:
        return None
    token = version_in(fields) if name == "readTextFile" else as_text(fields.get("version"))
    if not token:
        note(RepairNotes.VERSIONS)
    return {
        "version": number_of(token or token_of_text(content if whole is None else whole)),
        "content": content,
    }


# Versions of files: 64-bit unsigned integers in this dialect, tokens of characters in our workspace.
#
# A number that came over this wire is its own token, so it comes back as it was. A token that is not a number
# becomes one by a hash: the same for the same, and cut to 63 bits for readers whose integers have a sign. A
# text without a token has the one that our workspace would give to a file that holds it.

MOST = 2**64


def is_version(value: Json) -> bool:
    return type(value) is int and 0 <= value < MOST


def token_of(number: int) -> str:
    return str(number)


def number_of(token: str) -> int:
    if token.isascii() and token.isdigit() and len(token) <= 20:
        number = int(token)
        if number < MOST and str(number) == token:
            return number
    return hash_text(token)


def hash_text(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def token_of_text(text: str) -> str:
    """Return the version of a whole file, the same as `workspace.versions.version_of`: every reader gets the
    same version.
    """
    return f"c{hashlib.blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"


def with_version(result: Object, number: Json) -> Object:
    """Add the version to a v1 result, in the field that our workspace uses."""
    if not is_version(number):
        return result
    return {**result, "_meta": {"dragoman": {"version": token_of(number)}}}


def version_in(result: Object) -> str | None:
    """Return the version in the `_meta` of a v1 result."""
    token = as_object(as_object(result.get("_meta")).get("dragoman")).get("version")
    return token if type(token) is str else None
