"""A running block of a script.

It knows what it answers (a request, a notification, or nothing, for a story that runs by itself), in which
session, and the names that its lines may use. A cancel ends it between two words, unless it said that it
would wait for one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import msgspec

from dragoman.errors import CallFailed, LinkClosed
from dragoman.testing.script.patterns import Names, fill
from dragoman.testing.script.peer import Peer
from dragoman.testing.script.statements import ScriptError
from dragoman.wire.codes import CANCELLED, INTERNAL_ERROR, NAMES
from dragoman.wire.envelope import Json, JsonObject

log = logging.getLogger(__name__)

Action: TypeAlias = Callable[["ScriptScene"], Awaitable[None]]
"""Runs a line of a script."""

Actions: TypeAlias = Sequence[tuple[int, Action]]
"""Actions with the numbers of their lines."""

OnSettled: TypeAlias = Callable[["ScriptScene", bool | None, Json], None]
"""Called with the first answer of a scene: whether it is a result (None if there will never be an answer),
and the result.
"""


class ScriptScene:
    """A scene, made for each request that a rule answers, and for a story."""

    def __init__(
        self,
        peer: Peer,
        *,
        method: str = "",
        answers: bool = False,
        names: Names | None = None,
        on_settled: OnSettled | None = None,
    ) -> None:
        self.peer = peer
        self.method = method
        self.names: Names = names or {}
        self.is_answered = not answers
        """Whether nobody waits for an answer of ours (any more)."""
        self.cancel_event = asyncio.Event()
        self.deaf = False
        """Whether cancels no longer end it."""
        self.tool = ""
        """The id of the tool call that is being reported."""
        self.outcome: Json = {}
        """The answer that is given when the script says nothing else."""
        self._on_settled = on_settled
        self._inbox: asyncio.Queue[Json] | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def inbox(self) -> asyncio.Queue[Json]:
        """Frames for lines that expect them; None is the end of the connection."""
        if self._inbox is None:
            self._inbox = asyncio.Queue()
        return self._inbox

    async def play(self, actions: Actions) -> None:
        """Play from the first line to the answer. An error in between becomes the answer."""
        self._task = asyncio.current_task()
        if self.cancel_event.is_set():  # before it began: its first line may still say that it waits for this
            asyncio.get_running_loop().call_soon(self._interrupt)
        try:
            await self._end(await self._perform_all(actions))
        except LinkClosed:
            return  # nobody is there to be told anything

    async def _perform_all(self, actions: Actions) -> str:
        """Play all lines; returns what the client may know of what went wrong."""
        try:
            await perform(actions, self)
        except asyncio.CancelledError:
            if self.peer.closing or not self.cancel_event.is_set():
                raise
        except CallFailed as error:
            return f"the script was refused: {error.message}"
        except ScriptError as error:
            self.peer.failure = self.peer.failure or error
            self.peer.body.complain(str(error))
            return "the script makes no sense here"
        except LinkClosed:
            raise
        except Exception as error:  # what a line stumbles over costs its own scene and no other
            self.peer.failure = self.peer.failure or error
            log.exception("a scene of %s failed", self.method or "the story")
            return NAMES[INTERNAL_ERROR]
        return ""

    async def _end(self, failure: str) -> None:
        self.deaf = True  # a cancel that comes now is too late
        if self.is_answered:
            return
        if self.cancel_event.is_set() and self.method == "session/prompt":
            await self.answer({"stopReason": "cancelled"})  # whatever it stumbled over on its way out
        elif failure:
            await self.refuse(INTERNAL_ERROR, failure)
        elif self.cancel_event.is_set():
            await self.refuse(CANCELLED, NAMES[CANCELLED])
        else:
            await self.answer(self.outcome)

    def cancel(self) -> None:
        """Note that the client no longer wants the answer; a second call changes nothing."""
        if not self.cancel_event.is_set():
            self.cancel_event.set()
            self._interrupt()

    def _interrupt(self) -> None:
        if not self.deaf and self._task is not None:
            self._task.cancel()

    # What lines do.

    def fill(self, template: object) -> Json:
        return fill(template, self.names)

    async def answer(self, result: object) -> None:
        await self._reply({"result": result}, is_accepted=True, result=result)

    async def refuse(self, code: int, message: str, data: object = None) -> None:
        error = {"code": code, "message": message, **({} if data is None else {"data": data})}
        await self._reply({"error": error}, is_accepted=False)

    async def _reply(self, member: JsonObject, *, is_accepted: bool, result: object = None) -> None:
        first, self.is_answered = not self.is_answered, True
        await self.peer.moving()
        frame = {"jsonrpc": "2.0", "id": self.names.get("id"), **member}
        self.peer.tell(msgspec.json.encode(frame) + b"\n")
        if first and self._on_settled is not None:
            self._on_settled(self, is_accepted, result)
        await self.peer.room()

    def leave_unanswered(self) -> None:
        first, self.is_answered = not self.is_answered, True
        if first and self._on_settled is not None:
            self._on_settled(self, None, None)

    async def update(self, update: JsonObject) -> None:
        params = {"sessionId": self.session, "update": update}
        await self.peer.send({"jsonrpc": "2.0", "method": "session/update", "params": params})

    async def call(self, method: str, params: JsonObject) -> Json:
        """Send a request in this session."""
        return await self.peer.call(method, {"sessionId": self.session, **params})

    @property
    def session(self) -> str:
        session = self.names.get("session")
        if not isinstance(session, str):
            raise ScriptError(0, "there is no session to speak in yet")
        return session


async def perform(actions: Actions, scene: ScriptScene) -> None:
    """Run line after line."""
    for line, act in actions:
        await scene.peer.moving()
        try:
            await act(scene)
        except ScriptError as error:
            raise error if error.line else ScriptError(line, error.why) from None
