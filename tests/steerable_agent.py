"""An agent written by hand, of each of the three kinds: steered by `_session/steering` as shipped adapters
are, by `session/inject` as the proposal has it, or by neither.

    python tests/steerable_agent.py steering|inject|restart|failing

It remembers every text that it was given, in order (`heard`). A turn lasts until it is steered or cancelled
if its prompt ends with `hold on`; any other turn lasts as long as `pause` says. At its end, a turn says all
texts that it was given.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Literal

Kind = Literal["steering", "inject", "restart"]
Frame = dict[str, Any]


async def _no_pause() -> None:
    return None


class SteerableAgent:
    """One connection. `send` takes its frames; `pause` is how long each of its steps takes."""

    def __init__(
        self, kind: Kind, send: Callable[[Frame], None], pause: Callable[[], Awaitable[None]] = _no_pause
    ) -> None:
        self.kind = kind
        self.heard: list[str] = []
        self.prompts: list[str] = []
        self.ignores_cancel = False
        """Whether its turns have come to their end when a cancel comes."""
        self.fails = False
        """Whether its turns end with an error."""
        self._send = send
        self._pause = pause
        self._turn: asyncio.Task[None] | None = None
        self._texts: list[str] = []
        self._news = asyncio.Event()
        self._is_cancelled = False
        self.tasks: set[asyncio.Task[None]] = set()

    def receive(self, frame: Frame) -> None:
        params = frame.get("params") or {}
        match frame.get("method"):
            case "initialize":
                self._answer(frame, self._introduction())
            case "session/new":
                self._answer(frame, {"sessionId": "s1"})
            case "session/prompt":
                self.prompts.append(text_of(params["prompt"]))
                self._begin(frame, params)
            case "session/cancel" if not self.ignores_cancel:
                self._is_cancelled = True
                self._news.set()
            case "_session/steering" if self.kind == "steering":
                self._start(self._steer(frame, params))
            case "session/inject" if self.kind == "inject":
                self._start(self._inject(frame, params))
            case _ if "id" in frame and "method" in frame:
                self._answer(frame, {})  # as some adapters answer what they do not know

    def _introduction(self) -> Frame:
        steering = {"_meta": {"steering": {"supported": True}}} if self.kind == "steering" else {}
        inject = {"session": {"inject": {"modes": ["queue", "steer"]}}} if self.kind == "inject" else {}
        return {"protocolVersion": 1, "agentCapabilities": inject, **steering}

    def _begin(self, frame: Frame, params: Frame) -> None:
        assert self._turn is None, "a prompt came while a turn runs"
        self._texts = [text_of(params["prompt"])]
        self.heard.append(self._texts[0])
        self._is_cancelled = False
        self._turn = self._start(self._run(frame, params["sessionId"]))

    async def _run(self, frame: Frame, session_id: str) -> None:
        if self._texts[0].endswith("hold on") and not self.fails:
            while len(self._texts) == 1 and not self._is_cancelled:
                self._news.clear()
                await self._news.wait()
        else:
            await self._pause()
        self._turn = None
        if self.fails:
            error = {"code": -32603, "message": "out of quota"}
            self._send({"jsonrpc": "2.0", "id": frame["id"], "error": error})
            return
        words = "cancelled" if self._is_cancelled else " | ".join(self._texts)
        self._say(session_id, words)
        self._answer(frame, {"stopReason": "cancelled" if self._is_cancelled else "end_turn"})

    async def _steer(self, frame: Frame, params: Frame) -> None:
        if self._turn is None or self._is_cancelled:
            assert params["_meta"]["steering"]["idleBehavior"] == "promptRequired"
            outcome = {"outcome": "promptRequired", "reason": "noRunningTurn"}
        else:
            self._take(params["prompt"])
            outcome = {"outcome": "injected"}
        await self._pause()  # its answer may come behind that of the prompt
        self._answer(frame, outcome)

    async def _inject(self, frame: Frame, params: Frame) -> None:
        assert params["mode"] == "steer"
        await self._pause()
        self._take(params["content"])  # without a turn it is for the next one
        self._answer(frame, {"messageId": f"m{len(self.heard)}"})

    def _take(self, blocks: list[Frame]) -> None:
        self._texts.append(text_of(blocks))
        self.heard.append(self._texts[-1])
        self._news.set()

    def _say(self, session_id: str, text: str) -> None:
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        self._notify("session/update", {"sessionId": session_id, "update": update})

    def _notify(self, method: str, params: Frame) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def _answer(self, frame: Frame, result: Frame) -> None:
        self._send({"jsonrpc": "2.0", "id": frame["id"], "result": result})

    def _start(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task


def text_of(blocks: list[Frame]) -> str:
    return "".join(block.get("text", "") for block in blocks)


async def main(kind: Kind | Literal["failing"]) -> None:
    """Serve standard input and output until the client leaves."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=2**24)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    def send(frame: Frame) -> None:
        sys.stdout.write(json.dumps(frame) + "\n")
        sys.stdout.flush()

    agent = SteerableAgent("restart" if kind == "failing" else kind, send)
    agent.fails = kind == "failing"
    while line := await reader.readline():
        agent.receive(json.loads(line))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))  # type: ignore[arg-type]  # one of the four
