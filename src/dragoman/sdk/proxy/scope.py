"""Where a frame says which session or which request it is about; everything else in it is skipped."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from dragoman.wire import Id

# What decoding untrusted bytes can raise; whatever it is, the frame names nothing that we can use.
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class _Named(Struct, gc=False):
    session_id: str | UnsetType = field(default=UNSET, name="sessionId")


class _Scope(Struct, gc=False):
    params: _Named | UnsetType | None = UNSET
    result: _Named | UnsetType | None = UNSET


class _Cancelled(Struct, gc=False):
    request_id: Id = field(name="requestId")


class _Cancel(Struct, gc=False):
    params: _Cancelled


_scope = msgspec.json.Decoder(_Scope)
_cancel = msgspec.json.Decoder(_Cancel)


def session_of(frame: bytes) -> str | None:
    """The session that a message belongs to, or that an answer brings to life."""
    try:
        scope = _scope.decode(frame)
    except _UNREADABLE:
        return None
    named = scope.params or scope.result
    return named.session_id if isinstance(named, _Named) and named.session_id is not UNSET else None


def cancelled_request(frame: bytes) -> tuple[Id] | None:
    """The id that a `$/cancel_request` names; null is an id too."""
    try:
        return (_cancel.decode(frame).params.request_id,)
    except _UNREADABLE:
        return None
