"""Reads, writes and removes the marks in `_meta.dragoman` that a hub and its clients send each other.

Everything else in the params or the result stays as it is. Whatever is not an object has no mark and gets
none. Knows nothing of what the marks mean.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Raw, Struct, field

from dragoman.decoders import json_decoder
from dragoman.wire.decode import UNREADABLE_TEXT

_encode = msgspec.json.Encoder().encode
_fields = json_decoder(dict[str, Raw])

HIDDEN = ("cursor", "request")
"""Marks that the hub adds for us, and that the editor never requested."""


class MessageMark(Struct, gc=False):
    """A hub's mark: the message's position in its session, a request's name, an idempotency key."""

    cursor: str = ""
    request: str = ""
    key: str = ""


class _MarkMeta(Struct, gc=False):
    dragoman: MessageMark | None = None


class _MarkedParams(Struct, gc=False):
    session: str = field(name="sessionId", default="")
    meta: _MarkMeta | None = field(name="_meta", default=None)


_decoder = json_decoder(_MarkedParams)

NO_MARK = MessageMark()


def look(params: bytes | Raw | None) -> tuple[str, MessageMark]:
    """Return the session in params, and their mark. Fields of the wrong type count as absent."""
    if params is None:
        return "", NO_MARK
    try:
        message = _decoder.decode(params)
    except UNREADABLE_TEXT:
        return _look_again(fields_of(params))
    meta = message.meta
    return message.session, NO_MARK if meta is None or meta.dragoman is None else meta.dragoman


def _look_again(fields: Mapping[str, Raw]) -> tuple[str, MessageMark]:
    """Read the mark member by member, without those of a wrong type."""
    ours = fields_of(fields_of(fields.get("_meta")).get("dragoman"))
    return text_of(fields.get("sessionId")), MessageMark(
        **{name: text_of(ours.get(name)) for name in ("cursor", "request", "key")}
    )


def fields_of(raw: bytes | Raw | None) -> dict[str, Raw]:
    """Return the fields of an object, undecoded; none if it is not an object."""
    try:
        return {} if raw is None else _fields.decode(raw)
    except UNREADABLE_TEXT:
        return {}


def text_of(raw: bytes | Raw | None) -> str:
    """Return a field that is a text; empty if it is not."""
    try:
        return "" if raw is None else msgspec.json.decode(raw, type=str)
    except UNREADABLE_TEXT:
        return ""


def put(params: bytes | Raw | None, ours: Mapping[str, object]) -> bytes:
    """Return params with `ours` added to their mark; existing fields stay."""
    fields = fields_of(params)
    if not fields and params is not None and bytes(params).strip() not in (b"{}", b"null"):
        return bytes(params)  # no object: it has no place for a mark
    meta = fields_of(fields.get("_meta"))
    mark = {**ours, **fields_of(meta.get("dragoman"))}
    return _encode({**fields, "_meta": {**meta, "dragoman": mark}})


def remove_mark(params: bytes | Raw, mark: MessageMark) -> bytes:
    """Return params without the hub's marks, which `look` has found in them."""
    raw = bytes(params)
    if not mark.cursor and not mark.request:
        return raw
    if not mark.request:  # nearly always: an update, with the mark where our hub writes it
        first = b'{"_meta":{"dragoman":{"cursor":%b}},' % _encode(mark.cursor)
        if raw.startswith(first):
            return b"{" + raw[len(first) :]
    fields = fields_of(raw)
    meta = fields_of(fields.pop("_meta"))
    ours = {name: value for name, value in fields_of(meta.pop("dragoman")).items() if name not in HIDDEN}
    if ours:
        meta["dragoman"] = Raw(_encode(ours))
    return _encode({**fields, "_meta": meta} if meta else fields)
