"""Plays the client's side of a recording against a live agent, and records the new conversation.

The recorded requests are made again in their order, each as soon as everything that the recorded client had
heard before it has been heard: answers are waited for where they were. Questions of the agent are answered as
they were answered then, by method and in order; what was never asked is refused. The new session's ids take
the place of the recorded ones.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict

import msgspec

from dragoman.errors import DragomanError
from dragoman.transport.contract import Transport
from dragoman.wire.codes import METHOD_NOT_FOUND
from dragoman.wire.decode import read_value
from dragoman.wire.envelope import Json, JsonObject, as_object, id_key
from dragoman_check.trace.replay.cassette import PathMap
from dragoman_local.journal.contract import Direction, Entry

MOMENT = 0.5
"""The seconds for an agent to repeat its recorded messages before the client continues."""


class AgentSilent(DragomanError):
    """The live agent did not answer a request that the recorded one had answered."""


class ReplayedClient:
    """The sink of a transport to a live agent; `entries` records the new conversation."""

    def __init__(
        self, recording: list[Entry], transport: Transport, *, cwd: str, patience: float = 60.0
    ) -> None:
        self.entries: list[Entry] = []
        self._recorded_messages = [
            (entry.direction, as_object(read_value(entry.frame))) for entry in recording
        ]
        self._transport = transport
        self._cwd = cwd
        self._patience = patience
        self._places = PathMap()
        self._recorded_requests: dict[Json, JsonObject] = {}  # recorded requests by id
        self._waiting: dict[Json, asyncio.Future[Json]] = {}
        self._replies: dict[str, list[JsonObject]] = defaultdict(list)
        self._agent_ended = asyncio.Event()
        self._news = asyncio.Event()
        self._message_count = 0
        self._collect_replies()

    async def play(self) -> None:
        """Play the recording. Raises `AgentSilent` if the agent does not answer."""
        self._transport.start(self)
        expected_count = 0  # what the recorded agent had said by itself so far
        for direction, message in self._recorded_messages:
            if direction == "to_agent" and "method" in message:
                await self._hear(expected_count)
                self._say(message)
            elif direction == "to_client" and "method" in message:
                expected_count += 1
            elif (
                direction == "to_client"
                and "method" not in message
                and id_key(message.get("id")) in self._recorded_requests
            ):
                await self._wait_for(message)

    async def _hear(self, expected_count: int) -> None:
        """Wait until the agent has sent as much as in the recording; one that says less is waited for a
        moment.
        """
        try:
            async with asyncio.timeout(MOMENT):
                while self._message_count < expected_count and not self._agent_ended.is_set():
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            self._message_count = expected_count

    # The sink.

    def feed(self, block: bytes) -> None:
        for line in block.split(b"\n"):
            if line.strip():
                self._keep("to_client", line)
                self._on_message(as_object(read_value(line)))
        self._news.set()

    def on_oversized(self, size: int) -> None:
        self.on_end(None)

    def on_end(self, reason: BaseException | None) -> None:
        self._agent_ended.set()
        self._news.set()

    # Inside.

    def _collect_replies(self) -> None:
        methods: dict[Json, str] = {}
        for direction, message in self._recorded_messages:
            if direction == "to_client" and "method" in message and "id" in message:
                methods[id_key(message["id"])] = str(message["method"])
            elif direction == "to_agent" and "method" not in message:
                method = methods.pop(id_key(message.get("id")), None)
                if method is not None:
                    self._replies[method].append(message)

    def _say(self, message: JsonObject) -> None:
        params = message.get("params")
        if isinstance(params, dict) and isinstance(params.get("cwd"), str):
            self._places.learn(params["cwd"], self._cwd)
        if "id" in message:
            key = id_key(message["id"])
            self._recorded_requests[key] = message
            self._waiting[key] = asyncio.get_running_loop().create_future()
        self._send(self._places.to_actual(message))

    async def _wait_for(self, recorded_answer: JsonObject) -> None:
        key = id_key(recorded_answer.get("id"))
        request = self._recorded_requests.pop(key)
        end_task = asyncio.get_running_loop().create_task(self._agent_ended.wait())
        try:
            await asyncio.wait(
                (self._waiting[key], end_task), timeout=self._patience, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            end_task.cancel()
            await asyncio.wait((end_task,))
        if not self._waiting[key].done():
            why = "ended" if self._agent_ended.is_set() else f"did not answer within {self._patience:g} s"
            raise AgentSilent(f"the agent {why}: {request.get('method')}")
        self._learn_session(recorded_answer, self._waiting.pop(key).result())

    def _learn_session(self, recorded_answer: JsonObject, live_answer: JsonObject) -> None:
        then, live = recorded_answer.get("result"), live_answer.get("result")
        if isinstance(then, dict) and isinstance(live, dict):
            self._places.learn(then.get("sessionId"), live.get("sessionId"))

    def _on_message(self, message: JsonObject) -> None:
        self._message_count += "method" in message
        if "method" not in message:
            waiting = self._waiting.get(id_key(message.get("id")))
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
        elif "id" in message:
            replies = self._replies.get(str(message["method"]))
            error = {"code": METHOD_NOT_FOUND, "message": "the recording has no answer to this"}
            reply = replies.pop(0) if replies else {"error": error}
            body = {name: value for name, value in reply.items() if name in ("result", "error")}
            self._send({"id": message["id"], **self._places.to_actual(body)})

    def _send(self, message: JsonObject) -> None:
        rest = {name: value for name, value in message.items() if name != "jsonrpc"}
        line = msgspec.json.encode({"jsonrpc": "2.0", **rest})
        self._keep("to_agent", line)
        self._transport.write(line + b"\n")

    def _keep(self, direction: Direction, line: bytes) -> None:
        self.entries.append(Entry(direction, line, time.time()))
