"""A client by hand for the stand-in to play with, in memory.

Its half of files, terminals and questions is the examiner's own editor; what it is told that is no message it
refuses as it should. What it shall do otherwise, a test says.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from dragoman.transport.memory import memory_pair
from dragoman_check.agent.editor import EVERYTHING, Editor
from dragoman_check.client.profiles import PROFILES, ClientProfile
from dragoman_check.client.standin import StandIn
from dragoman_check.client.turn import Patience
from dragoman_check.recording import BROKEN, Direction, Frame, Recording, Stretch


class Notes:
    """Keeps a recording in memory."""

    def __init__(self) -> None:
        self.recording = Recording(frames=[], marks=[], facts={})

    def record(self, direction: Direction, chunk: bytes) -> None:
        number = len(self.recording.frames) + 1
        self.recording.frames.append(Frame(number, direction, float(number), chunk.rstrip(b"\n")))

    def note(self, remark: dict[str, Any]) -> None:
        if remark["event"] == "mark":
            self.recording.marks.append(Stretch(remark["name"], remark["first"], remark["last"]))
        else:
            self.recording.facts[remark["name"]] = remark["value"]


class Client:
    """`async with Client(folder) as client:`; leaving it closes the connection."""

    def __init__(
        self,
        folder: Path,
        *,
        profile: str | ClientProfile = "full",
        capabilities: Any = EVERYTHING,
        seconds: float = 30.0,
    ) -> None:
        notes = Notes()
        self.recording = notes.recording
        self.editor = Editor(folder)
        self.is_deaf = False
        """Whether it answers nothing at all."""
        self.heard: list[Frame] = []
        self._folder = folder
        self._capabilities = capabilities
        self._near, far = memory_pair()
        chosen = PROFILES[profile] if isinstance(profile, str) else profile
        self.stand_in = StandIn(far, notes, chosen, patience=Patience(seconds, people=seconds))
        self._ids = 0
        self._came = asyncio.Event()

    async def __aenter__(self) -> Client:
        self._near.start(self)
        self._running = asyncio.ensure_future(self.stand_in.run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._near.aclose()
        await self._running
        await self.editor.aclose()

    # The sink of its transport.

    def feed(self, block: bytes) -> None:
        for line in block.splitlines():
            if line.strip():
                self._take(Frame(len(self.heard) + 1, "to_client", 0.0, line))
        self._came.set()

    def on_oversized(self, size: int) -> None:
        raise AssertionError(f"a frame of {size} bytes")

    def on_end(self, reason: BaseException | None) -> None:
        self._came.set()

    # What it does.

    async def open(self) -> str:
        """Introduce itself and open a session; its id."""
        params = {"protocolVersion": 1, "clientCapabilities": self._capabilities}
        await self.call("initialize", params)
        found = await self.call("session/new", {"cwd": str(self._folder), "mcpServers": []})
        return str(found["result"]["sessionId"])

    async def prompt(self, session: str, text: str = "hello") -> dict[str, Any]:
        return await self.answer(self.begin_prompt(session, text))

    def begin_prompt(self, session: str, text: str = "hello") -> int:
        blocks = [{"type": "text", "text": text}]
        return self.begin("session/prompt", {"sessionId": session, "prompt": blocks})

    async def call(self, method: str, params: Any) -> dict[str, Any]:
        return await self.answer(self.begin(method, params))

    def begin(self, method: str, params: Any) -> int:
        self._ids += 1
        self.send({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params})
        return self._ids

    def notify(self, method: str, params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def send(self, message: dict[str, Any]) -> None:
        self._near.write(msgspec.json.encode(message) + b"\n")

    async def answer(self, request_id: int) -> dict[str, Any]:
        return (
            await self.until(lambda frame: frame.is_answer and frame.message.get("id") == request_id)
        ).message

    async def until(self, wanted: Any) -> Frame:
        while True:
            for frame in self.heard:
                if wanted(frame):
                    return frame
            self._came.clear()
            await self._came.wait()

    def asked(self) -> list[Frame]:
        """The requests that it got."""
        return [frame for frame in self.heard if frame.is_request]

    def kinds(self) -> set[str]:
        """The kinds of updates that it got."""
        return {
            frame.params["update"].get("sessionUpdate", "")
            for frame in self.heard
            if frame.method == "session/update" and isinstance(frame.params.get("update"), dict)
        }

    def _take(self, frame: Frame) -> None:
        self.heard.append(frame)
        if self.is_deaf:
            return
        if frame.json is BROKEN:
            self.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "No JSON"}})
        elif frame.is_request and frame.message.get("jsonrpc") == "2.0" and frame.method:
            answer = self.editor.answer(frame, self.reply)
            if answer is not None:
                self.reply(frame, answer)

    def reply(self, frame: Frame, answer: dict[str, Any]) -> None:
        self.send({"jsonrpc": "2.0", "id": frame.message["id"], **answer})


def marks(recording: Recording) -> list[str]:
    return [mark.name for mark in recording.marks]


def scene_of(*groups: str) -> ClientProfile:
    """A profile that plays only these."""
    return msgspec.structs.replace(PROFILES["full"], scenes=groups)
