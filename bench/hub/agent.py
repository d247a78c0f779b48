"""The agent behind the benchmark's hub, in plain lines of JSON: nothing of ours is on the other end. It does
what a prompt's text orders:

    {"do": "stream", "count": 1000, "size": 20}     updates as fast as it can
    {"do": "prose", "count": 1000, "size": 1024}    the same with real text
    {"do": "mix", "count": 1000}                    the same with updates of every common kind
    {"do": "count", "count": 1000, "turns": 10}     numbers from 0, as soon as so many turns are open
    {"do": "paced", "count": 1000, "gap": 0.01}     an update now and then, whose text is when it was made
    {"do": "ask", "count": 100, "gap": 0.03}        a question now and then, whose title is when it was asked

Anything else is answered with a word.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Iterable
from typing import Any

import texts
from peers.measure import load_mix

TOGETHER = 20
"""Updates in one write, and between two chances for other sessions."""

LINE = 64 * 1024 * 1024

OPTIONS = [{"optionId": "yes", "name": "Allow", "kind": "allow_once"}]

CAPABILITIES = {"loadSession": True, "sessionCapabilities": {"close": {}, "resume": {}}}


def encode(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"


def say(data: bytes) -> None:
    """Written at once: who reads too slowly holds the whole agent."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


def update_line(session: str, update: dict[str, Any]) -> bytes:
    return encode(method="session/update", params={"sessionId": session, "update": update})


def words(text: str) -> dict[str, Any]:
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}


async def say_all(session: str, updates: Iterable[dict[str, Any]]) -> None:
    lines: list[bytes] = []
    for update in updates:
        lines.append(update_line(session, update))
        if len(lines) == TOGETHER:
            say(b"".join(lines))
            lines.clear()
            await asyncio.sleep(0)
    say(b"".join(lines))


class Agent:
    def __init__(self) -> None:
        self._sessions = 0
        self._questions = 0
        self._answers: dict[str, asyncio.Future[None]] = {}
        self._open_turns = 0
        self._all_open = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        reader = asyncio.StreamReader(limit=LINE)
        protocol = asyncio.StreamReaderProtocol(reader)
        await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
        while line := await reader.readline():
            message = json.loads(line)
            if message.get("method") == "session/prompt":
                task = asyncio.create_task(self._prompt(message["id"], message["params"]))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            elif "method" in message and "id" in message:
                say(encode(id=message["id"], result=self._answer(message["method"])))
            elif "method" not in message:
                self._answers.pop(message["id"]).set_result(None)

    def _answer(self, method: str) -> dict[str, Any]:
        if method == "initialize":
            return {"protocolVersion": 1, "agentCapabilities": CAPABILITIES}
        if method == "session/new":
            self._sessions += 1
            return {"sessionId": f"{os.getpid()}-{self._sessions}"}
        return {}

    async def _prompt(self, number: Any, params: dict[str, Any]) -> None:
        session, text = params["sessionId"], params["prompt"][-1]["text"]
        if text.startswith("{"):
            order = json.loads(text)
            await getattr(self, f"_{order['do']}")(session, order)
        else:
            say(update_line(session, words("done")))
        say(encode(id=number, result={"stopReason": "end_turn"}))

    async def _stream(self, session: str, order: dict[str, Any]) -> None:
        await say_all(session, [words("x" * order["size"])] * order["count"])

    async def _prose(self, session: str, order: dict[str, Any]) -> None:
        await say_all(session, map(words, texts.prose(order["count"], order["size"])))

    async def _mix(self, session: str, order: dict[str, Any]) -> None:
        mix = load_mix()
        await say_all(session, (mix[number % len(mix)] for number in range(order["count"])))

    async def _count(self, session: str, order: dict[str, Any]) -> None:
        self._open_turns += 1
        if self._open_turns == order["turns"]:
            self._all_open.set()
        is_open = self._all_open
        await is_open.wait()
        await say_all(session, (words(str(number)) for number in range(order["count"])))
        self._open_turns -= 1
        if not self._open_turns:
            self._all_open = asyncio.Event()

    async def _paced(self, session: str, order: dict[str, Any]) -> None:
        async for moment in moments(order):
            say(update_line(session, words(moment)))

    async def _ask(self, session: str, order: dict[str, Any]) -> None:
        async for moment in moments(order):
            self._questions += 1
            name = f"question-{self._questions}"
            self._answers[name] = answer = asyncio.get_running_loop().create_future()
            params = {"sessionId": session, "toolCall": {"toolCallId": moment, "title": moment}}
            say(encode(id=name, method="session/request_permission", params={**params, "options": OPTIONS}))
            await answer


async def moments(order: dict[str, Any]) -> AsyncIterator[str]:
    """What the clock says, as often as ordered and at that pace."""
    begun = time.monotonic()
    for number in range(order["count"]):
        await asyncio.sleep(begun + number * order["gap"] - time.monotonic())
        yield f"{time.monotonic():.7f}"


if __name__ == "__main__":
    asyncio.run(Agent().serve())
