"""Tests a network endpoint: a recording of all requests, with every reply as a named fact.

Messages of a conversation become frames; what HTTP said around them are facts, as status, headers and the
beginning of the body. Nothing here judges.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from dragoman.wire.envelope import JsonObject
from dragoman_check.endpoint.http import Address, HttpExchange, HttpReply, Unreachable, ask
from dragoman_check.recording import Direction, Frame, Recording, Stretch

CONNECTION, SESSION = "Acp-Connection-Id", "Acp-Session-Id"
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
STREAM = {"Accept": "text/event-stream"}
NOBODY = "00000000-0000-4000-8000-000000000000"


class EndpointSettings(Struct, frozen=True, kw_only=True):
    """The address, the credentials, and the time limits."""

    address: Address
    headers: Mapping[str, str] = {}
    """Headers for every request: a token, a cookie."""
    cwd: str = "/"
    prompt: str = "Hello. Please answer with one short sentence, and do not use any tools."
    patience: float = 30.0


class EndpointNotes:
    """Records the events at one endpoint."""

    def __init__(self, endpoint: EndpointSettings) -> None:
        self.endpoint = endpoint
        self.recording = Recording(frames=[], marks=[], facts={"endpoint": {}})
        self._ids = 0

    @property
    def replies(self) -> JsonObject:
        replies: JsonObject = self.recording.facts["endpoint"]
        return replies

    def frame(self, direction: Direction, raw: bytes) -> Frame:
        frame = Frame(len(self.recording.frames) + 1, direction, time.time(), raw)
        self.recording.frames.append(frame)
        return frame

    def request(self, method: str, params: object) -> bytes:
        self._ids += 1
        return message(method, params, id=self._ids)

    def note(self, name: str, reply: HttpReply | None, *, frame: int = 0, **more: object) -> None:
        """Record a fact; `frame` is the one that shows it, if any."""
        if reply is not None:
            more |= {"headers": dict(reply.headers), "body": reply.body[:2000].decode(errors="replace")}
            more |= {"status": reply.status, "size": len(reply.body)}
        self.replies[name] = {**more, "frame": frame}

    async def send_and_note(
        self, name: str, method: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> HttpReply | None:
        """Send one request without an expected result, and record the reply; None without
        an answer in time.
        """
        first = len(self.recording.frames)
        if body is not None:
            self.frame("to_agent", body)
        reply = await self.send(method, headers, body)
        self.recording.marks.append(Stretch(name, first, len(self.recording.frames)))
        self.note(name, reply, frame=0 if body is None else first + 1)
        return reply

    async def send(
        self, method: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> HttpReply | None:
        all_headers = {**self.endpoint.headers, **headers}
        try:
            async with asyncio.timeout(self.endpoint.patience):
                return await ask(self.endpoint.address, method, all_headers, body)
        except (TimeoutError, Unreachable, asyncio.IncompleteReadError, ValueError):
            return None  # no answer is an answer too


def message(method: str, params: object, **members: object) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **members, "method": method, "params": params})


def introduction(version: int = 1) -> JsonObject:
    return {
        "protocolVersion": version,
        "clientCapabilities": {},
        "clientInfo": {"name": "dragoman-check", "version": "1"},
    }


class EventStream:
    """A stream of events that is read during other tests."""

    def __init__(self, notes: EndpointNotes, headers: Mapping[str, str], name: str) -> None:
        self.status = 0
        self.raw: list[bytes] = []
        self.numbers: list[int] = []
        """The frames that came on it."""
        self._notes, self._headers, self._name = notes, headers, name
        self._event_arrival, self._head_arrival = asyncio.Event(), asyncio.Event()
        self._task = asyncio.create_task(self._listen())

    async def is_open(self) -> bool:
        """Whether it is a stream of events."""
        await self._wait(self._head_arrival)
        return self.status == 200

    async def answer(self, to: bytes) -> Frame | None:
        """Return the answer to a request, if it comes on this stream in time."""
        request_id = msgspec.json.decode(to).get("id")
        deadline = asyncio.get_running_loop().time() + self._notes.endpoint.patience
        while not self._task.done() or self._event_arrival.is_set():
            self._event_arrival.clear()
            for number in self.numbers:
                frame = self._notes.recording.frames[number - 1]
                if frame.is_answer and frame.message.get("id") == request_id:
                    return frame
            seconds = deadline - asyncio.get_running_loop().time()
            if seconds <= 0 or not await self._wait(self._event_arrival, seconds):
                return None
        return None

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._notes.note(
            self._name,
            None,
            status=self.status,
            frames=self.numbers,
            events=[event.decode(errors="replace")[:300] for event in self.raw],
        )

    async def _listen(self) -> None:
        try:
            headers = {**self._notes.endpoint.headers, **STREAM, **self._headers}
            async with HttpExchange(self._notes.endpoint.address, "GET", headers) as exchange:
                self.status = exchange.status
                self._head_arrival.set()
                async for event in exchange.events():
                    self._take(event)
        except (Unreachable, OSError, asyncio.IncompleteReadError, ValueError):
            pass  # what came until then is noted
        finally:
            self._head_arrival.set()
            self._event_arrival.set()

    def _take(self, event: bytes) -> None:
        self.raw.append(event)
        data = b"\n".join(
            line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")
        )
        if data:
            self.numbers.append(self._notes.frame("to_client", data).number)
            self._event_arrival.set()

    async def _wait(self, event: asyncio.Event, seconds: float | None = None) -> bool:
        try:
            async with asyncio.timeout(self._notes.endpoint.patience if seconds is None else seconds):
                await event.wait()
        except TimeoutError:
            return False
        return True
