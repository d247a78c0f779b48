"""The stand-in agent's connection: frames are written by hand, every line is recorded, nothing is judged.

Whoever plays a scene waits with a deadline: a client that says nothing raises `ClientSilence`, one that has
closed the connection raises `ClientGone`. What is kept is kept at once, so that a client which ends us loses
nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from dragoman.errors import DragomanError, LinkClosed
from dragoman.transport.contract import Transport
from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.recording import Direction, Frame


class ClientSilence(DragomanError):
    """The client did not send in time the message that the scene waits for."""


class ClientGone(DragomanError):
    """The client has closed the connection."""


class Stopped(DragomanError):
    """The turn was cancelled while its scene was running."""


class FrameRecorder(Protocol):
    """Writes a recording."""

    def record(self, direction: Direction, chunk: bytes) -> None:
        """Record a line of the connection, with its newline."""

    def note(self, remark: JsonObject) -> None:
        """Record another event."""


class FrameListener(Protocol):
    """Receives the client's own requests and notifications."""

    def on_frame(self, frame: Frame) -> None:
        """Handle a request or a notification."""


class ClientConnection:
    """A connection that sends, records and waits."""

    def __init__(
        self,
        transport: Transport,
        keeper: FrameRecorder,
        listener: FrameListener,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.frames: list[Frame] = []
        self.has_ended = asyncio.Event()
        self._transport = transport
        self._keeper = keeper
        self._listener = listener
        self._clock = clock
        self._frame_event = asyncio.Event()
        self._ids = 0

    # The sink of the transport.

    def feed(self, block: bytes) -> None:
        for line in block.split(b"\n"):
            if line.strip():
                frame = self._keep("to_agent", line)
                if "method" in frame.message:
                    self._listener.on_frame(frame)
        self.wake()

    def on_oversized(self, size: int) -> None:
        self.fact("oversized", size)

    def on_end(self, reason: BaseException | None) -> None:
        if self.has_ended.is_set():
            return
        self.fact("input", "closed" if reason is None else "broken")
        self.has_ended.set()
        self.wake()

    # To the client.

    def send(self, message: Mapping[str, Json] | bytes, *, pieces: int = 0) -> None:
        """Send a message, or bytes unchanged, `pieces` bytes at a time. Raises `ClientGone`."""
        block = message if isinstance(message, bytes) else msgspec.json.encode(message) + b"\n"
        for line in block.split(b"\n"):
            if line.strip():
                self._keep("to_client", line.rstrip(b"\r"))
        try:
            for at in range(0, len(block), pieces or len(block)):
                self._transport.write(block[at : at + (pieces or len(block))])
        except LinkClosed as error:
            raise ClientGone(str(error)) from None

    async def drain(self) -> None:
        """Wait until the client has read most of the sent bytes."""
        try:
            await self._transport.drain()
        except LinkClosed as error:
            raise ClientGone(str(error)) from None

    def notify(self, method: str, params: object = None) -> None:
        frame = {"jsonrpc": "2.0", "method": method}
        self.send(frame if params is None else {**frame, "params": params})

    def begin(self, method: str, params: object = None, *, request_id: object = None) -> Json:
        """Send a request without waiting; return its id."""
        self._ids += 1
        frame_id = self._ids if request_id is None else request_id
        frame = {"jsonrpc": "2.0", "id": frame_id, "method": method}
        self.send(frame if params is None else {**frame, "params": params})
        return frame_id

    def reply(self, frame: Frame, answer: Mapping[str, Json]) -> None:
        """Send `{"result": …}` or `{"error": …}` for a request of the client. Raises `ClientGone`."""
        self.send({"jsonrpc": "2.0", "id": frame.message["id"], **answer})

    # From the client.

    async def until(
        self,
        matches: Callable[[Frame], bool],
        *,
        seconds: float,
        since: int,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Frame:
        """Wait for the first matching frame since a position, and return it."""
        at = since
        try:
            async with asyncio.timeout(seconds):
                while True:
                    for frame in self.frames[at:]:
                        if matches(frame):
                            return frame
                    at = len(self.frames)
                    if should_stop():
                        raise Stopped
                    if self.has_ended.is_set():
                        raise ClientGone("the client has closed the connection")
                    self._frame_event.clear()
                    await self._frame_event.wait()
        except TimeoutError:
            raise ClientSilence(f"nothing came within {seconds:g} s") from None

    def wake(self) -> None:
        """Let waiting callers check again."""
        self._frame_event.set()

    # Beside the wire.

    @property
    def position(self) -> int:
        """The current position, for `mark`."""
        return len(self.frames)

    def mark(self, name: str, first: int) -> None:
        """Name the stretch from a position to here."""
        self._keeper.note({"event": "mark", "name": name, "first": first, "last": self.position})

    def fact(self, name: str, value: object) -> None:
        self._keeper.note({"event": "fact", "name": name, "value": value})

    def _keep(self, direction: Direction, line: bytes) -> Frame:
        frame = Frame(len(self.frames) + 1, direction, self._clock(), line)
        self.frames.append(frame)
        self._keeper.record(direction, line + b"\n")
        return frame


def is_answer_to(frame: Frame, request_id: object) -> bool:
    """Whether the client answers this request of the stand-in."""
    if frame.direction != "to_agent" or not frame.is_answer:
        return False
    answer_id = frame.message.get("id")
    return type(answer_id) is type(request_id) and answer_id == request_id
