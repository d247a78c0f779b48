"""Requests of the Responses API: read leniently, and refused if an agent can't fulfil them.

What is read becomes messages, as in a request for a chat completion, so that both have one way from there.
Items that only describe what a model did before (its reasoning, calls of its tools) say nothing to an agent
and are left out. What is refused is what chat completions refuse, and what would need a store of ours:
conversations, templates of prompts, references to items, work in the background.

Specification: https://platform.openai.com/docs/api-reference/responses/create
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, cast, get_args

import msgspec
from msgspec import Struct

from dragoman.decoders import json_decoder
from dragoman_app.apps.openai.failures import ApiFailure
from dragoman_app.apps.openai.requests import (
    ChatMessage,
    ImagePart,
    Part,
    RefusalPart,
    ResponseFormat,
    Role,
    TextPart,
    read_body_as,
    refuse_demanded_call,
)

InputItem: TypeAlias = dict[str, Any]  # any JSON object: items have many kinds, and most say nothing to us

_ROLES = get_args(Role)


class TextSettings(Struct, frozen=True, kw_only=True):
    """The text settings of the answer."""

    format: ResponseFormat | None = None


class ResponseRequest(Struct, frozen=True, kw_only=True):
    """The supported fields of a request; all others are ignored."""

    input: str | list[InputItem] = ""
    model: str | None = None
    instructions: str | None = None
    previous_response_id: str | None = None
    store: bool | None = None
    stream: bool | None = None
    metadata: dict[str, str] | None = None
    text: TextSettings | None = None
    tool_choice: str | dict[str, object] | None = None
    background: bool | None = None
    conversation: object = None
    prompt: object = None

    @property
    def is_stored(self) -> bool:
        """Whether the response is stored: as in OpenAI's API, true unless the client says otherwise."""
        return self.store is not False

    @property
    def messages(self) -> list[ChatMessage]:
        """Return the input as messages. Raises `ApiFailure` for an unknown item."""
        if isinstance(self.input, str):
            return [ChatMessage(role="user", content=self.input)]
        return [message for item in self.input for message in _messages_of(item)]


_decoder = json_decoder(ResponseRequest)


def read_response_request(body: bytes) -> ResponseRequest:
    """Read a request. Raises `ApiFailure`."""
    request = read_body_as(_decoder, body)
    for param, value, why in (
        ("background", request.background, "`background` is not supported: the client waits for the turn"),
        ("conversation", request.conversation, "`conversation` is not supported: use `previous_response_id`"),
        ("prompt", request.prompt, "prompt templates are not supported: put the text into `input`"),
    ):
        if value:
            raise ApiFailure(400, why, param=param)
    if request.text is not None and request.text.format is not None and request.text.format.type != "text":
        raise ApiFailure(400, "`text.format` is not supported: an agent answers in text", param="text.format")
    refuse_demanded_call("tool_choice", request.tool_choice)
    return request


def _messages_of(item: InputItem) -> Iterator[ChatMessage]:
    kind = item.get("type", "message")
    if kind == "message":
        role = item.get("role")
        if role not in _ROLES:
            raise _misunderstanding(f"unknown message role {str(role)[:40]!r}")
        yield ChatMessage(role=cast(Role, role), content=_content_of(item.get("content")))
    elif kind in ("function_call_output", "custom_tool_call_output"):
        yield ChatMessage(role="tool", content=_content_of(item.get("output")))
    elif kind == "item_reference":
        raise _misunderstanding("items are not stored: send the item itself, or use `previous_response_id`")


def _content_of(content: object) -> str | list[Part]:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise _misunderstanding("the content of an item must be a text or a list of parts")
    return [_part_of(part) for part in content if isinstance(part, dict)]


def _part_of(part: Mapping[str, Any]) -> Part:
    match part:
        case {"type": "input_text" | "output_text" | "text", "text": str(text)}:
            return TextPart(text=text)
        case {"type": "refusal", "refusal": str(refusal)}:
            return RefusalPart(refusal=refusal)
        case {"type": "input_image", "image_url": str(url)}:
            return ImagePart(image_url=url)
    raise _misunderstanding(
        f"parts are input_text, output_text, refusal and input_image with an image_url, "
        f"not {str(part.get('type'))[:40]!r}"
    )


def _misunderstanding(why: str) -> ApiFailure:
    return ApiFailure(400, f"the request is not understood: {why}", param="input")


def input_item(message: ChatMessage, item_id: str) -> dict[str, object]:
    """Return a message as its original item; images are named by their address."""
    parts: list[dict[str, object]] = [
        {"type": "input_image", "image_url": part.url, "detail": "auto"}
        if isinstance(part, ImagePart)
        else msgspec.to_builtins(part)
        if isinstance(part, RefusalPart)
        else {"type": "output_text", "text": part.text, "annotations": []}
        if message.role == "assistant"
        else {"type": "input_text", "text": part.text}
        for part in message.parts
    ]
    return {"id": item_id, "type": "message", "role": message.role, "status": "completed", "content": parts}
