"""Frames as the hub sees them: whose they are, what they are about, and where a cursor goes.

Nearly everything that passes is an update as every implementation writes it; those are recognised by how they
begin and never read. Whatever else comes is read as far as needed. Nothing here knows sessions or clients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from dragoman.journal.runs import text_of
from dragoman.wire.envelope import Id

UPDATE = b'{"jsonrpc":"2.0","method":"session/update","params":{'

KEY_LENGTH = 128

_encode = msgspec.json.Encoder().encode
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class Subject(Struct, gc=False):
    """The one param that says whose a frame is."""

    session_id: str | UnsetType = field(name="sessionId", default=UNSET)


class Head(Struct, gc=False):
    """What a frame is: a request has a method and an id, a notification a method, an answer an id."""

    method: str | UnsetType = UNSET
    id: Id | UnsetType = UNSET
    params: Subject | UnsetType | None = UNSET

    @property
    def session(self) -> str:
        if isinstance(self.params, Subject) and isinstance(self.params.session_id, str):
            return self.params.session_id
        return ""


class Parts(Struct, gc=False):
    """A frame with what it holds, still unread."""

    method: str | UnsetType = UNSET
    id: Id | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_heads = msgspec.json.Decoder(Head)
_parts = msgspec.json.Decoder(Parts)
_objects = msgspec.json.Decoder(dict[str, Raw])


def head_of(frame: bytes) -> Head | None:
    """None if it makes no sense."""
    try:
        return _heads.decode(frame)
    except _UNREADABLE:
        parts = parts_of(frame)
        return None if parts is None else Head(parts.method, parts.id)


def parts_of(frame: bytes) -> Parts | None:
    try:
        return _parts.decode(frame)
    except _UNREADABLE:
        return None


def error_in(parts: Parts) -> Raw | None:
    """The error of an answer. A null is none; one beside a result counts, as in `wire.decode`."""
    return parts.error if isinstance(parts.error, Raw) and bytes(parts.error) != b"null" else None


def result_in(parts: Parts) -> Raw:
    """The result of an answer that holds no error; null where it was left out, as in `wire.decode`."""
    return parts.result if isinstance(parts.result, Raw) else Raw(b"null")


def no_result(method: str) -> str:
    """Why a call of this method failed whose answer holds nothing that can be used."""
    return f"the agent's answer to {method} holds neither a usable result nor an error"


def object_of(raw: bytes | Raw | UnsetType | None) -> dict[str, Raw]:
    """The members of an object, unread; none if it is something else."""
    if raw is None or isinstance(raw, UnsetType):
        return {}
    try:
        return _objects.decode(raw)
    except _UNREADABLE:
        return {}


def value_of(raw: bytes | Raw | None, default: Any = None) -> Any:
    """What a member says, as plain values."""
    try:
        return default if raw is None else msgspec.json.decode(raw)
    except _UNREADABLE:
        return default


def ours_in(params: Mapping[str, Raw]) -> dict[str, Any]:
    """`_meta.dragoman`, which is data and nothing more."""
    meta = value_of(params.get("_meta"), {})
    found = meta.get("dragoman") if isinstance(meta, dict) else None
    return found if isinstance(found, dict) else {}


def update_start(session_id: str) -> bytes:
    """How the updates of a session begin, up to the update's own members."""
    return UPDATE + b'"sessionId":%b,"update":{"sessionUpdate":"' % _encode(session_id)


def update_kind(frame: bytes, start: bytes) -> bytes | None:
    """Which kind of update it is; None if that takes more than a look."""
    if not frame.startswith(start):
        return None
    begin = len(start)
    return frame[begin : frame.find(b'"', begin)]


def all_begin(frames: Sequence[bytes], *heads: bytes) -> bool:
    """Whether each frame begins with one of these, none of which begins with another. Much faster than to
    look at one after the other.
    """
    block = b"\n" + text_of(frames)
    left = len(frames)
    for head in heads:
        left -= block.count(b"\n" + head)
        if not left:
            return True
    return False


def with_cursor(update: bytes, sequence: int) -> bytes:
    """`with_ours` for an update, which nearly every frame is."""
    if b'"_meta"' in update:
        return with_ours(update, "params", {"cursor": str(sequence)})
    return b'%b"_meta":{"dragoman":{"cursor":"%d"}},%b' % (UPDATE, sequence, update[len(UPDATE) :])


def with_cursors(updates: Sequence[bytes], first: int) -> bytes:
    """The same for updates that follow each other from `first` on and have no `_meta`, with newlines."""
    skip = len(UPDATE)
    form = UPDATE + b'"_meta":{"dragoman":{"cursor":"%d"}},%b\n'
    return b"".join([form % (sequence, update[skip:]) for sequence, update in enumerate(updates, first)])


def echoes(session_id: str, prompt: Sequence[Raw], key: str) -> list[bytes]:
    """A prompt as the updates that tell it to whoever did not write it."""
    begin = update_start(session_id) + b'user_message_chunk","content":'
    end = b',"messageId":%b}}}' % _encode(f"prompt-{key}")
    return [begin + bytes(block) + end for block in prompt]


def with_ours(frame: bytes, member: str, ours: Mapping[str, Any]) -> bytes:
    """The frame with `_meta.dragoman` in its params or result. What stands there already stays."""
    if member == "params" and frame.startswith(UPDATE) and b'"_meta"' not in frame:
        told = _encode({"dragoman": ours})
        return b'%b"_meta":%b,%b' % (UPDATE, told, frame[len(UPDATE) :])
    whole = object_of(frame)
    held = object_of(whole.get(member))
    if member not in whole or (not held and value_of(whole[member]) not in ({}, None)):
        return frame  # it has no place for it
    whole[member] = Raw(_encode(merged(held, ours)))
    return _encode(whole)


def merged(params: Mapping[str, Raw], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Params with more of ours in their `_meta`; a member that is UNSET is taken out, whoever wrote it."""
    meta = value_of(params.get("_meta"), {})
    meta = meta if isinstance(meta, dict) else {}
    mine = meta.get("dragoman")
    mine = mine if isinstance(mine, dict) else {}
    whole = {name: value for name, value in {**mine, **ours}.items() if value is not UNSET}
    return {**params, "_meta": {**meta, "dragoman": whole}}


def readdressed(frame: bytes, session_id: str) -> bytes:
    """The frame, said of another session: an agent may know one by a name of its own."""
    whole = object_of(frame)
    params = object_of(whole.get("params"))
    if "sessionId" not in params:
        return frame
    params["sessionId"] = Raw(_encode(session_id))
    whole["params"] = Raw(_encode(params))
    return _encode(whole)


def encoded(value: Any) -> bytes:
    return _encode(value)


def key_in(ours: dict[str, Any]) -> str:
    key = ours.get("key")
    return key if isinstance(key, str) and len(key) <= KEY_LENGTH else ""


def texts_in(ours: dict[str, Any], name: str) -> list[str]:
    found = ours.get(name)
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def without_ours(params: dict[str, Raw]) -> dict[str, Raw]:
    """What an agent is given: our own words are taken out."""
    meta = value_of(params.get("_meta"))
    if not isinstance(meta, dict) or "dragoman" not in meta:
        return params
    rest = {name: value for name, value in meta.items() if name != "dragoman"}
    kept = {name: raw for name, raw in params.items() if name != "_meta"}
    return {**kept, "_meta": Raw(encoded(rest))} if rest else kept
