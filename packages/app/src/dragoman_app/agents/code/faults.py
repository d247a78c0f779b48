"""Explains failed requests to a model: who caused the failure, and how to fix it.

Every error of pydantic-ai becomes one `ModelFault`, which says whether trying again may help. The text of a
vendor is passed on, because it is often the only hint, but cut short and with the key taken out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

from pydantic_ai import exceptions as model_errors

from dragoman.errors import ErrorAnswer
from dragoman_app.agents.code.config import KEYS, ModelEndpoint
from dragoman_app.agents.code.login import auth_required

INTERNAL_ERROR = -32603
SAID = 400
"""The most characters of a vendor's message to pass on."""

Kind = Literal[
    "auth",
    "quota",
    "busy",
    "network",
    "too_long",
    "not_found",
    "refused",
    "rejected",
    "server",
    "broken",
    "nonsense",
]

REFUSALS = frozenset({"content_filter", "content_policy_violation"})
"""The codes for a prompt that the server refuses."""

AGAIN = frozenset({408, 409, 425})
"""Client error statuses that are worth a retry: timeout, conflict, too early."""

PASSING: frozenset[Kind] = frozenset({"busy", "network", "server", "broken", "nonsense"})
"""Statuses of failures that may be temporary."""


class ModelFault(NamedTuple):
    """One failed request."""

    kind: Kind
    words: str
    wait: float | None = None
    """The seconds that the server asks us to wait."""

    @property
    def may_pass(self) -> bool:
        return self.kind in PASSING

    def answer(self, *, now: datetime | None = None) -> ErrorAnswer:
        """The error for the client."""
        if self.kind == "auth":
            return auth_required(self.words)
        data: dict[str, Any] = {"kind": self.kind}
        words = self.words
        if self.wait is not None:
            at = (now or datetime.now(UTC)) + timedelta(seconds=self.wait)
            data |= {"retryAfter": self.wait, "resetsAt": at.isoformat(timespec="seconds")}
            words = f"{words} It can be asked again at {at:%Y-%m-%d %H:%M:%S} UTC."
        return ErrorAnswer(INTERNAL_ERROR, words, data)


def read_fault(error: Exception, endpoint: ModelEndpoint) -> ModelFault:
    """Return the meaning of an error of the model layer."""
    where = endpoint.base_url or f"the {_VENDORS[endpoint.api]} API"
    server_words = _server_words(error, endpoint)
    wait = _wait(error)
    match error:
        case model_errors.ModelRequestRejectedError() | model_errors.ContentFilterError():
            return _read_rejection(error, endpoint, where, server_words)
        case model_errors.ModelQuotaExceededError():
            return ModelFault("quota", f"The quota of the account at {where} is used up{server_words}", wait)
        case model_errors.ModelRateLimitError():
            return ModelFault("busy", f"Too many requests, or tokens, for {where}{server_words}", wait)
        case model_errors.ModelUnavailableError():
            return ModelFault(
                "busy", f"The model is overloaded or unavailable at {where}{server_words}", wait
            )
        case model_errors.ModelConnectionError(phase="read") | model_errors.ModelRequestTimeout():
            return ModelFault("broken", f"The answer of {where} broke off.")
        case model_errors.ModelConnectionError():
            return ModelFault("network", f"{where} cannot be reached{server_words}")
        case model_errors.ModelHTTPError(status_code=status) if 400 <= status < 500 and status not in AGAIN:
            return _read_rejection(error, endpoint, where, server_words)
        case model_errors.ModelServerError() | model_errors.ModelHTTPError():
            return ModelFault("server", f"{where} failed{server_words}", wait)
        case _:
            advice = "" if endpoint.base_url is None else " Check that this is the address of a model."
            return ModelFault("nonsense", f"The answer of {where} makes no sense{server_words}{advice}")


def _read_rejection(error: Exception, endpoint: ModelEndpoint, where: str, server_words: str) -> ModelFault:
    """What the server does not want, however often it is asked."""
    match error:
        case model_errors.ModelAuthenticationError():
            variable = KEYS[endpoint.api] if endpoint.base_url is None else "DRAGOMAN_API_KEY"
            return ModelFault(
                "auth", f"{where} refuses the key. Set {variable} or --key-file to a valid one{server_words}"
            )
        case model_errors.ModelContextWindowExceededError() | model_errors.ModelHTTPError(status_code=413):
            return ModelFault("too_long", f"The conversation is too long for {endpoint.model}{server_words}")
        case model_errors.ModelNotFoundError():
            return ModelFault("not_found", f"There is no model {endpoint.model} at {where}{server_words}")
        case model_errors.ContentFilterError():
            return ModelFault("refused", f"The content was refused by {where}{server_words}")
        case model_errors.ModelRequestRejectedError(provider_error_code=code) if code in REFUSALS:
            return ModelFault("refused", f"The content was refused by {where}{server_words}")
        case _:
            return ModelFault("rejected", f"The request was rejected by {where}{server_words}")


_VENDORS = {"openai": "OpenAI", "responses": "OpenAI", "anthropic": "Anthropic"}


def _server_words(error: Exception, endpoint: ModelEndpoint) -> str:
    """`: what the server said.`, or a full stop."""
    body = getattr(error, "body", None)
    text = _message(body) or (str(error.__cause__) if error.__cause__ is not None and body is None else "")
    if endpoint.key:
        text = text.replace(endpoint.key, "…")
    line = " ".join(text.split())
    line = line if len(line) <= SAID else f"{line[:SAID]}…"
    return f": {line.rstrip('.')}." if line else "."


def _message(body: object) -> str:
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        message = inner.get("message") if isinstance(inner, Mapping) else inner
        return message if isinstance(message, str) else ""
    return ""


EPOCH = 1_000_000_000
"""A larger number of seconds is a point in time, not a duration: as a duration it would be thirty years."""

LONGEST = 366 * 24 * 3600.0
"""The longest believable quota period; after a longer one, a retry is not worth it."""

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def _wait(error: Exception) -> float | None:
    """How long the server asks us to wait: as it says, or until the latest of its limits is reset."""
    retry_after = getattr(error, "retry_after", None)
    if isinstance(retry_after, int | float):
        return _sane(retry_after)
    headers = getattr(error, "headers", None) or {}
    times = [
        seconds
        for name, value in headers.items()
        if "ratelimit" in name and "reset" in name and (seconds := seconds_until(value)) is not None
    ]
    return max(times, default=None)


def seconds_until(text: str, *, now: datetime | None = None) -> float | None:
    """Parse `1m30s`, `20ms`, `12`, or a point in time (ISO 8601, or seconds or milliseconds since 1970) into
    seconds from now. Other texts, and times that are years away, give None.
    """
    now = now or datetime.now(UTC)
    parts = _PART.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        return _sane(sum(float(number) * _SECONDS[unit] for number, unit in parts))
    try:
        number = float(text)
    except ValueError:
        return _until(text, now)
    if number > EPOCH:
        number = (number / 1000 if number > 1000 * EPOCH else number) - now.timestamp()
    return _sane(number)


def _until(text: str, now: datetime) -> float | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return _sane((at - now).total_seconds())


def _sane(seconds: float) -> float | None:
    if not math.isfinite(seconds) or seconds > LONGEST:
        return None
    return max(float(seconds), 0.0)
