"""The requests to a scripted model: each as received, and in a form that does not depend on the wire format.

    request.messages[-1].text       what was said last
    request.system                  the instructions
    request.tools["read"]           a tool the model was offered, with its schema
    request.images                  pictures, wherever they stand
    request.body, request.headers   as they came

Reading is lenient: what has another shape is left out, and stays in `body`. Nothing that is printed shows a
header's value or a key.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from dragoman.wire.envelope import Json, JsonObject

Format: TypeAlias = Literal["chat", "responses", "messages", "gemini"]
"""The wire formats: `/v1/chat/completions` and `/v1/responses` of OpenAI, `/v1/messages` of Anthropic, and
`/v1beta/models/NAME:generateContent` of Google.
"""

Outcome: TypeAlias = Literal["under way", "answered", "failed", "broken off", "abandoned"]
"""The outcome of a request. `failed` is a deliberate error, `broken off` a deliberate cut; `abandoned` means
that the client left.
"""


@dataclass(frozen=True)
class Image:
    """A picture: its bytes or its address."""

    media_type: str | None
    data: bytes = field(default=b"", repr=False)
    url: str | None = None


@dataclass(frozen=True)
class ToolUse:
    """An earlier call of the model, as the client remembers it."""

    id: str
    name: str
    arguments: Json


@dataclass(frozen=True)
class ToolResult:
    """The output of a tool."""

    id: str
    text: str
    is_error: bool = False


@dataclass(frozen=True)
class ModelMessage:
    """One message of the conversation so far."""

    role: str
    text: str
    images: tuple[Image, ...] = ()
    calls: tuple[ToolUse, ...] = ()
    results: tuple[ToolResult, ...] = ()
    thoughts: str = ""


@dataclass(frozen=True)
class ToolDefinition:
    """A tool that the model may call."""

    name: str
    description: str
    parameters: Mapping[str, Json]


class Headers(dict[str, str]):
    """Headers by lower-case name. Printing them hides credentials."""

    def __repr__(self) -> str:
        return repr({name: "…" if SECRET.search(name) else value for name, value in self.items()})


SECRET = re.compile(r"auth|key|token|cookie|secret")


class ModelRequest:
    """One request for a turn."""

    def __init__(self, format: Format, path: str, headers: Mapping[str, str], body: object) -> None:
        self.format: Format = format
        self.path = path
        self.headers = Headers(headers)
        self.body: JsonObject = body if isinstance(body, dict) else {}
        self.outcome: Outcome = "under way"
        self.turn: int | None = None
        """Which turn of the script answers it, counted from 0; None if there was none."""
        self._over = asyncio.Event()

    def __repr__(self) -> str:
        last_text = self.messages[-1].text if self.messages else ""
        return (
            f"<{self.format} to {self.model}: {len(self.messages)} messages, {len(self.tools)} tools, "
            f"{self.outcome}, last said {last_text[:80]!r}>"
        )

    def end(self, outcome: Outcome) -> None:
        """Set the outcome, for the server. Only the first one counts: it is set before the last byte is sent,
        so that a client with the answer can read it here.
        """
        if self.outcome == "under way":
            self.outcome = outcome
        self._over.set()

    async def over(self) -> Outcome:
        """Wait until the request is answered, broken off or abandoned."""
        await self._over.wait()
        return self.outcome

    @property
    def model(self) -> str:
        if self.format == "gemini":
            return self.path.rpartition("/")[2].partition(":")[0]
        return str(self.body.get("model", ""))

    @property
    def streams(self) -> bool:
        if self.format == "gemini":
            return self.path.endswith(":streamGenerateContent")
        return self.body.get("stream") is True

    @property
    def key(self) -> str | None:
        """The API key, from any header or parameter."""
        bearer = self.headers.get("authorization", "")
        if bearer.lower().startswith("bearer "):
            return bearer[7:]
        return self.headers.get("x-api-key", self.headers.get("x-goog-api-key"))

    @property
    def system(self) -> str:
        """The instructions, joined."""
        own = self.body.get(
            {"responses": "instructions", "gemini": "systemInstruction"}.get(self.format, "system")
        )
        if self.format == "gemini" and isinstance(own, dict):
            own = own.get("parts")
        parts = [_text(own), *(message.text for message in self._all() if message.role in INSTRUCTING)]
        return "\n".join(part for part in parts if part)

    @property
    def messages(self) -> list[ModelMessage]:
        """The conversation without instructions; tool output has the role `tool`."""
        return [message for message in self._all() if message.role not in INSTRUCTING]

    @property
    def tools(self) -> dict[str, ToolDefinition]:
        entries = list(_dicts(self.body.get("tools")))
        if self.format == "gemini":
            entries = [entry for group in entries for entry in _dicts(group.get("functionDeclarations"))]
        return {tool.name: tool for tool in map(_tool, entries) if tool.name}

    @property
    def images(self) -> list[Image]:
        return [image for message in self._all() for image in message.images]

    @property
    def results(self) -> dict[str, ToolResult]:
        """The output of tools in the whole conversation, by the id of the call."""
        return {result.id: result for message in self._all() for result in message.results}

    @property
    def text(self) -> str:
        """The text of the last message, by the user or a tool."""
        last = self.messages[-1] if self.messages else None
        if last is None:
            return ""
        return last.text or "\n".join(result.text for result in last.results)

    def _all(self) -> list[ModelMessage]:
        if self.format == "gemini":
            return [_content(entry) for entry in _dicts(self.body.get("contents"))]
        content = self.body.get("input" if self.format == "responses" else "messages")
        if isinstance(content, str) and self.format == "responses":
            return [ModelMessage("user", content)]
        return [
            _item(entry) if "type" in entry and "role" not in entry else _message(entry)
            for entry in _dicts(content)
        ]


INSTRUCTING = ("system", "developer")


def _message(entry: Mapping[str, Json]) -> ModelMessage:
    """A message of any format: they differ in the parts of their content."""
    content = entry.get("content")
    parts = list(_dicts(content))
    calls = [
        ToolUse(
            str(use.get("id")),
            str(use.get("function", {}).get("name")),
            _json(use.get("function", {}).get("arguments")),
        )
        for use in _dicts(entry.get("tool_calls"))
    ]
    calls += [
        ToolUse(str(part.get("id")), str(part.get("name")), part.get("input"))
        for part in parts
        if part.get("type") == "tool_use"
    ]
    results = tuple(_result(part) for part in parts if part.get("type") == "tool_result")
    role = str(entry.get("role"))
    if role == "tool":
        results = (ToolResult(str(entry.get("tool_call_id")), _text(content)),)
    elif results and all(part.get("type") == "tool_result" for part in parts):
        role = "tool"
    thoughts = "".join(str(part.get("thinking", "")) for part in parts if part.get("type") == "thinking")
    return ModelMessage(
        role,
        _text(content),
        tuple(_images(parts)),
        tuple(calls),
        results,
        thoughts or str(entry.get("reasoning_content") or ""),
    )


def _item(entry: Mapping[str, Json]) -> ModelMessage:
    """An item of the responses format that is not a message."""
    if entry.get("type") == "function_call":
        use = ToolUse(str(entry.get("call_id")), str(entry.get("name")), _json(entry.get("arguments")))
        return ModelMessage("assistant", "", calls=(use,))
    if entry.get("type") == "function_call_output":
        text = _text(entry.get("output"))
        return ModelMessage("tool", text, results=(ToolResult(str(entry.get("call_id")), text),))
    thoughts = _text(entry.get("summary")) if entry.get("type") == "reasoning" else ""
    return ModelMessage("assistant", "", thoughts=thoughts)


def _content(entry: Mapping[str, Json]) -> ModelMessage:
    """A content of Google's format. Calls without an id have their name in its place."""
    parts = list(_dicts(entry.get("parts")))
    calls = [call for part in parts if isinstance(call := part.get("functionCall"), dict)]
    results = [result for part in parts if isinstance(result := part.get("functionResponse"), dict)]
    role = "assistant" if entry.get("role") == "model" else str(entry.get("role", "user"))
    thoughts = [part for part in parts if part.get("thought") is True]
    return ModelMessage(
        "tool" if results and len(results) == len(parts) else role,
        _text([part for part in parts if part.get("thought") is not True]),
        tuple(_images(parts)),
        tuple(
            ToolUse(str(call.get("id") or call.get("name")), str(call.get("name")), call.get("args"))
            for call in calls
        ),
        tuple(map(_function_response, results)),
        _text(thoughts),
    )


def _function_response(fields: Mapping[str, Json]) -> ToolResult:
    response = fields.get("response")
    values: JsonObject = response if isinstance(response, dict) else {"output": response}
    value = values.get("error", values.get("output", values))
    text = value if isinstance(value, str) else json.dumps(value)
    return ToolResult(str(fields.get("id") or fields.get("name")), text, "error" in values)


def _result(part: Mapping[str, Json]) -> ToolResult:
    return ToolResult(str(part.get("tool_use_id")), _text(part.get("content")), part.get("is_error") is True)


def _tool(entry: Mapping[str, Json]) -> ToolDefinition:
    inner = entry.get("function")
    fields = inner if isinstance(inner, dict) else entry
    names = ("parameters", "input_schema", "parametersJsonSchema")
    schema = next((fields[name] for name in names if name in fields), None)
    return ToolDefinition(
        str(fields.get("name", "")),
        str(fields.get("description") or ""),
        schema if isinstance(schema, dict) else {},
    )


def _images(parts: list[JsonObject]) -> Iterator[Image]:
    for part in parts:
        source = part.get("source")
        address = part.get("image_url")
        inline = part.get("inlineData")
        if part.get("type") == "image" and isinstance(source, dict):
            data = _bytes(str(source.get("data", "")))
            yield Image(source.get("media_type"), data, source.get("url"))
        elif isinstance(inline, dict):
            yield Image(inline.get("mimeType"), _bytes(str(inline.get("data", ""))))
        elif part.get("type") in ("image_url", "input_image"):
            yield _from_address(str(address.get("url", "")) if isinstance(address, dict) else str(address))
        elif part.get("type") == "tool_result":
            yield from _images(list(_dicts(part.get("content"))))


def _from_address(address: str) -> Image:
    head, comma, data = address.partition(",")
    if not (head.startswith("data:") and comma):
        return Image(None, url=address)
    return Image(head[5:].partition(";")[0] or None, _bytes(data))


def _bytes(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error:
        return b""


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) for part in _dicts(content) if isinstance(part.get("text"), str))


def _json(text: Json) -> Json:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text


def _dicts(value: object) -> Iterator[JsonObject]:
    return (entry for entry in value if isinstance(entry, dict)) if isinstance(value, list) else iter(())
