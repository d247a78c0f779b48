"""The tools of a scene: one prompt turn of a client under test.

A stretch is marked whatever becomes of it. A method that a client leaves without an answer is not waited for
again: the next scene that needs it is over at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.client.connection import (
    ClientConnection,
    ClientGone,
    ClientSilence,
    Stopped,
    is_answer_to,
)
from dragoman_check.recording import Frame

SHORT = 3.0
"""The seconds for an answer that any client gives at once, if at all."""

PAUSE = 0.3
"""The seconds to wait with a client that does not answer unknown requests."""

AGAIN = 0.02
"""The seconds between two checks."""

THERE = "_dragoman/are_you_there"

PEOPLE = frozenset({"session/request_permission", "elicitation/create"})
"""Requests that a person may answer."""


class Patience:
    """How long the stand-in waits for a client, and which methods it expects no answers to."""

    def __init__(self, seconds: float, *, people: float) -> None:
        self.seconds = seconds
        self.people = people
        self.deaf: set[str] = set()

    def of(self, method: str) -> float:
        return self.people if method in PEOPLE else self.seconds


class StandInTurn:
    """One turn: the possible actions of an agent, and whether it was cancelled."""

    def __init__(
        self,
        connection: ClientConnection,
        prompt: Frame,
        *,
        folders: Sequence[str],
        capabilities: object,
        patience: Patience,
    ) -> None:
        self.connection = connection
        self.prompt = prompt
        self.session = str(prompt.params.get("sessionId"))
        self.folder = Path(folders[0])
        self.folders = [Path(folder) for folder in folders]
        self.cancel_frame: Frame | None = None
        self.withdrawn = False
        """Whether it was the request that was cancelled."""
        self.may_run = False
        """Whether the client's user lets the agent run commands."""
        self._capabilities = capabilities
        self._patience = patience
        self.last_call = ""
        """The tool call that was announced last."""
        self._calls = 0

    # What the client can do.

    def can(self, *path: str) -> bool:
        """Whether the client advertised it: true, or any object."""
        tree = self._capabilities
        for name in path:
            tree = tree.get(name) if isinstance(tree, dict) else None
        return tree is True or isinstance(tree, dict)

    # What the agent does.

    def update(self, kind: str, /, *, session: str = "", **fields: object) -> None:
        """Send an update of this session or another."""
        params = {"sessionId": session or self.session, "update": {"sessionUpdate": kind, **fields}}
        self.connection.notify("session/update", params)

    def say(self, text: str, **fields: Json) -> None:
        self.update("agent_message_chunk", content={"type": "text", "text": text}, **fields)

    def call_id(self) -> str:
        """Return a new id for a tool call of the session."""
        self._calls += 1
        self.last_call = f"call-{self.prompt.number}-{self._calls}"
        return self.last_call

    def begin(self, method: str, params: object = None, *, request_id: object = None) -> Json:
        """Send a request about this session, unless its params name another, without waiting."""
        if method in self._patience.deaf:
            raise ClientSilence(f"{method} was not answered before")
        if isinstance(params, dict) and method != THERE:
            params = {"sessionId": self.session, **params}
        return self.connection.begin(method, params, request_id=request_id)

    async def call(
        self, method: str, params: object = None, *, name: str = "", request_id: object = None
    ) -> Frame:
        """Send a request and return its answer; a `name` marks the stretch."""
        first = self.position
        try:
            return await self.answer(method, self.begin(method, params, request_id=request_id), since=first)
        finally:
            if name:
                self.mark(name, first)

    async def answer(self, method: str, request_id: object, *, since: int) -> Frame:
        """Return the answer to an open request."""
        try:
            return await self.until(
                lambda frame: is_answer_to(frame, request_id), seconds=self._patience.of(method), since=since
            )
        except ClientSilence:
            self._patience.deaf.add(method)
            raise

    async def until(self, matches: Callable[[Frame], bool], *, seconds: float, since: int) -> Frame:
        return await self.connection.until(
            matches, seconds=seconds, since=since, should_stop=lambda: self.cancel_frame is not None
        )

    async def quiet(self) -> None:
        """Wait until the client has handled all messages: it answers in order, or is silent for a moment."""
        is_deaf = THERE in self._patience.deaf
        first = self.position
        request_id = self.connection.begin(THERE, {})
        try:
            await self.until(
                lambda frame: is_answer_to(frame, request_id),
                seconds=PAUSE if is_deaf else SHORT,
                since=first,
            )
        except ClientSilence:
            self._patience.deaf.add(THERE)

    async def pause(self) -> None:
        """Wait before the same request is repeated."""
        await asyncio.sleep(AGAIN)

    # Beside the wire.

    @property
    def position(self) -> int:
        return self.connection.position

    def mark(self, name: str, first: int) -> None:
        self.connection.mark(name, first)

    def fact(self, name: str, value: object) -> None:
        self.connection.fact(name, value)

    @asynccontextmanager
    async def stretch(self, name: str) -> AsyncIterator[None]:
        """Mark everything inside, until the client has handled it."""
        first = self.position
        try:
            yield
            await self.quiet()
        finally:
            self.mark(name, first)


__all__ = ["ClientGone", "ClientSilence", "Patience", "StandInTurn", "Stopped"]


ClientScene: TypeAlias = Callable[[StandInTurn], Awaitable[None]]


def text_block(words: str, **more: object) -> JsonObject:
    """Return a block of text."""
    return {"type": "text", "text": words, **more}
