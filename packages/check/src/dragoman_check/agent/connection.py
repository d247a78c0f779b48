"""One connection to an agent under test: frames are written by hand, and all lines are recorded but not
judged.

Stretches get names: from a request to its answer, or from one moment to another. Whoever plays a scene waits
with a deadline: an agent that says nothing raises `Silence`, an agent that has ended `AgentGone`. Both end
the scene and not the examination.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, Self, TypeAlias

import msgspec

from dragoman.errors import DragomanError, LinkClosed
from dragoman.transport.process import ChildTransport, spawn
from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.recording import Direction, Frame, Recording, Stretch

PATIENCE = 30.0
SHORT = 3.0
"""The least seconds for an answer that any agent gives at once, if at all; with more
patience, a tenth of it.
"""

PAUSE = 0.3
"""The seconds to wait with an agent that does not answer unknown requests."""

MOST_FRAMES = 200_000
MOST_BYTES = 256 * 1024 * 1024
"""The bytes on one connection after which an agent counts as endless."""


Reply: TypeAlias = Callable[[Frame, JsonObject], None]
"""Sends the answer to a request of the agent."""


class Silence(DragomanError):
    """The agent did not send in time the message that the scene waits for."""


class WrongId(Silence):
    """The agent answered under an id that no request has."""


class Hung(Silence):
    """The agent used to answer unknown requests, and has stopped answering."""


class AgentGone(DragomanError):
    """The agent ended, or closed its output."""


class AnswerSource(Protocol):
    """Plays the client: answers the agent's requests."""

    def answer(self, frame: Frame, reply: Reply) -> JsonObject | None:
        """Return `{"result": …}` or `{"error": …}`; None if the answer comes later, through `reply`, or
        never.
        """


class AgentConnection:
    """Use `async with Connection(command, editor) as agent:`; leaving it ends the agent."""

    def __init__(
        self,
        command: Sequence[str],
        editor: AnswerSource,
        *,
        cwd: str | os.PathLike[str],
        env: Mapping[str, str] | None = None,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.recording = Recording(frames=[], marks=[], facts={})
        self.facts = self.recording.facts
        self.editor = editor
        self.patience = patience
        self.brief = max(SHORT, patience / 10)
        self.has_ended = asyncio.Event()
        # The agent works elsewhere than whoever named its program.
        program = os.path.abspath(command[0]) if os.sep in command[0] else command[0]
        self._command, self._cwd, self._env = [program, *command[1:]], cwd, env
        self._clock = clock
        self._child: ChildTransport | None = None
        self._frame_event = asyncio.Event()
        self._ids = 1000
        self._received_bytes = 0
        self._listens: bool | None = None  # whether it answers requests that it does not know
        self._complaints = bytearray()

    async def __aenter__(self) -> Self:
        self._child = spawn(self._command, cwd=self._cwd, env=self._env, on_stderr=self._complaints.extend)
        self._child.start(self)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._child is not None:
            await self._child.aclose()
            self.recording.facts.setdefault("exit", self._child.tree.returncode)
        self.recording.stderr = bytes(self._complaints[-65536:])

    @property
    def child(self) -> ChildTransport:
        assert self._child is not None
        return self._child

    # The sink of the transport.

    def feed(self, block: bytes) -> None:
        self._received_bytes += len(block)
        if self._received_bytes > MOST_BYTES or len(self.recording.frames) > MOST_FRAMES:
            self._drown()
            return
        for line in block.split(b"\n"):
            if line.strip():
                self._answer_request(self.record_line("to_client", line))
        self._frame_event.set()

    def on_oversized(self, size: int) -> None:
        self.recording.facts["oversized"] = size

    def on_end(self, reason: BaseException | None) -> None:
        self.recording.facts["ended"] = str(reason).partition(";")[0] if reason else ""
        self.has_ended.set()
        self._frame_event.set()

    # To the agent.

    def send(self, message: Mapping[str, Json] | bytes) -> None:
        """Send a message, or bytes unchanged; bytes without a newline are half a line."""
        block = message if isinstance(message, bytes) else msgspec.json.encode(message) + b"\n"
        for line in block.split(b"\n"):
            if line.strip():
                self.record_line("to_agent", line.rstrip(b"\r"))
        self.put(block)

    def put(self, block: bytes) -> None:
        """Send bytes that are not recorded."""
        try:
            self.child.write(block)
        except LinkClosed as error:
            raise AgentGone(str(error)) from None

    def begin(self, method: str, params: object = None, *, request_id: object = None) -> Json:
        """Send a request without waiting; return its id."""
        self._ids += 1
        frame_id = self._ids if request_id is None else request_id
        frame = {"jsonrpc": "2.0", "id": frame_id, "method": method}
        self.send(frame if params is None else {**frame, "params": params})
        return frame_id

    def notify(self, method: str, params: object = None) -> None:
        frame = {"jsonrpc": "2.0", "method": method}
        self.send(frame if params is None else {**frame, "params": params})

    async def call(
        self,
        method: str,
        params: object = None,
        *,
        name: str = "",
        request_id: object = None,
        seconds: float = 0,
    ) -> Frame:
        """Send a request and return its answer. A `name` marks the stretch, even without an answer."""
        first = len(self.recording.frames)
        frame_id = self.begin(method, params, request_id=request_id)
        try:
            return await self.answer(frame_id, seconds=seconds, since=first)
        finally:
            if name:
                self.mark(name, first)

    def reply(self, frame: Frame, answer: JsonObject) -> None:
        """Answer a request of the agent."""
        try:
            self.send({"jsonrpc": "2.0", "id": frame.message["id"], **answer})
        except AgentGone:
            pass  # whoever waits learns of it

    # From the agent.

    async def answer(self, request_id: object, *, seconds: float = 0, since: int = 0) -> Frame:
        """Return the answer with an id, now or earlier."""

        def is_it(frame: Frame) -> bool:
            if not frame.is_answer or frame.direction != "to_client":
                return False
            answer_id = frame.message.get("id")
            return type(answer_id) is type(request_id) and answer_id == request_id

        frame = await self.until(
            lambda frame: is_it(frame) or self._is_stray(frame), seconds=seconds, since=since
        )
        if is_it(frame):
            return frame
        try:
            return await self.until(is_it, seconds=min(seconds or self.brief, self.brief), since=since)
        except Silence:
            wrong_id = msgspec.json.encode(frame.message["id"]).decode()
            right_id = msgspec.json.encode(request_id).decode()
            raise WrongId(f"request {right_id} was answered under id {wrong_id}") from None

    def _is_stray(self, frame: Frame) -> bool:
        """Whether it is an answer under an id that no request has."""
        if not frame.is_answer or frame.direction != "to_client" or frame.message.get("id") is None:
            return False
        answer_id = frame.message["id"]
        return not any(
            request.direction == "to_agent"
            and type(request.message.get("id")) is type(answer_id)
            and request.message["id"] == answer_id
            for request in self.recording.frames[: frame.number]
        )

    async def until(self, matches: Callable[[Frame], bool], *, seconds: float = 0, since: int = 0) -> Frame:
        """Wait for the first matching frame since a position, and return it."""
        at = since
        # One that has not said anything yet may still be starting, which takes some of them long.
        limit = seconds if seconds and self._received_bytes else self.patience
        try:
            async with asyncio.timeout(limit):
                while True:
                    for frame in self.recording.frames[at:]:
                        if matches(frame):
                            return frame
                    at = len(self.recording.frames)
                    if self.has_ended.is_set():
                        raise AgentGone("the agent has ended")
                    self._frame_event.clear()
                    await self._frame_event.wait()
        except TimeoutError:
            raise Silence(f"nothing came within {limit:g} s") from None

    async def quiet(self) -> None:
        """Wait until the agent has handled all messages: it answers in order, or is silent for a moment."""
        seconds = PAUSE if self._listens is False else self.brief
        try:
            await self.call("_dragoman/are_you_there", {}, seconds=seconds)
        except Silence:
            if self._listens:
                raise Hung("the agent no longer answers") from None
            self._listens = False
        else:
            self._listens = True

    async def close_input(self) -> int | None:
        """Close its input; return its exit status if it ends in time, None if not."""
        await self.child.close_input()
        return self.child.tree.returncode if await self.child.tree.wait(2 * self.brief) else None

    def mark(self, name: str, first: int) -> None:
        """Name the stretch from a position to here."""
        self.recording.marks.append(Stretch(name, first, len(self.recording.frames)))

    @property
    def position(self) -> int:
        """The current position, for `mark`."""
        return len(self.recording.frames)

    def record_line(self, direction: Direction, line: bytes) -> Frame:
        """Record a line that was not sent by `send`."""
        frame = Frame(len(self.recording.frames) + 1, direction, self._clock(), line)
        self.recording.frames.append(frame)
        return frame

    # Inside.

    def _answer_request(self, frame: Frame) -> None:
        if frame.is_request:
            try:
                answer = self.editor.answer(frame, self.reply)
            except (TypeError, ValueError, KeyError, AttributeError, OSError):
                # An agent may ask anything: what makes no sense to the editor is not a reason to stumble.
                answer = {"error": {"code": -32602, "message": "Invalid params"}}
            if answer is not None:
                self.reply(frame, answer)

    def _drown(self) -> None:
        self.recording.facts["flood"] = self._received_bytes
        self.child.pause()
        self.child.tree.kill()
        self.has_ended.set()
        self._frame_event.set()
