"""`/v1/chat/completions`: the format of OpenAI and of all compatible vendors.

Thoughts are sent as `reasoning_content`, as compatible servers do. A refusal is text in `refusal` with the
finish reason `stop`. Usage comes in a chunk of its own, and only if it was asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dragoman.testing.models.requests import ModelRequest
from dragoman.testing.models.turns import FailStep, TokenUsage
from dragoman.testing.models.voice import ModelEvent, ModelOutput, ModelToolCall, retry_headers
from dragoman.wire.envelope import Json, JsonObject

CREATED = 1_700_000_000
"""The creation time, always the same: no test may depend on it."""

DONE = ModelEvent(None, "[DONE]")

KINDS: dict[int, tuple[str, str | None, str]] = {
    400: ("invalid_request_error", None, "The request is not valid."),
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    403: ("permission_error", "access_denied", "The key has no access to this."),
    404: (
        "invalid_request_error",
        "model_not_found",
        "The model does not exist or you have no access to it.",
    ),
    413: ("invalid_request_error", "context_length_exceeded", "The request is too large."),
    429: ("requests", "rate_limit_exceeded", "Rate limit reached."),
    500: ("server_error", None, "The server had an error while processing your request."),
    503: ("server_error", None, "The engine is overloaded."),
    529: ("server_error", None, "The server is overloaded."),
}
"""Type, code and message of errors, by status."""


class ChatFormat:
    """Writes one answer as chat completion, whole or in chunks."""

    def __init__(self, request: ModelRequest, *, number: int, refuses: bool) -> None:
        self._model = request.model
        self._id = f"chatcmpl-{number}"
        self._calls = 0
        self._saying = "refusal" if refuses else "content"
        options = request.body.get("stream_options")
        self._counts = isinstance(options, dict) and options.get("include_usage") is True

    def begin(self, usage: TokenUsage) -> Iterator[ModelEvent]:
        yield self._delta({"role": "assistant", "content": None if self._saying == "refusal" else ""})

    def text(self, piece: str) -> Iterator[ModelEvent]:
        yield self._delta({self._saying: piece})

    def thought(self, piece: str) -> Iterator[ModelEvent]:
        yield self._delta({"reasoning_content": piece})

    def call(self, tool_call: ModelToolCall, pieces: Sequence[str]) -> Iterator[ModelEvent]:
        index, self._calls = self._calls, self._calls + 1
        function = {"name": tool_call.name, "arguments": ""}
        head = {"index": index, "id": tool_call.id, "type": "function", "function": function}
        yield self._delta({"tool_calls": [head]})
        for piece in pieces:
            yield self._delta({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})

    def end(self, output: ModelOutput) -> Iterator[ModelEvent]:
        yield self._delta({}, finish=_finish(output.stop))
        if self._counts:
            yield ModelEvent(None, {**self._chunk([]), "usage": usage_of(output.usage)})
        yield DONE

    def whole(self, output: ModelOutput) -> JsonObject:
        message: JsonObject = {"role": "assistant", "content": None, "refusal": None}
        message[self._saying] = output.text_of("text") or None
        if thoughts := output.text_of("thought"):
            message["reasoning_content"] = thoughts
        if output.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in output.calls
            ]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(output.stop)}
        whole = {**self._chunk([choice]), "object": "chat.completion"}
        return {**whole, "usage": usage_of(output.usage)}

    def error(self, fail: FailStep) -> JsonObject:
        return error_of(fail)

    def broken(self, fail: FailStep) -> Iterator[ModelEvent]:
        yield ModelEvent(None, error_of(fail))

    def headers(self, fail: FailStep, *, now: float) -> Mapping[str, str]:
        return limit_headers(fail)

    def _delta(self, delta: JsonObject, *, finish: str | None = None) -> ModelEvent:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        chunk = self._chunk([choice])
        return ModelEvent(None, {**chunk, "usage": None} if self._counts else chunk)

    def _chunk(self, choices: list[Json]) -> JsonObject:
        return {
            "id": self._id,
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": self._model,
            "choices": choices,
        }


def error_of(fail: FailStep) -> JsonObject:
    kind, code, message = KINDS.get(fail.status, ("server_error", None, "Something went wrong."))
    return {
        "error": {
            "message": fail.message or message,
            "type": fail.kind or kind,
            "param": None,
            "code": fail.code or (fail.kind if fail.kind == "insufficient_quota" else code),
        }
    }


def limit_headers(fail: FailStep) -> dict[str, str]:
    """The time to wait, as durations such as `1m30s`."""
    if fail.reset is None:
        return retry_headers(fail)
    again = duration(fail.reset)
    return {
        **retry_headers(fail),
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": again,
        "x-ratelimit-limit-tokens": "150000",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": again,
    }


def duration(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    parts = [f"{hours}h" if hours else "", f"{minutes}m" if hours or minutes else "", f"{rest:g}s"]
    return "".join(parts)


def usage_of(usage: TokenUsage) -> JsonObject:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def _finish(stop: str) -> str:
    return "stop" if stop == "refusal" else stop
