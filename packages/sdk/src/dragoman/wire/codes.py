"""The JSON-RPC error codes that have a meaning, by name.

The first five are JSON-RPC's own, `CANCELLED` comes from the language server family, the rest are ACP's.
"""

from __future__ import annotations

from dragoman.errors import ErrorAnswer

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
CANCELLED = -32800
AUTH_REQUIRED = -32000
NOT_FOUND = -32002
VERSION_UNSUPPORTED = -32022

NAMES: dict[int, str] = {
    PARSE_ERROR: "Parse error",
    INVALID_REQUEST: "Invalid request",
    METHOD_NOT_FOUND: "Method not found",
    INVALID_PARAMS: "Invalid params",
    INTERNAL_ERROR: "Internal error",
    CANCELLED: "Request cancelled",
    AUTH_REQUIRED: "Authentication required",
    NOT_FOUND: "Resource not found",
    VERSION_UNSUPPORTED: "Unsupported protocol version",
}


def invalid_request(why: str) -> ErrorAnswer:
    return ErrorAnswer(INVALID_REQUEST, f"Invalid request: {why}")


def invalid_params(why: str) -> ErrorAnswer:
    return ErrorAnswer(INVALID_PARAMS, f"Invalid params: {why}")


def method_not_found(method: str) -> ErrorAnswer:
    # The name is the peer's own text; a lone surrogate was replaced when it was read, so it can be written.
    return ErrorAnswer(METHOD_NOT_FOUND, NAMES[METHOD_NOT_FOUND], {"method": method[:200]})


def session_not_found(session_id: str) -> ErrorAnswer:
    return ErrorAnswer(NOT_FOUND, "Session not found", {"sessionId": session_id})


def auth_required(why: str = NAMES[AUTH_REQUIRED]) -> ErrorAnswer:
    return ErrorAnswer(AUTH_REQUIRED, why)
