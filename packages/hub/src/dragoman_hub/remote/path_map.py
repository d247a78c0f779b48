"""Translates paths between the local and the remote machine, in every field of the protocol with a path.

Which fields these are, `path_fields` says; nothing else of a frame is changed, and a frame without such a
path passes as the bytes that it came in. A path below a mapped folder becomes the same path below its
counterpart; of nested folders the deepest counts. Any other path stays as it is, so that a path of the other
side may be given here as well. There and back is where it began, for every path that is not already below a
folder of the other side.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote, unquote

import msgspec
from msgspec import UNSET, Raw

from dragoman.errors import LocalMistake
from dragoman.wire.envelope import id_key
from dragoman.wire.glance import Glance, glance
from dragoman_hub.remote.path_fields import PARAMS, RESULTS
from dragoman_local.workspace.remote_access import PERMIT_METHOD
from dragoman_local.workspace.remote_changes import CHANGES_METHOD, REVERT_METHOD

Convert: TypeAlias = Callable[[str], str]
FieldTree: TypeAlias = dict[str, Any]
"""Fields on the way to paths; a path itself is `path` or `uri`."""

MOST_OPEN = 4096
"""The most requests whose answers may contain paths; of more, the oldest answers pass unchanged."""

OWN_PARAMS = {
    PERMIT_METHOD: ("path:path", "path:command/cwd", "path:command/program"),
    REVERT_METHOD: ("path:path",),
}
OWN_RESULTS = {CHANGES_METHOD: ("path:files/*/path",)}
"""Results of messages that only we send."""


class MappedFolder(NamedTuple):
    """A folder here, and the same folder there."""

    here: str
    there: str


def parse_map(text: str) -> MappedFolder:
    """Parse `HERE=THERE`. HERE may begin with `~` or be relative, THERE is absolute.
    Raises `LocalMistake`.
    """
    here, is_pair, there = text.partition("=")
    if not (is_pair and here and there.startswith("/")):
        raise LocalMistake(
            f"--map {text!r} is not a pair of folders. Use HERE=THERE, where THERE begins with /"
        )
    return MappedFolder(os.path.abspath(os.path.expanduser(here)), os.path.normpath(there))


class FolderMap:
    """Translates frames; remembers open requests to translate their answers."""

    def __init__(self, folders: Sequence[MappedFolder]) -> None:
        self._to_there = _replacer((folder.here, folder.there) for folder in folders)
        self._to_here = _replacer((folder.there, folder.here) for folder in folders)
        self._asked_by_client: dict[Hashable, str] = {}
        self._asked_by_agent: dict[Hashable, str] = {}

    def to_agent(self, line: bytes) -> bytes:
        """Return a frame of the client with paths of the other side."""
        return _translate(
            line, self._to_there, open_requests=self._asked_by_client, answerable=self._asked_by_agent
        )

    def to_client(self, line: bytes) -> bytes:
        """Return a frame of the agent with paths of this side."""
        return _translate(
            line, self._to_here, open_requests=self._asked_by_agent, answerable=self._asked_by_client
        )


def _translate(
    line: bytes, convert: Convert, *, open_requests: dict[Hashable, str], answerable: dict[Hashable, str]
) -> bytes:
    """`open_requests` are those of the one who sends the line; `answerable` are those that it may answer."""
    message = glance(line)
    if message.method is not UNSET:
        if message.id is not UNSET and message.method in RESULT_TREES:
            _note(open_requests, message)
        tree = PARAM_TREES.get(message.method)
        return line if tree is None else _rewrite_member(line, "params", tree, convert)
    method = None if message.id is UNSET else answerable.pop(id_key(message.id), None)
    return line if method is None else _rewrite_member(line, "result", RESULT_TREES[method], convert)


def _note(open_requests: dict[Hashable, str], message: Glance) -> None:
    open_requests[id_key(message.id)] = str(message.method)
    if len(open_requests) > MOST_OPEN:
        del open_requests[next(iter(open_requests))]


def _rewrite_member(line: bytes, member: str, tree: FieldTree, convert: Convert) -> bytes:
    try:
        new_line = _rewrite(line, {member: tree}, convert)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return line  # no JSON that we understand: whoever it is for says what is wrong with it
    return line if new_line is None else new_line + b"\n"


def _rewrite(raw: bytes, tree: FieldTree | str, convert: Convert) -> bytes | None:
    """The value with its paths translated; None if nothing changes. Everything else stays the bytes that it
    was.
    """
    if isinstance(tree, str):
        return _rewrite_text(raw, tree, convert)
    first = raw.lstrip()[:1]
    if first == b"[" and "*" in tree:
        items = msgspec.json.decode(raw, type=list[Raw])
        changed_items = [_rewrite(bytes(item), tree["*"], convert) for item in items]
        if all(item is None for item in changed_items):
            return None
        pairs = zip(items, changed_items, strict=True)
        return msgspec.json.encode([old if new is None else Raw(new) for old, new in pairs])
    if first != b"{":
        return None
    members = msgspec.json.decode(raw, type=dict[str, Raw])
    changes = {
        name: Raw(new)
        for name, subtree in tree.items()
        if name in members and (new := _rewrite(bytes(members[name]), subtree, convert)) is not None
    }
    return msgspec.json.encode({**members, **changes}) if changes else None


def _rewrite_text(raw: bytes, kind: str, convert: Convert) -> bytes | None:
    if raw.lstrip()[:1] != b'"':
        return None
    text = msgspec.json.decode(raw, type=str)
    new = convert(text) if kind == "path" else convert_uri(text, convert)
    return None if new == text else msgspec.json.encode(new)


def convert_uri(uri: str, convert: Convert) -> str:
    """Return a file's URI with its path translated; any other stays unchanged."""
    if not uri.startswith("file:///"):
        return uri
    end = min((at for mark in "?#" if (at := uri.find(mark)) >= 0), default=len(uri))
    path = unquote(uri[7:end], errors="surrogateescape")
    new = convert(path)
    if new == path:
        return uri
    return "file://" + quote(new, safe="/!$&'()*+,;=:@~", errors="surrogateescape") + uri[end:]


def _replacer(pairs: Iterable[tuple[str, str]]) -> Convert:
    deepest_first = sorted(pairs, key=lambda pair: len(pair[0]), reverse=True)  # the deepest folder first

    def convert(path: str) -> str:
        for old, new in deepest_first:
            if path == old:
                return new
            below = old if old.endswith("/") else old + "/"
            if path.startswith(below):
                return new.rstrip("/") + "/" + path[len(below) :]
        return path

    return convert


def _tree_of(fields: Iterable[str]) -> FieldTree:
    tree: FieldTree = {}
    for field in fields:
        kind, way = field.split(":", 1)
        *parents, last = way.split("/")
        node = tree
        for name in parents:
            node = node.setdefault(name, {})
        node[last] = kind
    return tree


PARAM_TREES = {method: _tree_of(fields) for method, fields in {**PARAMS, **OWN_PARAMS}.items()}
RESULT_TREES = {method: _tree_of(fields) for method, fields in {**RESULTS, **OWN_RESULTS}.items()}
