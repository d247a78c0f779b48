"""Return the params of a `proxy/successor` with this message.

https://agentclientprotocol.com/rfds/proxy-chains. The params of the inner message stay the bytes that they
are; `_meta` of the wrapping belongs to one hop and is not carried further.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from dragoman.decoders import json_decoder
from dragoman.wire.codes import invalid_params
from dragoman.wire.decode import UNREADABLE_TEXT
from dragoman.wire.encode import one_line

SUCCESSOR = "proxy/successor"
INITIALIZE_PROXY = "proxy/initialize"
INITIALIZE = "initialize"


class _WrappedMessage(Struct, gc=False):
    method: str
    params: Raw | UnsetType = UNSET


_decoder = json_decoder(_WrappedMessage)


def wrap(method: str, params: Raw | None) -> bytes:
    """Return the method and params of the inner message; raises the error for the answer."""
    name = msgspec.json.encode(method)
    if params is None:
        return b'{"method":%b}' % name
    return b'{"method":%b,"params":%b}' % (name, one_line(bytes(params)))


def unwrap(params: Raw | None) -> tuple[str, Raw | None]:
    """The method and params of the message inside; raises the error to answer with."""
    try:
        inner = _decoder.decode(params or b"")
    except UNREADABLE_TEXT:
        raise invalid_params("proxy/successor needs the method of a message") from None
    raw = b"null" if inner.params is UNSET else bytes(inner.params)
    if raw == b"null":
        return inner.method, None
    if raw[:1] not in (b"{", b"["):
        raise invalid_params("the params of a message are an object or an array")
    return inner.method, Raw(raw)
