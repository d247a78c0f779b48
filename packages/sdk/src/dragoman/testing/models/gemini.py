"""`/v1beta/models/NAME:generateContent` and `:streamGenerateContent`: Google's format for Gemini.

Every event of a stream is a small answer of its own: a candidate with the parts that are new. Function calls
are never cut into pieces, and arguments that are not JSON are sent as text, because the format has no other
place for them. A stream is always sent as server-sent events, which is what clients ask for with `alt=sse`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from dragoman.testing.models.requests import ModelRequest
from dragoman.testing.models.turns import FailStep, TokenUsage
from dragoman.testing.models.voice import ModelEvent, ModelOutput, ModelToolCall, retry_headers
from dragoman.wire.envelope import Json, JsonObject

FINISHES = {
    "stop": "STOP",
    "tool_calls": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
    "refusal": "PROHIBITED_CONTENT",
}
"""Reasons to stop. Unknown words are sent unchanged."""

STATUSES: dict[int, tuple[str, str]] = {
    400: ("INVALID_ARGUMENT", "The request is not valid."),
    401: ("UNAUTHENTICATED", "API key not valid. Please pass a valid API key."),
    403: ("PERMISSION_DENIED", "The caller does not have permission."),
    404: ("NOT_FOUND", "The model does not exist."),
    429: ("RESOURCE_EXHAUSTED", "The quota is used up."),
    500: ("INTERNAL", "An internal error has occurred."),
    503: ("UNAVAILABLE", "The model is overloaded. Please try again later."),
    504: ("DEADLINE_EXCEEDED", "The deadline has expired."),
}
"""Status and message of errors, by HTTP status."""


class GeminiFormat:
    """Writes one answer as generated content, whole or in events."""

    def __init__(self, request: ModelRequest, *, number: int) -> None:
        self._model = request.model
        self._number = number

    def begin(self, usage: TokenUsage) -> Iterator[ModelEvent]:
        yield from ()  # nothing is announced: the first event has the first part

    def text(self, piece: str) -> Iterator[ModelEvent]:
        yield self._event([{"text": piece}])

    def thought(self, piece: str) -> Iterator[ModelEvent]:
        yield self._event([{"text": piece, "thought": True}])

    def call(self, tool_call: ModelToolCall, pieces: Sequence[str]) -> Iterator[ModelEvent]:
        yield self._event([_call_part(tool_call)])

    def end(self, output: ModelOutput) -> Iterator[ModelEvent]:
        yield ModelEvent(None, self._content([{"text": ""}], output=output))

    def whole(self, output: ModelOutput) -> JsonObject:
        return self._content([_part(kind, part) for kind, part in output.parts], output=output)

    def error(self, fail: FailStep) -> JsonObject:
        return error_of(fail)

    def broken(self, fail: FailStep) -> Iterator[ModelEvent]:
        yield ModelEvent(None, error_of(fail))

    def headers(self, fail: FailStep, *, now: float) -> Mapping[str, str]:
        return retry_headers(fail)

    def _event(self, parts: list[Json]) -> ModelEvent:
        return ModelEvent(None, self._content(parts))

    def _content(self, parts: list[Json], *, output: ModelOutput | None = None) -> JsonObject:
        candidate: JsonObject = {"content": {"role": "model", "parts": parts}, "index": 0}
        answer: JsonObject = {
            "candidates": [candidate],
            "modelVersion": self._model,
            "responseId": f"gen_{self._number}",
        }
        if output is not None:
            candidate["finishReason"] = FINISHES.get(output.stop, output.stop)
            answer["usageMetadata"] = _usage(output.usage)
        return answer


def error_of(fail: FailStep) -> JsonObject:
    """Return the body of an error; its details hold the time to wait."""
    status, message = STATUSES.get(fail.status, ("UNKNOWN", "Something went wrong."))
    error: JsonObject = {
        "code": fail.status,
        "message": fail.message or message,
        "status": fail.kind or status,
    }
    delay = fail.retry_after if fail.retry_after is not None else fail.reset
    if delay is not None:
        kind = "type.googleapis.com/google.rpc.RetryInfo"
        error["details"] = [{"@type": kind, "retryDelay": f"{delay:g}s"}]
    return {"error": error}


def models_of(names: Sequence[str]) -> JsonObject:
    """Return the list of models."""
    methods = ["generateContent", "countTokens"]
    return {
        "models": [
            {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": methods}
            for name in names
        ]
    }


def _part(kind: str, part: str | ModelToolCall) -> JsonObject:
    if isinstance(part, ModelToolCall):
        return _call_part(part)
    return {"text": part, "thought": True} if kind == "thought" else {"text": part}


def _call_part(tool_call: ModelToolCall) -> JsonObject:
    try:
        arguments: Json = msgspec.json.decode(tool_call.arguments)
    except msgspec.DecodeError:
        arguments = tool_call.arguments
    return {"functionCall": {"id": tool_call.id, "name": tool_call.name, "args": arguments}}


def _usage(usage: TokenUsage) -> dict[str, int]:
    return {
        "promptTokenCount": usage.input,
        "cachedContentTokenCount": usage.cached,
        "candidatesTokenCount": usage.output - usage.reasoning,
        "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": usage.input + usage.output,
    }
