"""Tries one agent: each effect on the scripted model, judged from outside.

Effects share a connection and have sessions of their own. One that fails ends the connection, and the next
begins with a new one, so that a fault is not counted twice. Every step has the same deadline.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import msgspec

from dragoman import Session, TurnResult
from dragoman.errors import CallFailed, DragomanError, LinkClosed
from dragoman.schema.v1 import AgentMessageChunk, TextContent
from dragoman.testing.pace import patience
from dragoman.testing.raw_peer import RawPeer
from dragoman.wire.envelope import JsonObject
from tests.hub.outside.process import HubProcess
from tests.interop.matrix.effects import (
    AGENT_EFFECTS,
    Finding,
    TurnWitness,
    judge_cancel,
    judge_command,
    judge_denied,
    judge_killed,
    judge_resumed,
    judge_steered,
    judge_stop,
    judge_subagent,
    judge_write,
    no,
    yes,
)
from tests.interop.matrix.model import WORD, WRITTEN, is_of_subagent, mark, starter_call
from tests.interop.matrix.observation import command_line, drain, is_answer, last_tool_frame, mentions
from tests.interop.matrix.processes import commands_with, kill_marked, marked_processes, wait_until
from tests.interop.matrix.stage import MatrixStage, StageConnection

NOT_OFFERED = Finding(verdict="not offered")
NOT_TRIED = Finding(verdict="not tried")

ENDING = 10.0
"""Seconds until a cancelled command, or an agent whose connection was closed, must be gone on a quiet
machine.
"""

STEERING = 2.0
"""Seconds in which an agent gets a message for its running turn, whether it answers at once or later."""

Trial: TypeAlias = Callable[[StageConnection], Awaitable[Finding]]


class AgentTrial:
    """All effects of one agent."""

    def __init__(
        self,
        stage: MatrixStage,
        *,
        seconds: float,
        on_effect: Callable[[str, Finding], None],
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
        walled: MatrixStage | None = None,
    ) -> None:
        """`walled` is a stage with a sandbox around the program, for the effect that asks for one."""
        self.stage = stage
        self._walled = walled
        self._seconds = seconds
        self._on_effect = on_effect
        self._pause = pause
        self._session_id = ""
        self._can_load = self._can_resume = False

    async def run(self) -> dict[str, Finding]:
        """Every effect in the order of the table."""
        findings: dict[str, Finding] = {}

        def settle(name: str, finding: Finding) -> None:
            findings[name] = finding
            self._on_effect(name, finding)

        settle("start", await self.alone(self._start))
        if findings["start"].verdict == "yes":
            await self._share(
                {
                    "text": self._text,
                    "write": self._write,
                    "deny": self._deny,
                    "command": self.command,
                    "cancel": self._cancel,
                    "stop": self._stop,
                    "steer": self.steer,
                },
                settle,
            )
            settle("subagent", await self.subagent())
            settle("load", await self.load())
            settle("resume", await self.resume())
            settle("end", await self._end())
            if self.stage.sandbox == "off":  # a sandbox makes no difference to these
                settle("hub", await self._guard(self._hub()))
                settle("kill", await self._guard(self.kill()))
                settle("v2", await self._guard(self.v2()))
            if self._walled is not None:
                behind = AgentTrial(self._walled, seconds=self._seconds, on_effect=self._on_effect)
                settle("sandbox", await behind.alone(behind.sandboxed))
                kill_marked(self._walled.token)
            elif self.stage.sandbox != "off":
                settle("sandbox", await self.alone(self.sandboxed))
        kill_marked(self.stage.token)
        return {name: findings.get(name, NOT_TRIED) for name in AGENT_EFFECTS}

    async def _share(self, trials: Mapping[str, Trial], settle: Callable[[str, Finding], None]) -> None:
        remaining = dict(trials)
        while remaining:
            try:
                async with self._connection() as connection:
                    for name in list(remaining):
                        trial = remaining.pop(name)
                        finding = await self._guard(trial(connection))
                        settle(name, finding)
                        if finding.verdict == "no":
                            break
            except (DragomanError, OSError, TimeoutError) as error:
                if remaining:
                    settle(next(iter(remaining)), no(self._describe(error)))
                    remaining.pop(next(iter(remaining)))

    async def alone(self, trial: Trial) -> Finding:
        """One effect with a process of its own."""

        async def work() -> Finding:
            async with self._connection() as connection:
                return await trial(connection)

        return await self._guard(work())

    @asynccontextmanager
    async def _connection(self, **how: Any) -> AsyncIterator[StageConnection]:
        async with self.stage.connection(seconds=self._seconds, **how) as connection:
            yield connection

    async def _guard(self, work: Awaitable[Finding]) -> Finding:
        """The finding, or what went wrong as its evidence: one effect must not end the others."""
        begin = time.monotonic()
        try:
            async with asyncio.timeout(self._seconds * 2):
                return await work
        except TimeoutError:  # this one, or that of a step
            seconds = time.monotonic() - begin
            return no(f"not done after {seconds:.0f} s; last frame: {self.stage.last_frame()}")
        except (DragomanError, OSError, AssertionError) as error:
            return no(self._describe(error))

    def _describe(self, error: BaseException) -> str:
        text = f"{type(error).__name__}: {error}"
        if isinstance(error, CallFailed):
            text += f"; frame: {self.stage.last_frame()}"
        if isinstance(error, LinkClosed) and (complaint := self.stage.complaint()):
            text += f"; standard error: {complaint}"
        return text

    # The effects.

    async def _start(self, connection: StageConnection) -> Finding:
        await connection.new_session()
        return yes()

    async def _text(self, connection: StageConnection) -> Finding:
        session = await connection.new_session()
        result = await self._turn(session, mark("say"))
        if WORD in result.text and result.stop_reason == "end_turn":
            return yes()
        return no(f"stop reason {result.stop_reason!r}, text {result.text!r}")

    async def steer(self, connection: StageConnection) -> Finding:
        """Something is said while the model thinks: the model reads it before the turn is over."""
        if connection.agent.steering_way == "restart":
            return NOT_OFFERED
        session = await connection.new_session()
        name = secrets.token_hex(4)
        turn = session.prompt(mark("hold", name))
        waiting = asyncio.ensure_future(drain(turn))
        try:
            async with asyncio.timeout(self._seconds):
                await self.stage.model.wait_for_hold(name)
                said = asyncio.ensure_future(turn.steer(mark("say"), otherwise="queue"))
                # The agent has the message before the model goes on; it may answer only after that.
                await asyncio.wait([said], timeout=STEERING)
                self.stage.model.release(name)
                outcome, result = await said, await waiting
        finally:
            self.stage.model.release(name)
            waiting.cancel()
        return judge_steered(outcome, result.text)

    async def subagent(self) -> Finding:
        """The model starts an agent, which says the word; then the turn ends."""
        self.stage.shows_subagents = True
        try:
            return await self.alone(self._subagent)
        finally:
            self.stage.shows_subagents = False

    async def _subagent(self, connection: StageConnection) -> Finding:
        self.stage.permits = True
        session = await connection.new_session()
        first = len(self.stage.model.requests)
        result = await self._turn(session, mark("delegate"))
        requests = self.stage.model.requests[first:]
        if not any(starter_call(request.tools) for request in requests):
            return NOT_OFFERED
        asked = [request for request in requests if is_of_subagent(request)]
        return judge_subagent(result.stop_reason, is_asked=bool(asked), text=result.text)

    async def resume(self) -> Finding:
        """A conversation, the end of its process, and a new one that knows what was said."""
        if not self._can_resume:
            return NOT_OFFERED
        if not self._session_id:
            finding = await self.alone(self._converse)
            if finding.verdict != "yes":
                return finding
        return await self.alone(self._resume)

    async def _resume(self, connection: StageConnection) -> Finding:
        session = await connection.load_session(self._session_id, replays=False)
        first = len(self.stage.model.requests)
        result = await self._turn(session, mark("say"))
        told = [request for request in self.stage.model.requests[first:] if request.tools]
        knows = any(sum("[interop:say]" in m.text for m in request.messages) > 1 for request in told)
        return judge_resumed(result.text, knows=knows)

    async def _converse(self, connection: StageConnection) -> Finding:
        """Two turns: some agents do not keep a session of one prompt."""
        capabilities = connection.agent.capabilities
        self._can_load = "loadSession" in capabilities
        self._can_resume = "sessionCapabilities.resume" in capabilities
        if not (self._can_load or self._can_resume):
            return NOT_OFFERED
        session = await connection.new_session()
        results = [await self._turn(session, mark("say")) for _ in range(2)]
        self._session_id = session.id
        said = [result.text for result in results]
        return yes() if all(WORD in text for text in said) else no(f"the turns before the load said {said!r}")

    async def _write(self, connection: StageConnection) -> Finding:
        return judge_write(await self._writes(connection, "write", "allowed.txt", permits=True))

    async def _deny(self, connection: StageConnection) -> Finding:
        return judge_denied(await self._writes(connection, "write", "refused.txt", permits=False))

    async def command(self, connection: StageConnection) -> Finding:
        """A command that the model wants, with the person's permission."""
        return judge_command(await self._writes(connection, "run", "ran.txt", permits=True))

    async def sandboxed(self, connection: StageConnection) -> Finding:
        """Text and a file in its folder; and a permitted command that writes outside of it, and cannot."""
        text = await self._text(connection)
        if text.verdict != "yes":
            return text
        seen = await self._writes(connection, "write", "walled.txt", permits=True)
        if not seen.is_written:
            return judge_write(seen)
        path = self.stage.folder / f"{secrets.token_hex(4)}-outside.txt"
        self.stage.permits = True
        session = await connection.new_session()
        await self._turn(session, mark("run", f"echo out > {path}"))
        return no(f"it wrote {path}") if path.exists() else yes()

    async def _writes(
        self, connection: StageConnection, step: str, name: str, *, permits: bool
    ) -> TurnWitness:
        stage = self.stage
        path = stage.work / f"{secrets.token_hex(4)}-{name}"
        argument = str(path) if step == "write" else f"echo ran > {path}"
        stage.permits, stage.questions = permits, 0
        session = await connection.new_session()
        first = len(stage.model.requests)
        result = await self._turn(session, mark(step, argument))
        tools = max((request.tools for request in stage.model.requests[first:]), key=len, default={})
        is_written = path.is_file() and (step == "run" or path.read_text().strip() == WRITTEN.strip())
        return TurnWitness(
            stop_reason=result.stop_reason,
            questions=stage.questions,
            is_written=is_written,
            tools=() if result.tool_calls else tuple(tools),
            last_frame=last_tool_frame(stage),
        )

    async def _cancel(self, connection: StageConnection) -> Finding:
        session = await connection.new_session()
        name = secrets.token_hex(4)
        turn = asyncio.ensure_future(drain(session.prompt(mark("hold", name))))
        try:
            async with asyncio.timeout(self._seconds):
                await self.stage.model.wait_for_hold(name)
                await session.cancel()
                result = await turn
        finally:
            turn.cancel()
        held = [request for request in self.stage.model.requests if request.tools and mentions(request, name)]
        gone = await wait_until(
            lambda: any(request.outcome == "abandoned" for request in held), seconds=self._ending
        )
        self.stage.model.release(name)
        return judge_cancel(result.stop_reason, hung_up=gone)

    async def _stop(self, connection: StageConnection) -> Finding:
        self.stage.permits = True
        session = await connection.new_session()
        path = self.stage.work / f"{secrets.token_hex(4)}.log"
        path.touch()
        word = str(path)
        # Some agents refuse to sleep for long; nobody minds following a file that does not grow.
        turn = asyncio.ensure_future(drain(session.prompt(mark("run", f"tail -f {word}"))))
        try:
            if not await wait_until(lambda: bool(commands_with(word)) or turn.done(), seconds=self._seconds):
                return no(f"the command did not start; last frame: {self.stage.last_frame()}")
            if turn.done():
                return no(f"the turn ended before the command: {turn.result().stop_reason!r}")
            await session.cancel()
            seconds = self._ending
            gone = await wait_until(lambda: not commands_with(word), seconds=seconds)
            done, _ = await asyncio.wait([turn], timeout=self._seconds if gone else ENDING)
            reason = turn.result().stop_reason if done else "no answer"
            return judge_stop(reason, is_gone=gone, seconds=seconds)
        finally:
            turn.cancel()

    async def load(self) -> Finding:
        """A conversation, the end of its process, and the same conversation in a new one."""
        # The conversation to load is the only one of its process: what an agent does with many is not asked.
        conversation = await self.alone(self._converse)
        if conversation.verdict != "yes":
            return conversation
        if not self._can_load:
            return NOT_OFFERED
        if self.stage.row.load_after:
            await self._pause(self.stage.row.load_after)
        return await self.alone(self._replay)

    async def _replay(self, connection: StageConnection) -> Finding:
        return await self._replayed(await connection.load_session(self._session_id))

    async def _replayed(self, session: Session) -> Finding:
        heard: list[str] = []

        def listen() -> bool:
            heard.extend(
                update.content.text
                for update in session.late
                if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent)
            )
            session.late.clear()
            return WORD in "".join(heard)

        # Some replay after they have answered.
        if await wait_until(listen, seconds=self._ending):
            return yes()
        return no(f"the replay says {''.join(heard)!r}")

    async def _end(self) -> Finding:
        gone = await wait_until(lambda: not marked_processes(self.stage.token), seconds=self._ending)
        if gone:
            return yes()
        names = [command_line(pid) for pid in marked_processes(self.stage.token)]
        kill_marked(self.stage.token)
        return no(f"still running: {'; '.join(names)}")

    async def _hub(self) -> Finding:
        folder = self.stage.folder / "hub"
        folder.mkdir()
        hub = await asyncio.to_thread(HubProcess(folder, config=self.hub_config).start)
        try:
            how = {"target": f"ws://{hub.place}/acp?agent={self.stage.row.name}", "headers": hub.headers}
            async with self._connection(**how) as connection:
                text = await self._text(connection)
                return text if text.verdict != "yes" else await self._write(connection)
        finally:
            await asyncio.to_thread(hub.stop)

    async def kill(self) -> Finding:
        """A turn through the hub, `kill -9` in the middle of the next, and the session at the next hub.
        A host keeps the agent meanwhile: it ends when that hub is stopped.
        """
        folder = self.stage.folder / "killed"
        folder.mkdir()
        hub = await asyncio.to_thread(HubProcess(folder, config=self.hub_config).start)
        try:
            target, name = f"ws://{hub.place}/acp?agent={self.stage.row.name}", secrets.token_hex(4)
            session_id = await self._leave_at_work(hub, target, name)
            await asyncio.to_thread(hub.start)
            async with self._connection(target=target, headers=hub.headers) as connection:
                session = await connection.load_session(session_id)
                replay = await self._replayed(session)
                self.stage.model.release(name)
                if replay.verdict != "yes":
                    return replay
                result = await self._turn(session, mark("say"))
        finally:
            await asyncio.to_thread(hub.stop)
        token = self.stage.token
        gone = await wait_until(lambda: not marked_processes(token), seconds=self._ending)
        left = [] if gone else [command_line(pid) for pid in marked_processes(token)]
        return judge_killed(result.text, left=left)

    async def _leave_at_work(self, hub: HubProcess, target: str, name: str) -> str:
        """A session with one turn behind it, whose hub is killed in the next; returns its id."""
        async with self._connection(target=target, headers=hub.headers) as connection:
            session = await connection.new_session()
            await self._turn(session, mark("say"))
            waiting = asyncio.ensure_future(drain(session.prompt(mark("hold", name))))
            async with asyncio.timeout(self._seconds):
                await self.stage.model.wait_for_hold(name)
            await asyncio.to_thread(hub.kill)
            await asyncio.wait([waiting])
            waiting.exception()  # that its connection broke is what was wanted
            return session.id

    @property
    def hub_config(self) -> str:
        """The hub's settings for this agent, which leaves its files in the work folder and not in ours."""
        stage, table = self.stage, f"agents.{self.stage.row.name}"
        env = "".join(f"{json.dumps(k)} = {json.dumps(v)}\n" for k, v in stage.env.items())
        command, cwd = json.dumps(stage.command), json.dumps(str(stage.work))
        return f"[{table}]\ncommand = {command}\ncwd = {cwd}\n[{table}.env]\n{env}"

    async def v2(self) -> Finding:
        """Text and a permitted file in version 2, for an agent that speaks it when it is offered."""
        answer = await self._offer_v2()
        if answer.get("protocolVersion") != 2:
            return NOT_OFFERED
        if "agentCapabilities" in answer:
            return no(f"it says version 2 and speaks version 1: {msgspec.json.encode(answer).decode()}")
        async with self._connection(dialect="v2") as connection:
            text = await self._text(connection)
            return text if text.verdict != "yes" else await self._write(connection)

    async def _offer_v2(self) -> JsonObject:
        """What the agent answers to an offer of version 2."""
        info = {"name": "dragoman-interop", "version": "1"}
        params = {
            "protocolVersion": 2,
            "clientCapabilities": {},
            "clientInfo": info,
            "info": info,
            "capabilities": {},
        }
        frame = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        async with RawPeer(self.stage.command, cwd=self.stage.work, env=self.stage.env) as peer:
            await peer.send(frame)
            lines = await peer.read_until(is_answer, seconds=self._seconds)
        result = msgspec.json.decode(lines[-1]).get("result")
        return result if isinstance(result, dict) else {}

    @property
    def _ending(self) -> float:
        """Seconds until something must have ended on this machine, and not more than a step has."""
        return min(patience(ENDING), self._seconds)

    async def _turn(self, session: Session, text: str) -> TurnResult:
        async with asyncio.timeout(self._seconds):
            return await session.prompt(text)
