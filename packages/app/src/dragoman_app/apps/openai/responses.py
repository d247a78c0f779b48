"""The Responses API of one server: finds the conversation of a request, and stores responses.

`previous_response_id` names a response that is kept; its conversation goes on in the session that had it. If
that session is gone or has gone on without it, a new one is told the conversation. `instructions` hold for
one response, as in OpenAI's API: a session is told them when they are not those that it was told last.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from dragoman.transport.http_asgi import Send, respond
from dragoman.wire.sse import KEEPALIVE
from dragoman_app.apps.gateway.report import TurnReport
from dragoman_app.apps.openai.failures import ApiFailure
from dragoman_app.apps.openai.history import MessageHistory
from dragoman_app.apps.openai.replies import (
    JSON,
    STREAM_HEADERS,
    AgentReply,
    comment,
    details_of,
    encode_safely,
    usage_of,
)
from dragoman_app.apps.openai.requests import ChatMessage
from dragoman_app.apps.openai.response_requests import ResponseRequest, input_item, read_response_request


class TurnRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt of a request, and the receiver of its answer."""

    model: str | None
    history: MessageHistory
    reply: AgentReply
    session_id: str = ""
    """The session to continue, if possible."""


class ResponsesApi:
    """The API for all clients of a server."""

    def __init__(self, *, model: str, show_tools: bool) -> None:
        self._model = model
        self._show_tools = show_tools
        self._stored = StoredResponses()

    def read(self, body: bytes, send: Send, owner: Hashable) -> TurnRequest:
        """Read a request for a response. Raises `ApiFailure`."""
        request = read_response_request(body)
        previous = None
        if request.previous_response_id is not None:
            previous = self._stored.find(request.previous_response_id, owner=owner)
            if previous is None:
                raise previous_not_found(request.previous_response_id)
        new = [*_instructions(request, previous), *request.messages]
        earlier = [] if previous is None else self._stored.conversation(previous)

        def keep(reply: ResponseReply, report: TurnReport, whole: bytes) -> None:
            if request.is_stored:
                self._stored.add(
                    StoredResponse(
                        id=reply.id,
                        owner=owner,
                        previous_id=request.previous_response_id,
                        instructions=request.instructions,
                        messages=[*new, ChatMessage(role="assistant", content=reply.text)],
                        session_id=report.session_id,
                        body=whole,
                    )
                )

        kind = StreamedResponse if request.stream else ResponseReply
        reply = kind(send, request, model=self._model, show_tools=self._show_tools, on_finish=keep)
        return TurnRequest(
            model=request.model,
            history=MessageHistory([*earlier, *new], param="input"),
            reply=reply,
            session_id="" if previous is None else previous.session_id,
        )

    async def on_stored(self, method: str, path: str, send: Send, owner: Hashable) -> None:
        """Handle a request about a stored response; `path` is the part after `/v1/responses/`."""
        response_id, _, rest = path.partition("/")
        response = self._stored.find(response_id, owner=owner)
        if response is None or rest not in ("", "input_items"):
            raise ApiFailure(404, f"no response {path[:100]!r} here", code="response_not_found")
        if method == "GET":
            body = encode_safely(_input_items(response)) if rest else response.body
            await respond(send, 200, body, kind=JSON)
        elif method == "DELETE" and not rest:
            self._stored.delete(response)
            deletion = {"id": response_id, "object": "response", "deleted": True}
            await respond(send, 200, encode_safely(deletion), kind=JSON)
        else:
            raise ApiFailure(405, "the methods here are GET and DELETE", headers=[(b"allow", b"GET, DELETE")])


def _instructions(request: ResponseRequest, previous: StoredResponse | None) -> list[ChatMessage]:
    is_known = previous is not None and previous.instructions == request.instructions
    if not request.instructions or is_known:
        return []
    return [ChatMessage(role="system", content=request.instructions)]


def _input_items(response: StoredResponse) -> dict[str, object]:
    """The newest first, which is the order of OpenAI's API."""
    messages = list(enumerate(response.messages[:-1]))
    items = [input_item(message, f"{response.id}_{number}") for number, message in reversed(messages)]
    ids = [item["id"] for item in items]
    return {
        "object": "list",
        "data": items,
        "first_id": ids[0] if ids else None,
        "last_id": ids[-1] if ids else None,
        "has_more": False,
    }


# Responses that are kept, so that a client can go on with one by its id, read it again, or delete it.
#
# They are kept in memory alone, bounded in number and in bytes: those that were used longest ago go first,
# and all of them go with the process. A response belongs to the owner of the token it was made with. It
# keeps what its own request brought and what the agent answered, and the id of the response before it.

MOST_RESPONSES = 10_000
MOST_BYTES = 64 * 1024 * 1024


class StoredResponse(Struct, frozen=True, kw_only=True):
    """A response that can be continued."""

    id: str
    owner: Hashable
    previous_id: str | None
    instructions: str | None
    """The last instructions of the session, which need not be sent again."""
    messages: Sequence[ChatMessage]
    """The new messages of its request, and the answer."""
    session_id: str
    body: bytes
    """The response as sent."""

    @property
    def size(self) -> int:
        """The approximate size in bytes."""
        return len(self.body) + len(msgspec.json.encode(self.messages)) + 500


class StoredResponses:
    """All stored responses, the least recently used first."""

    def __init__(self, *, most_responses: int = MOST_RESPONSES, most_bytes: int = MOST_BYTES) -> None:
        self._responses: OrderedDict[str, StoredResponse] = OrderedDict()
        self._bytes = 0
        self._most_responses = most_responses
        self._most_bytes = most_bytes

    def add(self, response: StoredResponse) -> None:
        """Store a response; older ones may be dropped."""
        self._responses[response.id] = response
        self._bytes += response.size
        while len(self._responses) > self._most_responses or self._bytes > self._most_bytes:
            self._remove(next(iter(self._responses)))

    def find(self, response_id: str, *, owner: Hashable) -> StoredResponse | None:
        """Return a stored response by id, if it belongs to this owner."""
        response = self._responses.get(response_id)
        return response if response is not None and response.owner == owner else None

    def delete(self, response: StoredResponse) -> None:
        """Delete a response. Later responses can only be continued while their session is open."""
        self._remove(response.id)

    def conversation(self, response: StoredResponse) -> list[ChatMessage]:
        """Return all messages up to the answer of this response. Raises `ApiFailure` if
        some are not stored.
        """
        chain = [response]
        while chain[-1].previous_id is not None:
            previous = self.find(chain[-1].previous_id, owner=response.owner)
            if previous is None:
                raise previous_not_found(chain[-1].previous_id)
            chain.append(previous)
        for link in reversed(chain):
            self._responses.move_to_end(link.id)
        return [message for link in reversed(chain) for message in link.messages]

    def _remove(self, response_id: str) -> None:
        self._bytes -= self._responses.pop(response_id).size


def previous_not_found(response_id: str) -> ApiFailure:
    """Return the error for an unknown previous response, in the words of the API."""
    return ApiFailure(
        400,
        f"the previous response {response_id[:100]!r} is not kept here: it was made with `store` false or "
        "another token, was deleted, or the server was started anew. Send the whole conversation as `input`",
        param="previous_response_id",
        code="previous_response_not_found",
    )


# A turn as a response of the Responses API: one object at the end, or a stream of typed events.
#
# The output is one message. Tool calls are comments of the stream (`: tool …`), as in a chat completion: as
# items of the output they would ask the client to run them. The object has a member `dragoman` with the
# session, the agent's own stop reason, the tool calls, what was refused, and notes.
#
# Specification: https://platform.openai.com/docs/api-reference/responses-streaming

INCOMPLETE = {
    "max_tokens": "max_output_tokens",
    "max_turn_requests": "max_output_tokens",
    "refusal": "content_filter",
}
"""Stop reasons of an incomplete answer, in OpenAI's words."""


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
    """The answer as events. The first event sends the status: an earlier failure has its own."""

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
