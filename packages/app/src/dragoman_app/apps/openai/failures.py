"""Failures in the form of OpenAI's API: a status, and `{"error": {message, type, param, code}}`.

Official clients send a request again after some statuses. Once a turn has begun, the agent may have changed
files, so a failure carries a header that forbids it.

Specification: https://platform.openai.com/docs/guides/error-codes
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Literal, TypeAlias

import msgspec

from dragoman.errors import DragomanError
from dragoman.text.sanitize import sanitize, sanitize_json
from dragoman_app.apps.gateway.gateway import Gateway, TooManySessions

FailureType: TypeAlias = Literal[
    "invalid_request_error", "authentication_error", "permission_error", "rate_limit_error", "api_error"
]

NEVER_AGAIN = (b"x-should-retry", b"false")
"""The header that tells official clients not to retry; it overrides the status."""

_TYPES: dict[int, FailureType] = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}
_STATUSES = {"usage": 400, "timeout": 504}

_REFUSALS = {
    401: "the token is missing or wrong: give the token that the server printed as the API key",
    403: "pages of this origin are refused. To allow them, use --origin",
    421: "unknown server name: use the printed address, or add the name with --host",
    429: "too many wrong tokens came from this address",
}


class ApiFailure(Exception):
    """A failure for the client."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.code = code
        self.headers = list(headers)

    @property
    def body(self) -> bytes:
        """Return the failure as JSON."""
        default: FailureType = "invalid_request_error" if self.status < 500 else "api_error"
        error = {
            "message": sanitize(self.message),
            "type": _TYPES.get(self.status, default),
            "param": self.param,
            "code": self.code,
        }
        return sanitize_json(msgspec.json.encode({"error": error}))


def failure_of(error: DragomanError, gateway: Gateway, *, has_begun: bool) -> ApiFailure:
    """Return the failure for an error of the agent or of ours. `has_begun` is whether the agent may have done
    something.
    """
    headers = [NEVER_AGAIN] if has_begun else []
    if isinstance(error, TooManySessions):
        return ApiFailure(429, str(error), code="too_many_sessions", headers=headers)
    outcome = gateway.explain(error)
    next_step = f". Try: {outcome.next_step}" if outcome.next_step else ""
    return ApiFailure(
        _STATUSES.get(outcome.name, 502),
        f"{outcome.message or outcome.name}{next_step}",
        code=outcome.name,
        headers=headers,
    )


def refusal_body(status: int) -> bytes:
    """Return the body for a refused request: it says no more than the status."""
    return ApiFailure(status, _REFUSALS.get(status, HTTPStatus(status).phrase)).body
