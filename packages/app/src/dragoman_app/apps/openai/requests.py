"""Requests for a chat completion: read leniently, and refused if an agent can't fulfil them.

Parameters that steer a model (`temperature`, `max_tokens`, …) are ignored: an agent has settings of its own.
`tools` are ignored too, because a model is free not to call them and an agent has tools of its own; a request
that demands a call is refused. So are several choices and answers in a fixed format.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from dragoman.decoders import json_decoder
from dragoman.schema import v1
from dragoman_app.apps.openai.failures import ApiFailure

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool", "function"]

R = TypeVar("R")

_DATA_URL = re.compile(r"data:(image/[a-z0-9.+-]+);base64,", re.IGNORECASE)


class TextPart(Struct, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """A text part."""

    text: str


class RefusalPart(Struct, frozen=True, kw_only=True, tag_field="type", tag="refusal"):
    """An assistant's refusal."""

    refusal: str


class ImageUrl(Struct, frozen=True, kw_only=True):
    """The address of an image."""

    url: str


class ImagePart(Struct, frozen=True, kw_only=True, tag_field="type", tag="image_url"):
    """An image; some clients leave out the object around its address."""

    image_url: ImageUrl | str

    @property
    def url(self) -> str:
        return self.image_url if isinstance(self.image_url, str) else self.image_url.url


Part: TypeAlias = TextPart | RefusalPart | ImagePart


class ChatMessage(Struct, frozen=True, kw_only=True):
    """A message of the conversation."""

    role: Role
    content: str | list[Part] | None = None

    @property
    def parts(self) -> list[Part]:
        """Return the content as a list."""
        if self.content is None:
            return []
        return [TextPart(text=self.content)] if isinstance(self.content, str) else self.content

    @property
    def images(self) -> list[ImagePart]:
        return [part for part in self.parts if isinstance(part, ImagePart)]


class StreamOptions(Struct, frozen=True, kw_only=True):
    """The options of a stream."""

    include_usage: bool | None = None


class ResponseFormat(Struct, frozen=True, kw_only=True):
    """The format of the answer."""

    type: str


class CompletionRequest(Struct, frozen=True, kw_only=True):
    """The supported fields of a request; all others are ignored."""

    messages: list[ChatMessage]
    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = None
    response_format: ResponseFormat | None = None
    tool_choice: str | dict[str, object] | None = None
    function_call: str | dict[str, object] | None = None

    @property
    def wants_usage(self) -> bool:
        """Whether a stream ends with the usage."""
        return bool(self.stream_options and self.stream_options.include_usage)


_decoder = json_decoder(CompletionRequest)


def read_completion_request(body: bytes) -> CompletionRequest:
    """Read a request. Raises `ApiFailure`."""
    request = read_body_as(_decoder, body)
    _check(request)
    return request


def read_body_as(decoder: msgspec.json.Decoder[R], body: bytes) -> R:
    """Decode a body with this decoder. Raises `ApiFailure`."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        why, _, place = str(error).partition(" - at `$")
        param = place.rstrip("`").lstrip(".") or None
        where = f" at {param}" if param else ""
        hint = "; parts are text and image_url" if param and param.endswith("type") else ""
        raise ApiFailure(400, f"the request is not understood: {why}{where}{hint}", param=param) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ApiFailure(400, "the body is not JSON") from None


def _check(request: CompletionRequest) -> None:
    if (request.n or 1) != 1:
        raise ApiFailure(400, "`n` is not supported: an agent answers once", param="n")
    if request.response_format is not None and request.response_format.type != "text":
        raise ApiFailure(
            400, "`response_format` is not supported: an agent answers in text", param="response_format"
        )
    refuse_demanded_call("tool_choice", request.tool_choice)
    refuse_demanded_call("function_call", request.function_call)


def refuse_demanded_call(param: str, choice: object) -> None:
    """Raise `ApiFailure` for a tool choice that a model could not ignore."""
    if choice not in (None, "none", "auto"):
        raise ApiFailure(
            400,
            f"the agent calls its own tools, never those of a request: `{param}` cannot demand a call",
            param=param,
        )


def image_block(part: ImagePart, *, param: str) -> v1.ImageContent:
    """Return the image for the agent. Raises `ApiFailure` for any address but a data URL:
    nothing is fetched.
    """
    match = _DATA_URL.match(part.url)
    if match is None:
        raise ApiFailure(
            400,
            "an image must be a data URL, such as data:image/png;base64,…; other addresses are not fetched",
            param=param,
            code="invalid_image_url",
        )
    data = part.url[match.end() :]
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise ApiFailure(
            400, "the base64 of an image is broken", param=param, code="invalid_image_url"
        ) from None
    return v1.ImageContent(data=data, mime_type=match[1].lower())
