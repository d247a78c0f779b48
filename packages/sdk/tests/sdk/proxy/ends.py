"""A client and an agent made of bare lines, with a proxy between them."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from types import TracebackType
from typing import Any

from dragoman.runtime import Limits
from dragoman.sdk.proxy.proxy import Proxy, ProxySide
from dragoman.transport.contract import Transport
from dragoman.transport.memory import memory_pair


class End:
    """One far end: says lines, and hears them one by one."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.stream = b""
        self.over = False
        self._lines: deque[bytes] = deque()
        self._changed = asyncio.Event()
        transport.start(self)

    def say(self, *frames: bytes | dict[str, Any]) -> None:
        self.transport.write(b"".join(map(line, frames)))

    async def hear(self) -> bytes:
        """The next line, newline included."""
        while not self._lines:
            assert not self.over, "the end came first"
            self._changed.clear()
            await self._changed.wait()
        return self._lines.popleft()

    async def hear_json(self) -> Any:
        return json.loads(await self.hear())

    async def hear_the_end(self) -> list[bytes]:
        """Everything up to the end."""
        while not self.over:
            self._changed.clear()
            await self._changed.wait()
        rest, self._lines = list(self._lines), deque()
        return rest

    # The sink.

    def feed(self, block: bytes) -> None:
        self.stream += block
        self._lines.extend(part + b"\n" for part in block.split(b"\n") if part)
        self._changed.set()

    def on_oversized(self, size: int) -> None:
        raise AssertionError(f"a frame of {size} bytes")

    def on_end(self, reason: BaseException | None) -> None:
        self.over = True
        self._changed.set()


class Ends:
    """`async with Ends(proxy) as ends:` joins `ends.client` and `ends.agent` through the proxy."""

    def __init__(self, proxy: Proxy, *, limits: Limits | None = None) -> None:
        self._proxy = proxy
        self._limits = limits or Limits()

    async def __aenter__(self) -> Ends:
        client, near = memory_pair()
        agent, far = memory_pair()
        self.client, self.agent = End(client), End(agent)
        self.side = ProxySide(self._proxy, near, far, limits=self._limits)
        self._proxy.running.append(self.side)
        self.side.relay.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.side.relay.aclose(grace=0)
        self._proxy.running.remove(self.side)
        await self.client.transport.aclose()
        await self.agent.transport.aclose()


def line(frame: bytes | dict[str, Any]) -> bytes:
    text = frame if isinstance(frame, bytes) else json.dumps(frame).encode()
    return text if text.endswith(b"\n") else text + b"\n"


def request(request_id: Any, method: str, /, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def note(method: str, /, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def answer(request_id: Any, result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def prompt(request_id: Any, text: str, *, session: str = "s") -> dict[str, Any]:
    return request(request_id, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])


def chunk(text: str, *, session: str = "s", kind: str = "agent_message_chunk") -> dict[str, Any]:
    update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
    return note("session/update", sessionId=session, update=update)


MARK = note("_mark")


async def heard_before_the_mark(speaker: End, listener: End) -> list[Any]:
    """Everything that has arrived so far: say something that nobody touches, and read up to it."""
    speaker.say(MARK)
    found = []
    while (frame := await listener.hear_json()) != MARK:
        found.append(frame)
    return found


def unchanged(proxy: Proxy, *methods: str) -> Proxy:
    for method in methods:
        proxy.on(method)(lambda message: message)
    return proxy


async def unchanged_later(message: Any) -> Any:
    await asyncio.sleep(0)
    return message


class Slow:
    """An async hook that waits until it is told to go on."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.entered = asyncio.Event()
        self.cancelled = False

    async def __call__(self, message: Any) -> Any:
        self.entered.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return message
