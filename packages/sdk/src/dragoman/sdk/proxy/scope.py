"""Reads from a frame which session or request it belongs to, and skips everything else."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType, field

from dragoman.decoders import json_decoder
from dragoman.wire import Id
from dragoman.wire.decode import UNREADABLE_TEXT
from dragoman.wire.glance import Outline


class _ScopedParams(Struct, gc=False):
    session_id: str | UnsetType = field(default=UNSET, name="sessionId")


class _CancelParams(Struct, gc=False):
    request_id: Id = field(name="requestId")


_scope = json_decoder(Outline[_ScopedParams])
_params_decoder = json_decoder(_ScopedParams)
_cancel = json_decoder(Outline[_CancelParams])


def session_of(frame: bytes) -> str | None:
    """Return the session that a message belongs to, or that an answer creates."""
    try:
        scope = _scope.decode(frame)
        params = scope.params or (
            None if isinstance(scope.result, UnsetType) else _params_decoder.decode(scope.result)
        )
    except UNREADABLE_TEXT:
        return None
    return params.session_id if isinstance(params, _ScopedParams) and params.session_id is not UNSET else None


def cancelled_request(frame: bytes) -> tuple[Id] | None:
    """Return the id in a `$/cancel_request`; null is an id too."""
    try:
        params = _cancel.decode(frame).params
    except UNREADABLE_TEXT:
        return None
    return (params.request_id,) if isinstance(params, _CancelParams) else None
