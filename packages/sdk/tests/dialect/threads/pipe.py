"""A client of the thread protocol, written from its document alone: lines of JSON to a process and back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any


class ThreadsPipe:
    """Answers an agent's questions out of `files`, and keeps what was streamed."""

    def __init__(self, process: asyncio.subprocess.Process, files: Callable[[str], str | None]) -> None:
        self._process = process
        self._files = files
        self._asked = 0
        self.streamed: list[tuple[str, str]] = []
        self.read: list[str] = []

    async def call(self, method: str, params: Any = None) -> Any:
        """The result; an error as it is, under `error`."""
        number = self._asked
        self._asked += 1
        self._write({"id": number, "method": method, "params": params})
        while True:
            message = await self._next()
            if "method" not in message and message["id"] == number:
                assert message.keys() in ({"id", "result"}, {"id", "error"})
                return {"error": message["error"]} if "error" in message else message["result"]

    async def posted(self) -> Any:
        """A message of the agent: as written, it posts one to end a turn."""
        while True:
            message = await self._next()
            if message.get("method") == "sendMessage":
                return message["params"]["message"]

    async def _next(self) -> Any:
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        assert line, "the agent has ended"
        message = json.loads(line)
        assert "jsonrpc" not in message
        assert type(message["id"]) is int
        if "method" in message:
            assert message.keys() == {"id", "method", "params"}
            self._answer(message)
        return message

    async def send(self, thread: str, text: str) -> Any:
        message = {"role": "user", "chunks": [{"type": "text", "chunk": text}]}
        return await self.call("sendMessage", {"threadId": thread, "message": message})

    def said(self, thread: str) -> str:
        """What was streamed since this was asked last."""
        text = "".join(chunk for name, chunk in self.streamed if name == thread)
        self.streamed = [(name, chunk) for name, chunk in self.streamed if name != thread]
        return text

    def _answer(self, message: Any) -> None:
        params = message["params"]
        if message["method"] == "streamMessageChunk":
            self.streamed.append((params["threadId"], params["chunk"]["chunk"]))
        if message["method"] in ("streamMessageChunk", "sendMessage", "openThread"):
            self._write({"id": message["id"], "result": None})
            return
        content = self._files(params["path"]) if message["method"] == "readTextFile" else None
        if content is None:
            error = {"code": -32602, "message": "there is no such thing"}
            self._write({"id": message["id"], "error": error})
        else:
            self.read.append(params["path"])
            self._write({"id": message["id"], "result": {"version": len(content), "content": content}})

    def _write(self, message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")


def from_disk(path: str) -> str | None:
    return Path(path).read_text() if Path(path).is_file() else None


@asynccontextmanager
async def talking(command: Sequence[str], *, env: dict[str, str] | None = None) -> AsyncIterator[ThreadsPipe]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=pipe, env=env, limit=2**22
    )
    try:
        yield ThreadsPipe(process, from_disk)
        assert process.stdin is not None
        process.stdin.close()
        assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
