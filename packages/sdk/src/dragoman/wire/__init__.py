"""Bytes to frames to envelopes: JSON-RPC 2.0 without any knowledge of ACP.

Nothing here does IO or raises on bad input: malformed bytes become a value.
"""

from dragoman.wire.decode import count_objects, decode, decode_block
from dragoman.wire.encode import encode, error_object, failure, notification, request, response
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
from dragoman.wire.framing import DEFAULT_LIMIT, LineFramer

__all__ = [
    "DEFAULT_LIMIT",
    "Envelope",
    "ErrorObject",
    "Failure",
    "Id",
    "LineFramer",
    "MalformedFrame",
    "Notification",
    "Request",
    "Response",
    "count_objects",
    "decode",
    "decode_block",
    "encode",
    "error_object",
    "failure",
    "notification",
    "request",
    "response",
]
