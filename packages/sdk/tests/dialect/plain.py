"""A peer of bare lines: JSON over the pipes of a process, and nothing else between it and the test."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.forks import DRAGOMAN

REVIEWER = [*DRAGOMAN, "agent", "review", "--sessions"]
TRANSLATE = [*DRAGOMAN, "translate"]


class Pipe:
    """Says and hears lines. `answer` says what this client answers to the agent's requests; None if it holds
    its answer back.
    """

    def __init__(self, process: asyncio.subprocess.Process, answer: Callable[[Any], Any]) -> None:
        self._process = process
        self._answer = answer
        self._ids = 0
        self.seen: list[Any] = []

    def say(self, **members: Any) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n")

    async def next(self) -> Any:
        assert self._process.stdout
        line = await self._process.stdout.readline()
        assert line.endswith(b"\n"), "it ended"
        self.seen.append(json.loads(line))
        return self.seen[-1]

    def begin(self, method: str, params: Any) -> int:
        self._ids += 1
        self.say(id=self._ids, method=method, params=params)
        return self._ids

    async def ask(self, method: str, params: Any) -> Any:
        """The answer, after everything that was said before it."""
        return await self.until_answer(self.begin(method, params))

    async def until_answer(self, number: int) -> Any:
        return await self.until(lambda frame: frame.get("id") == number and "method" not in frame)

    async def until(self, wanted: Callable[[Any], bool]) -> Any:
        while True:
            frame = await self.next()
            if "method" in frame and "id" in frame and (result := self._answer(frame)) is not None:
                self.say(id=frame["id"], result=result)
            if wanted(frame):
                return frame

    async def end(self) -> int:
        """Hang up; how it ended."""
        assert self._process.stdin
        self._process.stdin.close()
        return await self._process.wait()

    def take_updates(self) -> list[Any]:
        """What was said in updates since this was last asked."""
        seen, self.seen = self.seen, []
        return [frame["params"]["update"] for frame in seen if frame.get("method") == "session/update"]


@asynccontextmanager
async def talking(
    *command: str, answer: Callable[[Any], Any] = lambda frame: None, env: dict[str, str] | None = None
) -> AsyncIterator[Pipe]:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=2**22,
        env={**os.environ, **(env or {})},
    )
    try:
        yield Pipe(process, answer)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def prompt(session: str, text: str) -> Any:
    return {"sessionId": session, "prompt": [{"type": "text", "text": text}]}


class AllowOnce:
    """Answers the first question with the option that allows, and holds back its other answers."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def __call__(self, frame: Any) -> Any:
        assert frame["method"] == "session/request_permission"
        self.asked.append(frame)
        allowing = [option for option in frame["params"]["options"] if option["kind"] == "allow_once"]
        chosen = {"outcome": "selected", "optionId": allowing[0]["optionId"]}
        return {"outcome": chosen} if len(self.asked) == 1 else None
