"""A client of scripted models that looks at bytes: one request a connection."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NamedTuple

from dragoman.testing.models import ScriptedModel

CHAT = "/v1/chat/completions"
MESSAGES = "/v1/messages"
RESPONSES = "/v1/responses"


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes
    whole: bool
    """Whether it ended as its head says."""

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        """The data of a stream, without its `[DONE]`."""
        lines = [line[6:] for line in self.body.decode().split("\n") if line.startswith("data: ")]
        return [json.loads(line) for line in lines if line != "[DONE]"]


def asked(text: str = "Hi", **members: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], **members}


def written(path: str, body: Any, headers: dict[str, str] | None = None, *, method: str = "POST") -> bytes:
    data = json.dumps(body).encode() if body is not None else b""
    lines = [f"{method} {path} HTTP/1.1", "host: localhost", f"content-length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode() + data


async def opened(model: ScriptedModel) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = model.url.removeprefix("http://").split(":")
    return await asyncio.open_connection(host, int(port))


async def send(model: ScriptedModel, data: bytes) -> Answer:
    reader, writer = await opened(model)
    try:
        writer.write(data)
        return await read(reader)
    finally:
        writer.close()
        await writer.wait_closed()


async def post(
    model: ScriptedModel, body: Any, path: str = CHAT, headers: dict[str, str] | None = None
) -> Answer:
    return await send(model, written(path, body, headers))


async def read(reader: asyncio.StreamReader) -> Answer:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    body = b""
    try:
        if "content-length" in headers:
            body = await reader.readexactly(int(headers["content-length"]))
        else:
            while size := int(await reader.readuntil(b"\r\n"), 16):
                body += (await reader.readexactly(size + 2))[:-2]
            await reader.readexactly(2)
    except asyncio.IncompleteReadError as error:
        partial = error.partial if "content-length" in headers else b""
        return Answer(int(first.split()[1]), headers, body + partial, whole=False)
    return Answer(int(first.split()[1]), headers, body, whole=True)


def said(answer: Answer) -> str:
    """The text of a streamed chat completion."""
    deltas = [event["choices"][0]["delta"] for event in answer.events if event.get("choices")]
    return "".join(delta.get("content") or "" for delta in deltas)
