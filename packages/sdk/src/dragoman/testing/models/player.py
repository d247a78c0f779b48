"""Plays a turn of a scripted model: writes its steps into one answer, streamed or whole.

The head of the answer is sent with its first byte, so an error before anything was said has a status, and one
after that stands in the stream. When no stream was asked for, the same steps are gathered and sent at last.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Mapping
from typing import Protocol

from dragoman.testing.models.http import ModelConnection
from dragoman.testing.models.requests import ModelRequest, Outcome
from dragoman.testing.models.turns import (
    BeginStep,
    CallStep,
    CutStep,
    EndlessStep,
    FailStep,
    HoldStep,
    ModelTurn,
    RawStep,
    RefuseStep,
    Step,
    TextStep,
    ThoughtStep,
    TokenUsage,
    WaitStep,
)
from dragoman.testing.models.voice import (
    ModelEvent,
    ModelFormat,
    ModelOutput,
    ModelToolCall,
    arguments_text,
    cut_into,
    encode_event,
)

JSON = {"content-type": "application/json"}
STREAM = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}


class PlayerHost(Protocol):
    """The server's actions for a turn."""

    async def hold(self, name: str) -> None: ...

    def refuse(self, seconds: float | None = None) -> None: ...


class Player:
    """Plays one turn for one request."""

    def __init__(
        self,
        turn: ModelTurn,
        request: ModelRequest,
        voice: ModelFormat,
        connection: ModelConnection,
        house: PlayerHost,
        *,
        number: int,
    ) -> None:
        self._turn = turn
        self._request = request
        self._voice = voice
        self._connection = connection
        self._house = house
        self._number = number
        self._output = ModelOutput(stop=turn.stop or "stop")
        self._has_begun = False
        self._raw: list[bytes] = []

    async def play(self) -> Outcome:
        for step in self._turn.steps:
            outcome = await self._step(step)
            if outcome is not None:
                return outcome
        self._output.usage = self._usage()
        self._request.end("answered")
        if not self._request.streams:
            await self._whole()
            return "answered"
        await self._emit(self._voice.end(self._output))
        await self._connection.finish()
        return "answered"

    async def _step(self, step: Step) -> Outcome | None:
        match step:
            case TextStep() | ThoughtStep() | CallStep():
                await self._speak(step)
            case WaitStep(seconds):
                await asyncio.sleep(seconds)
            case HoldStep(name):
                await self._house.hold(name)
            case BeginStep():
                await self._emit([])
            case RawStep(data):
                await self._send_raw(data)
            case EndlessStep(piece, pace):
                await self._forever(piece, pace)
            case CutStep():
                return await self._cut(step)
            case RefuseStep(seconds):
                self._request.end("broken off")
                self._house.refuse(seconds)
                return "broken off"
            case FailStep():
                return await self._fail(step)
        return None

    async def _speak(self, step: TextStep | ThoughtStep | CallStep) -> None:
        if isinstance(step, CallStep):
            call_id = step.id or f"call_{self._number}_{len(self._output.calls) + 1}"
            tool_call = ModelToolCall(call_id, step.name, arguments_text(step))
            self._output.parts.append(("call", tool_call))
            await self._emit(
                self._voice.call(tool_call, cut_into(tool_call.arguments, step.pieces)), pace=step.pace
            )
            return
        for piece in step.pieces:
            text = piece.replace("$text", self._request.text)
            thinks = isinstance(step, ThoughtStep)
            self._output.add("thought" if thinks else "text", text)
            await asyncio.sleep(step.pace)
            await self._emit(self._voice.thought(text) if thinks else self._voice.text(text))

    async def _emit(self, events: Iterable[ModelEvent], *, pace: float = 0.0) -> None:
        """Send events; whoever asked for no stream gets nothing yet, and its voice is not asked."""
        if not self._request.streams:
            return
        await self._begin()  # before the first event is made: a voice may number them
        for event in events:
            await asyncio.sleep(pace)
            await self._send(encode_event(event))

    async def _begin(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            await self._connection.head(200, STREAM)
            for event in self._voice.begin(self._usage()):
                await self._send(encode_event(event))

    async def _send(self, data: bytes) -> None:
        await self._connection.send(data, split=self._turn.split)

    async def _send_raw(self, data: bytes) -> None:
        self._raw.append(data)
        if self._request.streams:
            await self._begin()
            await self._send(data)

    async def _whole(self) -> None:
        body = b"".join(self._raw) or json.dumps(self._voice.whole(self._output)).encode()
        await self._connection.answer(200, JSON, body)

    async def _forever(self, piece: str, pace: float) -> None:
        if not self._request.streams:
            await asyncio.get_running_loop().create_future()
        while True:
            await asyncio.sleep(pace)  # also when it is nothing: it must not keep everybody else waiting
            await self._emit(self._voice.text(piece))

    async def _cut(self, step: CutStep) -> Outcome:
        if step.where == "quietly" and self._request.streams:
            await self._begin()
            self._request.end("broken off")
            await self._connection.finish()
            return "broken off"
        if step.where != "head" and not self._request.streams:
            body = json.dumps(self._voice.whole(self._output)).encode()
            await self._connection.head(200, JSON, length=len(body))
            await self._connection.send(body[: len(body) // 2])
        elif step.where != "head":
            await self._begin()
            if step.where == "event":
                *before, last = map(encode_event, self._voice.text("and the rest of it"))
                await self._send(b"".join([*before, last[: len(last) // 2]]))
        self._request.end("broken off")
        self._connection.close()
        return "broken off"

    async def _fail(self, fail: FailStep) -> Outcome:
        self._request.end("failed")
        if self._has_begun:
            await self._emit(self._voice.broken(fail))
            await self._connection.finish()
        else:
            headers, body = self._error(fail)
            await self._connection.answer(fail.status, headers, body)
        return "failed"

    def _error(self, fail: FailStep) -> tuple[Mapping[str, str], bytes]:
        own = {name.lower(): value for name, value in fail.headers.items()}
        headers = {**JSON, **self._voice.headers(fail, now=time.time()), **own}
        if fail.body is None:
            return headers, json.dumps(self._voice.error(fail)).encode()
        if fail.body.lstrip().startswith("<"):
            headers = {**headers, "content-type": "text/html", **own}
        return headers, fail.body.encode()

    def _usage(self) -> TokenUsage:
        """As scripted; otherwise four characters are a token, which is about right and always the same."""
        if self._turn.usage is not None:
            return self._turn.usage
        input_tokens = len(json.dumps(self._request.body)) // 4
        thought = len(self._output.text_of("thought")) // 4
        return TokenUsage(input_tokens, self._output.size // 4 + 1, reasoning=thought)
