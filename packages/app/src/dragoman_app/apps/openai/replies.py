"""A turn as a chat completion: a stream of chunks, or one object at the end; and the fields of every answer.

Text is `content`. Tool calls are comments of the stream (`: tool …`), which clients skip; so is what the
policy refused. Plans and thoughts are not shown. The last chunk, or the object, has a member `dragoman`:
the session, the agent's own stop reason, the tool calls, what was refused, and notes.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from abc import ABC, abstractmethod

import msgspec

from dragoman.schema import v1
from dragoman.text.sanitize import sanitize_json, sanitize_line
from dragoman.transport.http_asgi import Send, respond
from dragoman.wire.sse import KEEPALIVE, encode_event
from dragoman_app.apps.gateway.report import LONGEST_TITLE, MOST_TEXT, TurnEvent, TurnReport, token_counts
from dragoman_app.apps.openai.failures import ApiFailure

FINISH_REASONS = {
    "end_turn": "stop",
    "max_tokens": "length",
    "max_turn_requests": "length",
    "refusal": "content_filter",
    "cancelled": "stop",
}

JSON = b"application/json"

STREAM_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),  # a proxy that collects answers would hold events back
]


class AgentReply(ABC):
    """Collects the agent's text for an answer in one object."""

    def __init__(self, send: Send, *, show_tools: bool = False) -> None:
        self.has_turn = False
        """Whether the turn has begun, so that the agent may have done something."""
        self._send = send
        self._show_tools = show_tools
        self._pieces: list[str] = []
        self._size = 0
        self._tool_ids: set[str] = set()
        self._is_after_tool = False

    @property
    def text(self) -> str:
        """The text of the assistant's message for the client."""
        return "".join(self._pieces)

    async def on_event(self, event: TurnEvent) -> None:
        """Handle an event of the agent."""
        if event.kind == "text":
            await self._add(event.text.lstrip("\n") if self._is_after_tool else event.text)
            self._is_after_tool = False
        elif event.call is not None:
            await self._comment(f"tool {event.call.status} {event.call.kind} {event.text}")
            if self._show_tools and event.call.id not in self._tool_ids:
                self._tool_ids.add(event.call.id)
                gap = "\n\n" if self._pieces and not self._is_after_tool else ""
                await self._add(f"{gap}[{event.call.kind}: {line_of(event.text)}]\n\n")
                self._is_after_tool = True

    async def _add(self, piece: str) -> None:
        piece = piece[: MOST_TEXT - self._size]
        self._pieces.append(piece)
        self._size += len(piece)

    async def _comment(self, text: str) -> None:  # noqa: B027  streams have a place for it
        """One object has no place for it; its member `dragoman` names the tool calls."""

    async def keep_alive(self) -> None:  # noqa: B027  as above
        """Show that the turn still runs, if that is possible."""

    @abstractmethod
    async def finish(self, report: TurnReport) -> None:
        """Finish the answer: the turn has ended."""

    async def fail(self, failure: ApiFailure) -> None:
        """Fail the request: there is no answer."""
        await respond(self._send, failure.status, failure.body, kind=JSON, headers=failure.headers)


class CompletionReply(AgentReply):
    """The answer as one object."""

    kind = "chat.completion"

    def __init__(self, send: Send, *, model: str, show_tools: bool = False) -> None:
        super().__init__(send, show_tools=show_tools)
        self._head = {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "object": self.kind,
            "created": int(time.time()),
            "model": model,
        }

    async def finish(self, report: TurnReport) -> None:
        reason = "length" if report.is_cut else finish_reason(report)
        message = {"role": "assistant", "content": self.text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        whole: dict[str, object] = {**self._head, "choices": [choice], "dragoman": details_of(report)}
        usage = usage_of(report.usage)
        if usage is not None:
            whole["usage"] = usage
        await respond(self._send, 200, encode_safely(whole), kind=JSON)


class StreamedReply(CompletionReply):
    """The answer as events. The first event sends the status: an earlier failure has its own."""

    kind = "chat.completion.chunk"

    def __init__(self, send: Send, *, model: str, show_tools: bool = False, usage: bool = False) -> None:
        super().__init__(send, model=model, show_tools=show_tools)
        self._usage = usage
        self._has_begun = False
        self._sending = asyncio.Lock()  # the turn and the sign of life write at the same time

    async def _write(self, data: bytes, *, is_last: bool = False) -> None:
        async with self._sending:
            if not self._has_begun:
                self._has_begun = True
                await self._send({"type": "http.response.start", "status": 200, "headers": STREAM_HEADERS})
                data = self._chunk({"role": "assistant", "content": ""}) + data
            await self._send({"type": "http.response.body", "body": data, "more_body": not is_last})
        # An agent that floods shall not keep others, or the news that the client has left, from the loop.
        await asyncio.sleep(0)

    def _chunk(self, delta: dict[str, str], *, reason: str | None = None, **more: object) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return encode_event(encode_safely({**self._head, "choices": [choice], **more}))

    async def _add(self, piece: str) -> None:
        await super()._add(piece)
        if piece:
            await self._write(self._chunk({"content": piece}))

    async def _comment(self, text: str) -> None:
        await self._write(comment(text))

    async def keep_alive(self) -> None:
        await self._write(KEEPALIVE)

    async def finish(self, report: TurnReport) -> None:
        refusals = [comment(f"refused {refusal.text}") for refusal in report.refusals]
        last = self._chunk({}, reason=finish_reason(report), dragoman=details_of(report))
        usage = usage_of(report.usage) if self._usage else None
        counts = (
            b""
            if usage is None
            else encode_event(encode_safely({**self._head, "choices": [], "usage": usage}))
        )
        await self._write(b"".join([*refusals, last, counts, encode_event(b"[DONE]")]), is_last=True)

    async def fail(self, failure: ApiFailure) -> None:
        if self._has_begun:
            await self._write(encode_event(failure.body), is_last=True)
        else:
            await super().fail(failure)


def finish_reason(report: TurnReport) -> str:
    """Return OpenAI's word for the end of a turn; the agent's own is in `dragoman`."""
    return FINISH_REASONS.get(report.stop_reason, "stop")


def usage_of(usage: v1.Usage | None) -> dict[str, object] | None:
    """Return the agent's token counts. OpenAI counts cached tokens as part of the prompt, and thoughts as
    part of the completion. Agents do the same or count them separately; the total shows which.
    """
    counts = token_counts(usage)
    if counts is None:
        return None
    cache_reads, thoughts = counts.get("cachedReadTokens", 0), counts.get("thoughtTokens", 0)
    prompt, completion, total = counts["inputTokens"], counts["outputTokens"], counts["totalTokens"]
    all_cached = cache_reads + counts.get("cachedWriteTokens", 0)
    if prompt + all_cached + completion + thoughts <= total:
        prompt, completion = prompt + all_cached, completion + thoughts
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": total,
        "prompt_tokens_details": {"cached_tokens": cache_reads},
        "completion_tokens_details": {"reasoning_tokens": thoughts},
    }


def details_of(report: TurnReport) -> dict[str, object]:
    """Return the details without a field in OpenAI's API."""
    return {
        "session": report.session_id,
        "stop_reason": report.stop_reason,
        "tools": report.calls,
        "refused": report.refusals,
        "notes": report.notes,
    }


def line_of(text: str) -> str:
    """Return a title of the agent that is safe to show."""
    return sanitize_line(text[:LONGEST_TITLE])


def comment(text: str) -> bytes:
    """Return a line of a stream that clients skip."""
    return b": %b\n\n" % line_of(text).encode(errors="replace")


def encode_safely(value: object) -> bytes:
    """Return JSON without raw control characters."""
    return sanitize_json(msgspec.json.encode(value))
