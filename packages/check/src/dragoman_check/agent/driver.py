"""Steps that all scenes share: initialize, open a session, prompt, delay answers and release them.

A turn that does not end in time is cancelled, so that the scene can go on; if that does not end it either,
the scene is over.
"""

from __future__ import annotations

from pathlib import Path

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.agent.connection import AgentConnection, AgentGone, Silence
from dragoman_check.agent.editor import ASK, READ, WRITE, Editor
from dragoman_check.recording import Frame

CLIENT = {"name": "dragoman-check", "title": "Dragoman's examiner", "version": "1"}

STARTED = 1.0
"""The seconds after which a silent turn counts as running."""

LATE = 10.0
"""The seconds in which any agent ends a cancelled turn: no tool needs longer to stop."""

SLOW = frozenset({ASK, READ, WRITE, "terminal/wait_for_exit", "terminal/create", "elicitation/create"})
"""Requests left unanswered to make a turn last, so that no clock decides."""


class RequestRefused(Silence):
    """The agent refused a request that the scene needs."""

    def __init__(self, method: str, answer: Frame) -> None:
        error = answer.message.get("error")
        self.code = error.get("code") if isinstance(error, dict) else None
        super().__init__(f"{method} was answered with {self.code if self.code is not None else 'no result'}")


class AgentDriver(AgentConnection):
    """A connection with the client's usual requests."""

    editor: Editor
    version = 1
    """The version of the protocol."""

    async def open(self, capabilities: object = None, *, name: str = "initialize") -> Json:
        """Initialize as a client; return the agent's answer."""
        params = initialize_params(self.version, {} if capabilities is None else capabilities)
        return _result("initialize", await self.call("initialize", params, name=name))

    async def login(self, method: str) -> None:
        name = "authenticate" if self.version == 1 else "auth/login"
        await self.call(name, {"methodId": method}, name="login")

    async def new(self, folder: Path | str, *, name: str = "new", **more: object) -> str:
        """Open a session in a folder; return its id."""
        result = await self.new_result(folder, name=name, **more)
        return str(result.get("sessionId"))

    async def new_result(self, folder: Path | str, *, name: str = "new", **more: object) -> JsonObject:
        params = {"cwd": str(folder), "mcpServers": [], **more}
        return _result("session/new", await self.call("session/new", params, name=name))

    async def prompt(self, session: str, *blocks: object, name: str = "") -> Frame:
        first = self.position
        running = self.begin_prompt(session, *blocks)
        try:
            return await self.finish(running, session, since=first)
        finally:
            if name:
                self.mark(name, first)

    async def finish(self, running: object, session: str, *, since: int) -> Frame:
        """Return the end of a turn, which is cancelled if it takes too long."""
        try:
            return await self.end(running, session, since=since)
        except Silence:
            self.notify("session/cancel", {"sessionId": session})
        try:
            return await self.end(running, session, since=since, seconds=max(self.brief, LATE))
        except Silence:
            self.facts.setdefault("given up", []).append(running)
            raise

    async def end(self, running: object, session: str, *, since: int, seconds: float = 0) -> Frame:
        """Return the frame that ends a turn: the answer to its prompt, or in version 2 the update that the
        session is idle.
        """
        answer = await self.answer(running, since=since, seconds=seconds)
        if self.version == 1 or "error" in answer.message:
            return answer
        return await self.until(lambda frame: _is_idle(frame, session), since=since, seconds=seconds)

    def begin_prompt(self, session: str, *blocks: object, request_id: object = None) -> Json:
        return self.begin("session/prompt", prompt_params(session, *blocks), request_id=request_id)

    async def under_way(self, running: object, session: str, *, since: int) -> bool:
        """Wait until a turn has sent a message, or a moment has passed; False if it is over."""

        def is_sign_of_life(frame: Frame) -> bool:
            mine = frame.direction == "to_client" and frame.number > since
            is_end = self.version == 1 and frame.message.get("id") == running
            return mine and (_about(frame, session) or is_end)

        try:
            await self.until(is_sign_of_life, since=since, seconds=STARTED)
        except Silence:
            return True
        return not self.is_over(running, session, since=since)

    async def until_held(self, running: object, session: str, *, since: int, count: int = 1) -> bool:
        """Wait until the editor delays an answer for which a turn waits; False if the turn ends first."""

        def is_there() -> bool:
            requests = [
                frame for frame in self.editor.held_requests if frame.params.get("sessionId") == session
            ]
            return len(requests) >= count

        await self.until(lambda _: is_there() or self.is_over(running, session, since=since), since=since)
        return is_there()

    def is_over(self, running: object, session: str, *, since: int = 0) -> bool:
        """Whether a turn has ended."""
        frames = [frame for frame in self.recording.frames[since:] if frame.direction == "to_client"]
        answer = next(
            (frame for frame in frames if frame.is_answer and frame.message.get("id") == running), None
        )
        if self.version == 1 or (answer is not None and "error" in answer.message):
            return answer is not None
        return any(_is_idle(frame, session) for frame in frames)

    def release(self, session: str = "", *methods: str) -> None:
        """Send the editor's delayed answers."""
        self.editor.release(self.reply, session, *methods)

    async def __aexit__(self, *error: object) -> None:
        try:
            await self.editor.aclose()
        finally:
            await super().__aexit__(*error)


def initialize_params(version: int, capabilities: Json) -> JsonObject:
    """Return the params of initialize. Capabilities that version 2 lacks are left out."""
    if version == 1:
        return {"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": CLIENT}
    offers = {"elicitation": capabilities["elicitation"]} if "elicitation" in capabilities else {}
    return {"protocolVersion": version, "capabilities": offers, "info": CLIENT}


def prompt_params(session: str, *blocks: object) -> JsonObject:
    parts = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    return {"sessionId": session, "prompt": parts}


def _is_idle(frame: Frame, session: str) -> bool:
    update = frame.params.get("update")
    return (
        frame.params.get("sessionId") == session
        and isinstance(update, dict)
        and (update.get("sessionUpdate"), update.get("state")) == ("state_update", "idle")
    )


def _about(frame: Frame, session: str) -> bool:
    if frame.params.get("sessionId") != session:
        return False
    update = frame.params.get("update")
    kind = update.get("sessionUpdate") if isinstance(update, dict) else ""
    # Commands are announced when a session was opened: no sign of a turn. Nor is the prompt given back.
    return kind not in ("available_commands_update", "session_info_update", "user_message")


def _result(method: str, answer: Frame) -> JsonObject:
    result = answer.message.get("result")
    if not isinstance(result, dict):
        raise RequestRefused(method, answer)
    return result


__all__ = ["CLIENT", "SLOW", "AgentDriver", "AgentGone", "RequestRefused", "Silence", "prompt_params"]
