"""A client in a storm: it prompts, answers, follows, leaves, comes back, and writes down all that it hears.

It is a client as anybody can write one, over the SDK's transport that comes back by itself, to whatever node
is there. What it writes down is in `lines`; nothing of it is judged here.
"""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

from dragoman.errors import LinkClosed
from dragoman.sdk.resumption.hub_link import resuming
from dragoman.sdk.resumption.transport import Backoff, ConnectionNotice
from tests.cluster.digest import outcome_of
from tests.cluster.records import (
    Answered,
    Away,
    Back,
    Cancelled,
    ClientLine,
    Ended,
    Joined,
    Left,
    Prompted,
    Told,
    now,
)

KINDS = {"agent_message_chunk": "update", "user_message_chunk": "echo"}


class Refused(Exception):
    """The hub has answered with an error."""


class Person:
    """`urls` are the nodes; it begins at the first of them, and goes on to the next when one is gone."""

    def __init__(self, name: str, urls: list[str], token: str, chance: random.Random) -> None:
        self.name = name
        self.lines: list[ClientLine] = []
        self.cursors: dict[str, str] = {}
        """Of each session that it follows: how far it was told."""
        self._chance = chance
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._ids = 0
        self._keys = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._joining: dict[int, str] = {}
        self._transport = resuming(
            ",".join(urls),
            headers={"authorization": f"Bearer {token}"},
            backoff=Backoff(most=1.0, chance=chance.random),
            on_notice=self._noticed,
        )
        self._transport.start(self)

    # The connection.

    def _noticed(self, notice: ConnectionNotice) -> None:
        self.lines.append(
            Back(t=now(), away=notice.seconds) if notice.kind == "back" else Away(t=now(), why=notice.reason)
        )

    async def depart(self) -> None:
        """For good, in the middle of everything."""
        self.lines.extend(Left(t=now(), session=session) for session in self.cursors)
        self.cursors.clear()
        await self.aclose()

    async def aclose(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._transport.aclose()

    # What it says.

    async def begin(self) -> None:
        ours = {"cursors": True, "events": True}
        await self.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}}, **ours)

    async def make(self, cwd: str) -> str:
        made = await self.call("session/new", {"cwd": cwd, "mcpServers": []})
        session = str(made["sessionId"])
        self._join(session, "1")  # behind the entry that made it
        return session

    async def follow(self, session: str, after: str) -> None:
        """From a cursor on, or from `end`."""
        if after != "end":
            self._join(session, after)
        else:
            self._joining[self._ids + 1] = session  # what is told right behind the answer counts
        await self.call("_dragoman/hub/attach", {"sessionId": session, "after": after})

    async def leave(self, session: str) -> None:
        await self.call("_dragoman/hub/detach", {"sessionId": session})
        self.lines.append(Left(t=now(), session=session))
        self.cursors.pop(session, None)

    async def prompt(self, session: str, order: dict[str, Any]) -> str:
        """What came of it: a stop reason, or `error: …`."""
        self._keys += 1
        key = f"{self.name}.{self._keys}"
        self.lines.append(Prompted(t=now(), session=session, key=key))
        params = {"sessionId": session, "prompt": [{"type": "text", "text": json.dumps(order)}]}
        outcome = outcome_of(await self.ask("session/prompt", params, key=key))
        self.lines.append(Ended(t=now(), session=session, key=key, outcome=outcome))
        return outcome

    def cancel(self, session: str) -> None:
        self.lines.append(Cancelled(t=now(), session=session))
        self._say({"method": "session/cancel", "params": {"sessionId": session}})

    async def call(self, method: str, params: dict[str, Any], **ours: Any) -> Any:
        answer = await self.ask(method, params, **ours)
        if "error" in answer:
            raise Refused(f"{self.name}: {method}: {answer['error']}")
        return answer["result"]

    def ask(self, method: str, params: dict[str, Any], **ours: Any) -> asyncio.Future[dict[str, Any]]:
        self._ids += 1
        waiting = self._waiting[self._ids] = asyncio.get_running_loop().create_future()
        if ours:
            params = {**params, "_meta": {"dragoman": ours}}
        self._say({"id": self._ids, "method": method, "params": params})
        return waiting

    def _say(self, message: dict[str, Any]) -> None:
        self._transport.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def _join(self, session: str, after: str) -> None:
        self.lines.append(Joined(t=now(), session=session, after=after))
        self.cursors[session] = after

    # What it hears.

    def feed(self, block: bytes) -> None:
        for line in block.splitlines():
            message = json.loads(line)
            if "method" not in message:
                self._hear_answer(message)
            else:
                self._hear(message["method"], message["params"], message.get("id"))

    def _hear(self, method: str, params: dict[str, Any], request: Any) -> None:
        if method == "session/update":
            update = params["update"]
            kind = KINDS.get(update["sessionUpdate"], update["sessionUpdate"])
            self._told(params, kind, update.get("content", {}).get("text", ""))
        elif method == "_dragoman/hub/event":
            self._told(params, params["event"], params.get("key", ""))
        elif method == "session/request_permission":
            self._told(params, "question", params["_meta"]["dragoman"]["request"])
            self._start(self._answer(params, request))

    def _hear_answer(self, message: dict[str, Any]) -> None:
        waiting = self._waiting.pop(message.get("id", -1), None)
        session = self._joining.pop(message.get("id", -1), None)
        if session is not None and "result" in message:
            self._join(session, message["result"]["cursor"])
        if waiting is not None and not waiting.done():
            waiting.set_result(message)

    def _told(self, params: dict[str, Any], kind: str, text: str) -> None:
        """What has no cursor was told before: it is only said again."""
        cursor = params.get("_meta", {}).get("dragoman", {}).get("cursor")
        session = params["sessionId"]
        if cursor and session in self.cursors:
            self.cursors[session] = cursor
            self.lines.append(Told(t=now(), session=session, cursor=cursor, kind=kind, text=text))

    async def _answer(self, params: dict[str, Any], request: Any) -> None:
        """After a moment, by one of two ways: as the answer to the request, or beside it."""
        session, name = params["sessionId"], params["_meta"]["dragoman"]["request"]
        option = self._chance.choice(("allow", "reject"))
        result = {"outcome": {"outcome": "selected", "optionId": option}}
        await asyncio.sleep(self._chance.uniform(0.05, 0.5))
        settled = False
        if self._chance.random() < 0.5:
            said = {"sessionId": session, "request": name, "result": result}
            answer = await self.ask("_dragoman/hub/answer", said)
            settled = bool(answer.get("result", {}).get("settled"))
        else:
            self._say({"id": request, "result": result})
        self.lines.append(Answered(t=now(), session=session, request=name, option=option, settled=settled))

    def _start(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def on_oversized(self, size: int) -> None:
        raise AssertionError(size)

    def on_end(self, reason: BaseException | None) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(LinkClosed(str(reason)))
                waiting.exception()  # somebody may not look
