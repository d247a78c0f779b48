"""Encodes envelopes as frames, each ended by a newline.

Params and results arrive as encoded bytes and are joined to the shell, not encoded again. They must hold no
raw newline, which our encoder never writes; bytes from elsewhere that do are compacted by `encode`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec
from msgspec import UNSET

from dragoman.wire.codes import NAMES
from dragoman.wire.envelope import (
    Envelope,
    ErrorObject,
    Failure,
    Id,
    MalformedFrame,
    Notification,
    Request,
    Response,
)

_encode = msgspec.json.Encoder().encode


# Joined, not formatted: of all ways to make a frame this is the fastest.
_ID = b'{"jsonrpc":"2.0","id":'
_RESULT = b',"result":'
_END = b"}\n"

_METHODS = 512  # names that are kept encoded: more than the protocol has


@lru_cache(maxsize=_METHODS)
def _method(method: str) -> bytes:
    return _encode(method)


class _Between(dict[str, bytes]):
    """What stands between the id and the params of a request, by method. A plain lookup takes half as long
    as asking a cache.
    """

    def __missing__(self, method: str) -> bytes:
        if len(self) >= _METHODS:  # somebody makes names up
            self.clear()
        between = self[method] = b',"method":%b,"params":' % _encode(method)
        return between


_between = _Between()


def request(request_id: Id, method: str, params: bytes | None) -> bytes:
    if params is None:
        return b'{"jsonrpc":"2.0","id":%b,"method":%b}\n' % (_encode(request_id), _method(method))
    return b"".join((_ID, _encode(request_id), _between[method], params, _END))


def notification(method: str, params: bytes | None) -> bytes:
    head = b'{"jsonrpc":"2.0","method":%b' % _method(method)
    return head + b"}\n" if params is None else b'%b,"params":%b}\n' % (head, params)


def response(request_id: Id, result: bytes) -> bytes:
    return b"".join((_ID, _encode(request_id), _RESULT, result, _END))


def failure(request_id: Id, error: ErrorObject) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (_encode(request_id), _encode(error))


def error_object(code: int, message: str = "", data: Any = None) -> ErrorObject:
    return ErrorObject(code, message or NAMES.get(code, "Error"), UNSET if data is None else data)


def encode(envelope: Envelope) -> bytes:
    """Encode any envelope as a frame. A malformed one is passed on unchanged, but never as two frames."""
    match envelope:
        case Request(request_id, method, params):
            return request(request_id, method, None if params is None else one_line(bytes(params)))
        case Notification(method, params):
            return notification(method, None if params is None else one_line(bytes(params)))
        case Response(request_id, result):
            return response(request_id, one_line(bytes(result)))
        case Failure(request_id, error):
            return failure(request_id, error)
        case MalformedFrame(frame, _, _):
            return frame.replace(b"\n", b" ") + b"\n"


def one_line(text: bytes) -> bytes:
    """Replace line ends by white space: JSON does not allow them inside strings."""
    return text.replace(b"\r", b" ").replace(b"\n", b" ") if b"\n" in text or b"\r" in text else text
