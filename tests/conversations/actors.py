"""The agent and the client of a conversation: they do what the script says and keep a record of it."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any, Protocol

from dragoman import Agent, Client, Turn
from dragoman.errors import (
    BadAnswer,
    CallFailed,
    CallTimeout,
    DragomanError,
    ErrorAnswer,
    LinkClosed,
    TurnOver,
)
from dragoman.schema.v1 import (
    AgentMessageChunk,
    ReadTextFileRequest,
    ReadTextFileResponse,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SelectedPermissionOutcome,
    SessionNotification,
    SessionUpdate,
    TextContent,
)
from tests.conversations.scripts import Op, Program


async def spin(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


class Played:
    """One turn as its handler saw it."""

    def __init__(self, number: int, program: Program) -> None:
        self.number = number
        self.program = program
        self.said: list[str] = []
        self.began = False
        self.cancelled_at_end = False
        self.left_behind = False


class Cast(Protocol):
    """What the actors need to know of the stage, whichever it is."""

    played: list[Played]
    decisions: list[bool]


class Player:
    """The prompt handler. A prompt's text is the number of its turn; each text it says starts with it."""

    def __init__(self, stage: Cast) -> None:
        self.stage = stage

    async def __call__(self, turn: Turn) -> Any:
        played = self.stage.played[int(turn.text)]
        played.began = True
        try:
            return await self._play(turn, played)
        finally:
            played.cancelled_at_end = turn.cancelled

    async def _play(self, turn: Turn, played: Played) -> Any:
        try:
            for op in played.program.ops:
                await self._do(turn, played, op)
        except asyncio.CancelledError:
            await self._cancelled(turn, played)
        if played.program.ending == "raise":
            raise RuntimeError("as the script says")
        if played.program.ending == "error":
            raise ErrorAnswer(-32099, "as the script says")
        return played.program.ending

    async def _do(self, turn: Turn, played: Played, op: Op) -> None:
        match op:
            case ("say", int(count)):
                for _ in range(count):
                    await self._say(turn, played)
            case ("burst",):
                for _ in range(30):
                    await self._say(turn, played)
            case ("big", int(kibibytes)):
                await self._say(turn, played, "x" * kibibytes * 1024)
            case ("turns", int(count)):
                await spin(count)
            case ("sleep", float(seconds)):
                await asyncio.sleep(seconds)
            case ("ask",):
                async with turn.tool("asks") as call:
                    self.stage.decisions.append(bool(await call.ask()))
            case ("read",):
                await self._attempt(turn.read_text_file("/x"))
            case ("call",):
                await self._attempt(turn.client.call("_client", None))
            case ("tool", int(count)):
                async with turn.tool("works"):
                    await spin(count)
            case _:
                raise AssertionError(op)

    async def _say(self, turn: Turn, played: Played, extra: str = "") -> None:
        text = f"{played.number}:{len(played.said)}:{extra}"
        played.said.append(text)
        try:
            await turn.say(text)
        except TurnOver:
            played.said.pop()
            played.left_behind = True
            raise

    async def _attempt(self, work: Any) -> None:
        try:
            await work
        except (BadAnswer, CallFailed, CallTimeout, LinkClosed):
            pass

    async def _cancelled(self, turn: Turn, played: Played) -> None:
        match played.program.on_cancel:
            case "propagate":
                raise asyncio.CancelledError
            case "raise":
                raise ValueError("an abort, as some library calls it")
            case "linger":
                await asyncio.sleep(1)
            case "ignore":
                await asyncio.sleep(100_000)
            case "speak":
                await self._say(turn, played)
            case "speak late":
                await asyncio.sleep(10)
                await self._say(turn, played)


def make_agent(stage: Cast) -> Agent:
    agent = Agent("player")
    agent.prompt(Player(stage))

    @agent.extension("_agent")
    async def called(params: Any) -> Any:
        await spin(2)
        return params

    return agent


class Policies(Protocol):
    """How a client of ours decides and listens."""

    @property
    def permission(self) -> tuple[Op, ...]: ...
    @property
    def reading(self) -> tuple[Op, ...]: ...
    @property
    def updates(self) -> str: ...


class Audience(Protocol):
    """What the client of a stage keeps a record of."""

    allowed: int
    handled: dict[str, list[str]]

    def asked_in(self, session_id: str) -> None:
        """The user is asked something in this session."""

    @property
    def script(self) -> Policies: ...


def make_client(stage: Audience) -> Client:
    client = Client("user")
    permissions = itertools.cycle(stage.script.permission)
    readings = itertools.cycle(stage.script.reading)

    @client.request_permission
    async def decide(question: RequestPermissionRequest) -> RequestPermissionResponse:
        stage.asked_in(question.session_id)
        chosen = await _decide(next(permissions), "allow_once", "reject_once")
        stage.allowed += chosen == "allow_once"
        return RequestPermissionResponse(outcome=SelectedPermissionOutcome(option_id=chosen))

    @client.read_text_file
    async def read(message: ReadTextFileRequest) -> ReadTextFileResponse:
        return ReadTextFileResponse(content=await _decide(next(readings), "content", "other"))

    @client.extension("_client")
    async def called(params: Any) -> Any:
        await spin(2)
        return params

    _listen(stage, client)
    return client


async def _decide(policy: Op, yes: str, no: str) -> str:
    match policy:
        case ("allow", int(count)):
            await spin(count)
            return yes
        case ("reject", int(count)):
            await spin(count)
            return no
        case ("sleep", float(seconds)):
            await asyncio.sleep(seconds)
            return yes
        case ("hang",):
            await asyncio.Event().wait()
    raise RuntimeError("as the script says")


def _listen(stage: Audience, client: Client) -> None:
    def note(notification: SessionNotification) -> None:
        stage.handled.setdefault(notification.session_id, []).append(text_of(notification.update))

    def take(notification: SessionNotification) -> None:
        note(notification)
        if stage.script.updates == "fails" and len(stage.handled[notification.session_id]) % 3 == 0:
            raise RuntimeError("as the script says")

    async def take_slowly(notification: SessionNotification, agent: Any) -> None:
        if stage.script.updates == "calls":
            try:
                await agent.call("_agent", None)
            except DragomanError:
                pass
        else:
            await asyncio.sleep(0)
        note(notification)

    if stage.script.updates in ("def", "fails"):
        client.update(take)
    elif stage.script.updates in ("turns", "calls"):
        client.update(take_slowly)


def text_of(update: SessionUpdate) -> str:
    if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent):
        return update.content.text
    return ""
