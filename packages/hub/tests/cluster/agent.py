"""An agent for storms: it says numbered updates at a quiet pace, asks for something now and then, and writes
down what it truly does.

    python agent.py FOLDER NODE

A prompt's text is an order in JSON: `{"updates": 12, "gap": 1.0, "burst": 3, "ask": [4]}`: so many updates,
as many at once as `burst` says, `gap` seconds between, and an approval is asked for before those that are
listed. The text of an update is `KEY#NUMBER`, where the key is the prompt's; with `"words": "w7"` it is
` w7#NUMBER.`, and with `"secret": S` the last update names S as a password. Every process has a file of its
own in FOLDER (see `records`), written line by line past all buffers, with a line every ten milliseconds while
it works: so it shows afterwards when a process ran and when it was stopped.

It knows any session that somebody loads: its memory is the order alone. The standard library only, because a
storm starts it often.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import uuid
from pathlib import Path
from typing import Any

BEAT = 0.01
LINE = 4 * 1024 * 1024
CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
OPTIONS = [
    {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
]


class Notes:
    """The process's own file."""

    def __init__(self, folder: Path, node: str) -> None:
        place = folder / f"{node}-{os.getpid()}-{uuid.uuid4().hex[:6]}"
        self._file = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self("start", pid=os.getpid(), node=node)

    def __call__(self, what: str, **members: Any) -> None:
        line = {"what": what, "t": time.clock_gettime(CLOCK), **members}
        os.write(self._file, json.dumps(line, separators=(",", ":")).encode() + b"\n")

    def beat(self) -> None:
        os.write(self._file, b'{"what":"beat","t":%.6f}\n' % time.clock_gettime(CLOCK))


class StormAgent:
    """One conversation with a hub over standard input and output."""

    def __init__(self, note: Notes) -> None:
        self._note = note
        self._turns: dict[str, asyncio.Task[None]] = {}  # by session
        self._open: dict[int, asyncio.Future[None]] = {}
        self._asked: dict[int, dict[str, str]] = {}  # kept, so that a second answer is noticed
        self._next = 0
        self._working = asyncio.Event()
        self._messages: dict[str, int] = {}  # into turns: how often each was given

    async def run(self) -> None:
        reader = asyncio.StreamReader(limit=LINE)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        beating = loop.create_task(self._beat())
        while line := await reader.readline():
            self._hear(json.loads(line))
        beating.cancel()
        for turn in self._turns.values():
            turn.cancel()

    async def _beat(self) -> None:
        while True:
            if not self._turns:
                self._working.clear()
                await self._working.wait()
            self._note.beat()
            await asyncio.sleep(BEAT)

    def _say(self, **message: Any) -> None:
        """All of it at once: a hub that does not read makes us wait, as it would any agent."""
        block = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"
        while block:
            block = block[os.write(1, block) :]

    def _hear(self, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params") or {}
        if method == "session/prompt":
            turn = asyncio.get_running_loop().create_task(self._turn(message["id"], params))
            self._turns[params["sessionId"]] = turn
            self._working.set()
        elif method == "session/cancel":
            if params["sessionId"] in self._turns:
                self._turns[params["sessionId"]].cancel()
        elif method is None:
            self._hear_answer(message)
        elif "id" in message:
            self._say(id=message["id"], **self._answer(method, params))

    def _answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "initialize":
            return {"result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}}
        if method == "session/new":
            return {"result": {"sessionId": str(uuid.uuid4())}}
        if method == "session/load":
            return {"result": {}}
        if method == "_session/steering":
            text = params["prompt"][0]["text"]
            self._messages[text] = self._messages.get(text, 0) + 1
            is_running = params["sessionId"] in self._turns
            outcome = "injected" if is_running else "promptRequired"
            return {"result": {"outcome": outcome, "count": self._messages[text]}}
        return {"error": {"code": -32601, "message": "Method not found"}}

    async def _turn(self, request: Any, params: dict[str, Any]) -> None:
        session, key = params["sessionId"], params["_meta"]["dragoman"]["key"]
        self._note("begin", session=session, key=key)
        outcome = "end_turn"
        try:
            await self._work(session, key, json.loads(params["prompt"][-1]["text"]))
        except asyncio.CancelledError:
            outcome = "cancelled"
        del self._turns[session]
        self._note("end", session=session, key=key, outcome=outcome)
        self._say(id=request, result={"stopReason": outcome})

    async def _work(self, session: str, key: str, order: dict[str, Any]) -> None:
        asks = set(order.get("ask", ()))
        for number in range(order["updates"]):
            if number in asks:
                await self._ask(session, key, f"{key}?{number}")
            self._note("sent", session=session, key=key, n=number)
            text = f" {order['words']}#{number}." if "words" in order else f"{key}#{number}"
            if "secret" in order and number == order["updates"] - 1:
                text += f" password={order['secret']}"
            content = {"type": "text", "text": text}
            update = {"sessionUpdate": "agent_message_chunk", "content": content}
            self._say(method="session/update", params={"sessionId": session, "update": update})
            if number % order.get("burst", 1) == 0:
                await asyncio.sleep(order["gap"])

    async def _ask(self, session: str, key: str, name: str) -> None:
        self._next += 1
        answer = self._open[self._next] = asyncio.get_running_loop().create_future()
        self._asked[self._next] = {"session": session, "key": key, "name": name}
        self._note("asks", **self._asked[self._next])
        call = {"toolCallId": name, "title": name}
        params = {"sessionId": session, "toolCall": call, "options": OPTIONS}
        self._say(id=self._next, method="session/request_permission", params=params)
        await answer

    def _hear_answer(self, message: dict[str, Any]) -> None:
        outcome = message.get("result", {}).get("outcome", {})
        option = outcome.get("optionId") or outcome.get("outcome") or "error"
        self._note("heard", **self._asked[message["id"]], option=option)
        waiting = self._open.pop(message["id"], None)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)


if __name__ == "__main__":
    asyncio.run(StormAgent(Notes(Path(sys.argv[1]), sys.argv[2])).run())
