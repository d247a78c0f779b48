"""`/v1/messages`: Anthropic's format.

Blocks follow one another: text, thoughts and each call have one of their own, and a block ends when another
kind begins. What was cached is counted beside the input, not in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from dragoman.testing.models.requests import ModelRequest
from dragoman.testing.models.turns import FailStep, TokenUsage
from dragoman.testing.models.voice import ModelEvent, ModelOutput, ModelToolCall, retry_headers
from dragoman.wire.envelope import Json, JsonObject

STOPS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
}

KINDS: dict[int, tuple[str, str]] = {
    400: ("invalid_request_error", "The request is not valid."),
    401: ("authentication_error", "invalid x-api-key"),
    403: ("permission_error", "The key has no access to this."),
    404: ("not_found_error", "The model was not found."),
    413: ("request_too_large", "The request is too large."),
    429: ("rate_limit_error", "This request would exceed your rate limit."),
    500: ("api_error", "Internal server error"),
    529: ("overloaded_error", "Overloaded"),
}
"""Type and message of errors, by status."""

SIGNATURE = "c2NyaXB0ZWQ="
"""The signature of thoughts, which clients send back without reading it."""


class MessagesFormat:
    """Writes one answer as a message, whole or in events."""

    def __init__(self, request: ModelRequest, *, number: int) -> None:
        self._model = request.model
        self._number = number
        self._index = -1
        self._open: str | None = None

    def begin(self, usage: TokenUsage) -> Iterator[ModelEvent]:
        message = self._message([], stop=None, usage={**_usage(usage), "output_tokens": 1})
        yield _event("message_start", message=message)
        yield _event("ping")

    def text(self, piece: str) -> Iterator[ModelEvent]:
        yield from self._block("text", {"type": "text", "text": ""})
        yield self._delta(type="text_delta", text=piece)

    def thought(self, piece: str) -> Iterator[ModelEvent]:
        yield from self._block("thinking", {"type": "thinking", "thinking": "", "signature": ""})
        yield self._delta(type="thinking_delta", thinking=piece)

    def call(self, tool_call: ModelToolCall, pieces: Sequence[str]) -> Iterator[ModelEvent]:
        yield from self._close()
        yield from self._block(
            "tool_use", {"type": "tool_use", "id": tool_call.id, "name": tool_call.name, "input": {}}
        )
        yield self._delta(type="input_json_delta", partial_json="")
        for piece in pieces:
            yield self._delta(type="input_json_delta", partial_json=piece)

    def end(self, output: ModelOutput) -> Iterator[ModelEvent]:
        yield from self._close()
        stop = {"stop_reason": STOPS.get(output.stop, output.stop), "stop_sequence": None}
        yield _event("message_delta", delta=stop, usage={"output_tokens": output.usage.output})
        yield _event("message_stop")

    def whole(self, output: ModelOutput) -> JsonObject:
        content = [_content(kind, part) for kind, part in output.parts]
        return self._message(content, stop=STOPS.get(output.stop, output.stop), usage=_usage(output.usage))

    def error(self, fail: FailStep) -> JsonObject:
        return error_of(fail, number=self._number)

    def broken(self, fail: FailStep) -> Iterator[ModelEvent]:
        yield ModelEvent("error", self.error(fail))

    def headers(self, fail: FailStep, *, now: float) -> Mapping[str, str]:
        return {"request-id": f"req_{self._number}", **limit_headers(fail, now=now)}

    def _block(self, kind: str, start: JsonObject) -> Iterator[ModelEvent]:
        if self._open == kind:
            return
        yield from self._close()
        self._open = kind
        self._index += 1
        yield _event("content_block_start", index=self._index, content_block=start)

    def _close(self) -> Iterator[ModelEvent]:
        if self._open == "thinking":
            yield self._delta(type="signature_delta", signature=SIGNATURE)
        if self._open is not None:
            yield _event("content_block_stop", index=self._index)
        self._open = None

    def _delta(self, **delta: str) -> ModelEvent:
        return _event("content_block_delta", index=self._index, delta=delta)

    def _message(self, content: list[Json], *, stop: str | None, usage: Mapping[str, Json]) -> JsonObject:
        return {
            "id": f"msg_{self._number}",
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": usage,
        }


def error_of(fail: FailStep, *, number: int) -> JsonObject:
    kind, message = KINDS.get(fail.status, ("api_error", "Something went wrong."))
    error = {"type": fail.kind or kind, "message": fail.message or message}
    return {"type": "error", "error": error, "request_id": f"req_{number}"}


def limit_headers(fail: FailStep, *, now: float) -> dict[str, str]:
    """The time to come back, as points in time."""
    if fail.reset is None:
        return retry_headers(fail)
    again = datetime.fromtimestamp(now + fail.reset, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    limits = {f"anthropic-ratelimit-{what}-limit": "50" for what in ("requests", "tokens")}
    remaining = {f"anthropic-ratelimit-{what}-remaining": "0" for what in ("requests", "tokens")}
    resets = {f"anthropic-ratelimit-{what}-reset": again for what in ("requests", "tokens")}
    return {**retry_headers(fail), **limits, **remaining, **resets}


def _event(kind: str, **members: object) -> ModelEvent:
    return ModelEvent(kind, {"type": kind, **members})


def _usage(usage: TokenUsage) -> dict[str, int]:
    return {
        "input_tokens": usage.input - usage.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.output,
    }


def _content(kind: str, part: str | ModelToolCall) -> JsonObject:
    if isinstance(part, ModelToolCall):
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": _object(part.arguments)}
    if kind == "thought":
        return {"type": "thinking", "thinking": part, "signature": SIGNATURE}
    return {"type": "text", "text": part}


def _object(arguments: str) -> Json:
    """The whole format has no place for arguments that are not JSON: they are sent as text."""
    try:
        return msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return arguments
