"""A turn as a response of the Responses API: one object at the end, or a stream of typed events.

The output is one message. Tool calls are comments of the stream (`: tool …`), as in a chat completion: as
items of the output they would ask the client to run them. The object has a member `dragoman` with the
session, the agent's own stop reason, the tool calls, what was refused, and notes.

Specification: https://platform.openai.com/docs/api-reference/responses-streaming
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from typing import Any

import msgspec

from dragoman.transport.http_asgi import Send, respond
from dragoman.wire.sse import KEEPALIVE
from dragoman_app.apps.gateway.report import TurnReport
from dragoman_app.apps.openai.failures import ApiFailure
from dragoman_app.apps.openai.replies import (
    JSON,
    STREAM_HEADERS,
    AgentReply,
    comment,
    details_of,
    encode_safely,
    usage_of,
)
from dragoman_app.apps.openai.response_requests import ResponseRequest

INCOMPLETE = {
    "max_tokens": "max_output_tokens",
    "max_turn_requests": "max_output_tokens",
    "refusal": "content_filter",
}
"""Stop reasons by which an answer is not whole, in OpenAI's words."""


class ResponseReply(AgentReply):
    """The answer as one object. `on_finish` gets it before it is sent."""

    def __init__(
        self,
        send: Send,
        request: ResponseRequest,
        *,
        model: str,
        show_tools: bool,
        on_finish: Callable[[ResponseReply, TurnReport, bytes], None],
    ) -> None:
        super().__init__(send, show_tools=show_tools)
        self.id = f"resp_{uuid.uuid4().hex}"
        self._item_id = f"msg_{uuid.uuid4().hex}"
        self._on_finish = on_finish
        self._head: dict[str, object] = {
            "id": self.id,
            "object": "response",
            "created_at": int(time.time()),
            "model": model,
            "instructions": request.instructions,
            "previous_response_id": request.previous_response_id,
            "store": request.is_stored,
            "metadata": request.metadata or {},
            "background": False,
            "error": None,
            "incomplete_details": None,
            "max_output_tokens": None,
            "parallel_tool_calls": True,
            "reasoning": {"effort": None, "summary": None},
            "temperature": None,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            "truncation": "disabled",
            "usage": None,
            "user": None,
        }

    def _part(self, text: str) -> dict[str, object]:
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}

    def _item(self, status: str) -> dict[str, object]:
        content = [] if status == "in_progress" else [self._part(self.text)]
        return {
            "id": self._item_id,
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": content,
        }

    def _whole(self, report: TurnReport) -> dict[str, object]:
        reason = "max_output_tokens" if report.is_cut else INCOMPLETE.get(report.stop_reason)
        status = "incomplete" if reason else "completed"
        return {
            **self._head,
            "status": status,
            "incomplete_details": {"reason": reason} if reason else None,
            "output": [self._item(status)],
            "usage": _usage(report),
            "dragoman": details_of(report),
        }

    async def finish(self, report: TurnReport) -> None:
        body = encode_safely(self._whole(report))
        self._on_finish(self, report, body)
        await respond(self._send, 200, body, kind=JSON)


class StreamedResponse(ResponseReply):
    """The answer as events. The status is sent with the first of them: what fails before has its own."""

    _number = 0
    _has_begun = False

    def __init__(self, send: Send, request: ResponseRequest, **more: Any) -> None:
        super().__init__(send, request, **more)
        self._sending = asyncio.Lock()  # the turn and the sign of life write at the same time

    async def _write(self, *events: bytes | dict[str, object], is_last: bool = False) -> None:
        """Send events, or lines of the stream that are none."""
        async with self._sending:
            if not self._has_begun:
                self._has_begun = True
                await self._send({"type": "http.response.start", "status": 200, "headers": STREAM_HEADERS})
                events = (*self._opening_events(), *events)
            data = b"".join(event if isinstance(event, bytes) else self._encode(event) for event in events)
            await self._send({"type": "http.response.body", "body": data, "more_body": not is_last})
        # An agent that floods shall not keep others, or the news that the client has left, from the loop.
        await asyncio.sleep(0)

    def _encode(self, event: dict[str, object]) -> bytes:
        data = encode_safely({**event, "sequence_number": self._number})
        self._number += 1
        return b"event: %b\ndata: %b\n\n" % (str(event["type"]).encode(), data)

    def _opening_events(self) -> list[dict[str, object]]:
        response = {**self._head, "status": "in_progress", "output": []}
        return [
            {"type": "response.created", "response": response},
            {"type": "response.in_progress", "response": response},
            {
                "type": "response.output_item.added",
                "output_index": 0,
                "item": self._item("in_progress"),
            },
            self._of_part("response.content_part.added", part=self._part("")),
        ]

    def _of_part(self, kind: str, **more: object) -> dict[str, object]:
        return {"type": kind, "item_id": self._item_id, "output_index": 0, "content_index": 0, **more}

    async def _add(self, piece: str) -> None:
        await super()._add(piece)
        if piece:
            await self._write(self._of_part("response.output_text.delta", delta=piece, logprobs=[]))

    async def _comment(self, text: str) -> None:
        await self._write(comment(text))

    async def keep_alive(self) -> None:
        await self._write(KEEPALIVE)

    async def finish(self, report: TurnReport) -> None:
        whole = self._whole(report)
        self._on_finish(self, report, encode_safely(whole))
        await self._write(
            *[comment(f"refused {refusal.text}") for refusal in report.refusals],
            self._of_part("response.output_text.done", text=self.text, logprobs=[]),
            self._of_part("response.content_part.done", part=self._part(self.text)),
            {
                "type": "response.output_item.done",
                "output_index": 0,
                "item": self._item(str(whole["status"])),
            },
            {"type": f"response.{whole['status']}", "response": whole},
            is_last=True,
        )

    async def fail(self, failure: ApiFailure) -> None:
        if not self._has_begun:
            await super().fail(failure)
            return
        code = "rate_limit_exceeded" if failure.status == 429 else "server_error"
        message = msgspec.json.decode(failure.body)["error"]["message"]
        response = {
            **self._head,
            "status": "failed",
            "error": {"code": code, "message": message},
            "output": [self._item("incomplete")],
        }
        await self._write({"type": "response.failed", "response": response}, is_last=True)


def _usage(report: TurnReport) -> dict[str, object] | None:
    counts = usage_of(report.usage)
    if counts is None:
        return None
    return {
        "input_tokens": counts["prompt_tokens"],
        "input_tokens_details": counts["prompt_tokens_details"],
        "output_tokens": counts["completion_tokens"],
        "output_tokens_details": counts["completion_tokens_details"],
        "total_tokens": counts["total_tokens"],
    }
