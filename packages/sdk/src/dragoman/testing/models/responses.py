"""`/v1/responses`: OpenAI's newer format.

An answer is a list of items: reasoning, a message, function calls. Each is announced, filled by deltas and
told once more when it is whole, and the last event tells all of them again; clients rely on any of these, so
all are sent. What the server would have to remember between requests (`previous_response_id`) is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dragoman.testing.models.chat import CREATED, error_of, limit_headers
from dragoman.testing.models.requests import ModelRequest
from dragoman.testing.models.turns import FailStep, TokenUsage
from dragoman.testing.models.voice import ModelEvent, ModelOutput, ModelToolCall
from dragoman.wire.envelope import JsonObject

INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


class ResponsesFormat:
    """Writes one answer as a response, whole or in events."""

    def __init__(self, request: ModelRequest, *, number: int, refuses: bool) -> None:
        self._model = request.model
        self._number = number
        self._refuses = refuses
        self._sequence = 0
        self._items: list[JsonObject] = []
        self._open: str | None = None
        self._written_text = ""

    def begin(self, usage: TokenUsage) -> Iterator[ModelEvent]:
        for kind in ("response.created", "response.in_progress"):
            yield self._event(kind, response=self._response("in_progress"))

    def text(self, piece: str) -> Iterator[ModelEvent]:
        yield from self._item("message")
        kind = "response.refusal.delta" if self._refuses else "response.output_text.delta"
        yield self._in_part(kind, delta=piece, **({} if self._refuses else {"logprobs": []}))
        self._written_text += piece

    def thought(self, piece: str) -> Iterator[ModelEvent]:
        yield from self._item("reasoning")
        yield self._in_part("response.reasoning_summary_text.delta", delta=piece)
        self._written_text += piece

    def call(self, tool_call: ModelToolCall, pieces: Sequence[str]) -> Iterator[ModelEvent]:
        yield from self._close()
        item = {"type": "function_call", "call_id": tool_call.id, "name": tool_call.name, "arguments": ""}
        yield self._add(item)
        place = {"item_id": self._items[-1]["id"], "output_index": len(self._items) - 1}
        for piece in pieces:
            yield self._event("response.function_call_arguments.delta", **place, delta=piece)
        self._items[-1] |= {"arguments": tool_call.arguments, "status": "completed"}
        yield self._event("response.function_call_arguments.done", **place, arguments=tool_call.arguments)
        yield self._item_done_event()

    def end(self, output: ModelOutput) -> Iterator[ModelEvent]:
        yield from self._close()
        status = "incomplete" if output.stop in INCOMPLETE else "completed"
        yield self._event(f"response.{status}", response=self._response(status, output=output))

    def whole(self, output: ModelOutput) -> JsonObject:
        for kind, part in output.parts:
            if isinstance(part, ModelToolCall):
                events = self.call(part, [part.arguments])
            else:
                events = self.thought(part) if kind == "thought" else self.text(part)
            for _ in events:  # they fill the items
                pass
        last = list(self.end(output))[-1]
        whole: JsonObject = last.data["response"]
        return whole

    def error(self, fail: FailStep) -> JsonObject:
        return error_of(fail)

    def broken(self, fail: FailStep) -> Iterator[ModelEvent]:
        details = error_of(fail)["error"]
        error = {"code": details["code"] or details["type"], "message": details["message"]}
        yield self._event("response.failed", response={**self._response("failed"), "error": error})

    def headers(self, fail: FailStep, *, now: float) -> Mapping[str, str]:
        return limit_headers(fail)

    def _item(self, kind: str) -> Iterator[ModelEvent]:
        """Open an item of this kind, unless it is the one that is open."""
        if self._open == kind:
            return
        yield from self._close()
        self._open, self._written_text = kind, ""
        if kind == "reasoning":
            yield self._add({"type": "reasoning", "summary": []})
            yield self._in_part("response.reasoning_summary_part.added", part=self._part(""))
        else:
            yield self._add({"type": "message", "role": "assistant", "content": []})
            yield self._in_part("response.content_part.added", part=self._part(""))

    def _close(self) -> Iterator[ModelEvent]:
        if self._open is None:
            return
        part = self._part(self._written_text)
        item = self._items[-1]
        if self._open == "reasoning":
            yield self._in_part("response.reasoning_summary_text.done", text=self._written_text)
            yield self._in_part("response.reasoning_summary_part.done", part=part)
            item["summary"] = [part]
        else:
            if self._refuses:
                yield self._in_part("response.refusal.done", refusal=self._written_text)
            else:
                yield self._in_part("response.output_text.done", text=self._written_text, logprobs=[])
            yield self._in_part("response.content_part.done", part=part)
            item["content"] = [part]
        item["status"] = "completed"
        self._open = None
        yield self._item_done_event()

    def _part(self, text: str) -> JsonObject:
        if self._open == "reasoning":
            return {"type": "summary_text", "text": text}
        if self._refuses:
            return {"type": "refusal", "refusal": text}
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}

    def _add(self, item: JsonObject) -> ModelEvent:
        self._items.append(
            {"id": f"item_{self._number}_{len(self._items) + 1}", "status": "in_progress", **item}
        )
        return self._item_event("response.output_item.added")

    def _item_done_event(self) -> ModelEvent:
        return self._item_event("response.output_item.done")

    def _item_event(self, kind: str) -> ModelEvent:
        return self._event(kind, output_index=len(self._items) - 1, item=dict(self._items[-1]))

    def _in_part(self, kind: str, **members: object) -> ModelEvent:
        index = "summary_index" if self._open == "reasoning" else "content_index"
        place = {"item_id": self._items[-1]["id"], "output_index": len(self._items) - 1, index: 0}
        return self._event(kind, **place, **members)

    def _event(self, kind: str, **members: object) -> ModelEvent:
        number, self._sequence = self._sequence, self._sequence + 1
        return ModelEvent(kind, {"type": kind, "sequence_number": number, **members})

    def _response(self, status: str, *, output: ModelOutput | None = None) -> JsonObject:
        reason = INCOMPLETE.get(output.stop) if output else None
        return {
            "id": f"resp_{self._number}",
            "object": "response",
            "created_at": CREATED,
            "status": status,
            "error": None,
            "incomplete_details": {"reason": reason} if reason else None,
            "instructions": None,
            "metadata": {},
            "model": self._model,
            "output": [dict(item) for item in self._items],
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "usage": _usage(output.usage) if output else None,
        }


def _usage(usage: TokenUsage) -> JsonObject:
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    }
