"""A peer of bare JSON lines, for tests that speak as a seed document does: a process, its pipes, and nothing
of ours.

    async with lines(*TRANSLATE, *STORY_AGENT) as peer:
        answer = await peer.ask("initialize", {"protocol_version": 1})

Everything that was read is kept in `frames`, in order, with the bytes of each line in `raw`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

from dragoman.testing.pace import deadline
from tests.forks import DRAGOMAN, forked

Frame: TypeAlias = dict[str, Any]
Answerer: TypeAlias = Callable[[Frame], Frame | None]
"""What a request of the other side is answered with: `result` or `error`; None leaves it open."""

ROOT = Path(__file__).parents[2]
TRANSLATE = [*DRAGOMAN, "translate"]
STORY_AGENT = forked([sys.executable, str(Path(__file__).with_name("story_agent.py"))])
FOREIGN = ROOT / "packages/sdk/tests/dialect"

SECONDS = 30.0
"""After that, a program that says nothing hangs."""


class LinePeer:
    """Writes frames to a process and reads those that come back."""

    def __init__(self, process: asyncio.subprocess.Process, *, bare: bool = False) -> None:
        self.process = process
        self.frames: list[Frame] = []
        self.raw: list[bytes] = []
        self.answer: Answerer = lambda request: None
        self._bare = bare
        self._last_id = -1 if bare else 0

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")

    def send(self, **members: Any) -> None:
        shell = {} if self._bare else {"jsonrpc": "2.0"}
        self.write(json.dumps({**shell, **members}).encode())

    def request(self, method: str, params: Any) -> int:
        """Sends a request without waiting; returns its id."""
        self._last_id += 1
        self.send(id=self._last_id, method=method, params=params)
        return self._last_id

    async def read(self) -> Frame:
        assert self.process.stdout is not None
        async with deadline(SECONDS):
            line = await self.process.stdout.readline()
        assert line, f"the process has ended after {self.frames[-1:]}"
        frame: Frame = json.loads(line)
        self.raw.append(line)
        self.frames.append(frame)
        if "method" in frame and "id" in frame and (reply := self.answer(frame)) is not None:
            self.send(id=frame["id"], **reply)
        return frame

    async def until(self, wanted: Callable[[Frame], bool]) -> Frame:
        while not wanted(frame := await self.read()):
            pass
        return frame

    async def answered(self, request_id: int) -> Frame:
        return await self.until(lambda frame: "method" not in frame and frame.get("id") == request_id)

    async def ask(self, method: str, params: Any) -> Frame:
        """The answer, after everything that came before it."""
        return await self.answered(self.request(method, params))

    def updates(self, *, since: int = 0) -> list[Frame]:
        notes = (frame for frame in self.frames[since:] if frame.get("method") == "session/update")
        return [note["params"].get("update", note["params"]) for note in notes]

    async def close(self) -> bytes:
        """Ends the input and waits for the end; returns what was said to standard error."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        async with deadline(SECONDS):
            _, complaints = await self.process.communicate()
        return complaints


@asynccontextmanager
async def lines(
    *command: str, bare: bool = False, env: Mapping[str, str] | None = None
) -> AsyncIterator[LinePeer]:
    """A process that is spoken to; `bare` lines have no `jsonrpc`."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=pipe, env=env, limit=2**22, cwd=ROOT
    )
    try:
        yield LinePeer(process, bare=bare)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


def text(words: str) -> Frame:
    return {"type": "text", "text": words}
