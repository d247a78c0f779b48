"""Serves a recording as if it were the recorded agent.

Each request of the client is answered by the scene of the recorded request that is most like it: its updates
are sent again, its questions are asked again and their answers awaited, then comes its answer. A cancel ends
a turn as the recording has it, or at once if it has none. A recording that begins within a session is given a
beginning. Any other request that the recording does not know is refused with words that say so.
"""

from __future__ import annotations

import asyncio

import msgspec

from dragoman.errors import LinkClosed
from dragoman.transport.contract import Transport
from dragoman.wire.codes import INTERNAL_ERROR, METHOD_NOT_FOUND
from dragoman.wire.decode import read_value
from dragoman.wire.envelope import Json, JsonObject, id_key
from dragoman_check.trace.replay.cassette import Cassette, Match, PathMap, RecordedExchange, RecordedStep


class ReplayedAgent:
    """The sink of a transport. `speed` is a multiple of the recorded speed; 0 means without any wait."""

    def __init__(
        self, cassette: Cassette, transport: Transport, *, match: Match = "shape", speed: float = 0.0
    ) -> None:
        self.unknown: list[str] = []
        """Methods of requests that the recording did not know."""
        self.over = asyncio.Event()
        self._cassette = cassette
        self._transport = transport
        self._match: Match = match
        self._speed = speed
        self._places = PathMap()
        self._tasks: set[asyncio.Task[None]] = set()
        self._answers: dict[Json, asyncio.Future[None]] = {}
        self._cancels: dict[str, asyncio.Event] = {}
        self._ids = 0

    def start(self) -> None:
        self._transport.start(self)

    async def aclose(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._transport.aclose()

    # The sink.

    def feed(self, block: bytes) -> None:
        for line in block.split(b"\n"):
            if line.strip():
                self._on_line(line)

    def on_oversized(self, size: int) -> None:
        self._refuse(None, INTERNAL_ERROR, "the message is too large")

    def on_end(self, reason: BaseException | None) -> None:
        self.over.set()

    # What the client says.

    def _on_line(self, line: bytes) -> None:
        message = read_value(line)
        if not isinstance(message, dict):
            self._refuse(None, -32700, "Parse error")
        elif "method" not in message:
            waiting = self._answers.pop(id_key(message.get("id")), None)
            if waiting is not None and not waiting.done():
                waiting.set_result(None)
        elif "id" in message:
            self._answer_request(message)
        elif message.get("method") == "session/cancel":
            params = message.get("params")
            session = params.get("sessionId") if isinstance(params, dict) else None
            if isinstance(session, str) and session in self._cancels:
                self._cancels[session].set()

    def _answer_request(self, request: JsonObject) -> None:
        scene = self._cassette.find(request, self._match)
        if scene is None:
            method = str(request.get("method"))
            is_known = any(scene.method == method for scene in self._cassette.scenes)
            opening = None if is_known else self._opening(method)
            if opening is not None:
                self._send({"id": request["id"], "result": opening})
                return
            self.unknown.append(method)
            code = INTERNAL_ERROR if is_known else METHOD_NOT_FOUND
            self._refuse(request["id"], code, f"the recording has no such request: {method}")
            return
        params = request.get("params")
        if isinstance(params, dict):
            self._places.learn(scene.params.get("cwd"), params.get("cwd"))
        cancel_event = None
        if scene.method == "session/prompt":  # a cancel may be the very next thing that comes
            cancel_event = self._cancels[str(scene.params.get("sessionId", ""))] = asyncio.Event()
        task = asyncio.get_running_loop().create_task(self._play(scene, request, cancel_event))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _opening(self, method: str) -> JsonObject | None:
        """Messages before a recording that begins within a session, as that of a hub's session does."""
        sessions = [
            scene.params["sessionId"] for scene in self._cassette.scenes if "sessionId" in scene.params
        ]
        if not sessions:
            return None
        if method == "initialize":
            return {"protocolVersion": 1, "agentCapabilities": {}}
        return {"sessionId": sessions[0]} if method == "session/new" else None

    # What is played.

    async def _play(
        self, scene: RecordedExchange, request: JsonObject, cancel_event: asyncio.Event | None
    ) -> None:
        has_recorded_cancel = any(step.do == "await cancel" for step in scene.steps)
        try:
            for step in scene.steps:
                await self._pause(step.after)
                if cancel_event is not None and cancel_event.is_set() and not has_recorded_cancel:
                    self._send({"id": request["id"], "result": {"stopReason": "cancelled"}})
                    return
                await self._step(step, cancel_event)
            if scene.answer is not None:
                await self._pause(scene.answer_after)
                body = {name: value for name, value in scene.answer.items() if name in ("result", "error")}
                self._send({"id": request["id"], **self._places.to_actual(body)})
            for step in scene.afterwards:
                await self._pause(step.after)
                await self._step(step, None)
        except LinkClosed:
            self.over.set()

    async def _step(self, step: RecordedStep, cancel_event: asyncio.Event | None) -> None:
        if step.do == "await cancel":
            if cancel_event is not None:
                await cancel_event.wait()
            return
        message = self._places.to_actual(step.message)
        if step.do == "send":
            self._send(message)
            return
        self._ids += 1
        answer = self._answers[id_key(self._ids)] = asyncio.get_running_loop().create_future()
        self._send({**message, "id": self._ids})
        await answer

    async def _pause(self, seconds: float) -> None:
        if self._speed and seconds:
            await asyncio.sleep(seconds / self._speed)
        else:
            await asyncio.sleep(0)  # whoever else has something to say gets a turn
        if self._transport.pending > self._transport.limits.high:
            await self._transport.drain()

    def _refuse(self, request_id: object, code: int, why: str) -> None:
        self._send({"id": request_id, "error": {"code": code, "message": why}})

    def _send(self, message: JsonObject) -> None:
        rest = {name: value for name, value in message.items() if name != "jsonrpc"}
        self._transport.write(msgspec.json.encode({"jsonrpc": "2.0", **rest}) + b"\n")
