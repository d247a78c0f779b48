"""Runs all checks on an agent, from its command to its end, step by step.

It talks to the agent through `connect`, so what it sees is what every client of this package would see. What
can be seen without starting the agent is a hint, not a verdict: if there is a program at all it is started,
and a hint explains what then goes wrong. A step that fails ends the examination, except that the output and
the end of an agent are always looked at.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
from collections.abc import Awaitable, Callable

from dragoman.dialect import Ledger
from dragoman.errors import DragomanError, LocalMistake
from dragoman.runtime import Limits
from dragoman.runtime.limits import HANDSHAKE_SECONDS
from dragoman.sdk.client.agent_handle import AgentHandle
from dragoman.sdk.client.client import Client
from dragoman.sdk.connect import connect
from dragoman.sdk.environment import agent_environment
from dragoman.sdk.login_path import login_path
from dragoman.transport.contract import Grace
from dragoman.transport.process import ChildTransport, spawn
from dragoman_local.known.agent import AgentSource, KnownAgent
from dragoman_local.known.doctor import after, before
from dragoman_local.known.doctor.findings import (
    CheckResult,
    Diagnosis,
    DiagnosisOutcome,
    DiagnosisStep,
    SeenFrame,
)
from dragoman_local.known.doctor.frame_watch import FrameWatch, cut
from dragoman_local.known.doctor.logins import read_logins
from dragoman_local.known.redactor import Redactor

SHELL_SECONDS = 5.0

GRACE = Grace(after_eof=3.0, after_terminate=2.0)

STDERR = 8_000
"""The most characters of standard error to keep."""


async def diagnose(
    agent: KnownAgent,
    *,
    seconds: float = HANDSHAKE_SECONDS,
    cwd: str | None = None,
    on_step: Callable[[DiagnosisStep], None] | None = None,
    grace: Grace = GRACE,
) -> Diagnosis:
    """Check one agent. `seconds` limits each answer, `grace` its end; `on_step` is called after each step."""
    examination = _Examination(agent, seconds=seconds, cwd=cwd or os.getcwd(), on_step=on_step, grace=grace)
    return await examination.run()


class _Examination:
    def __init__(
        self,
        agent: KnownAgent,
        *,
        seconds: float,
        cwd: str,
        on_step: Callable[[DiagnosisStep], None] | None,
        grace: Grace,
    ) -> None:
        self._agent = agent
        self._seconds = seconds
        self._grace = grace
        self._cwd = os.path.abspath(cwd)
        self._on_step = on_step
        self._steps: list[DiagnosisStep] = []
        self._env: dict[str, str] = {}
        self._redact = Redactor({})
        self._watch = FrameWatch(asyncio.get_running_loop().time)
        self._child: ChildTransport | None = None
        self._hint: DiagnosisStep | None = None  # what looked wrong with the program before it was started
        self._ledger = Ledger()

    async def run(self) -> Diagnosis:
        outcome = await self._examine()
        stderr = "" if self._child is None else self._child.stderr.text
        return Diagnosis(
            agent=self._agent,
            outcome=outcome,
            steps=tuple(self._steps),
            frames=tuple(
                SeenFrame(seconds=frame.seconds, direction=frame.direction, text=self._redact(frame.text))
                for frame in self._watch.frames
            ),
            stderr=self._redact(stderr[-STDERR:]),
        )

    async def _examine(self) -> DiagnosisOutcome:
        if not self._agent.command:
            self._say(after.not_a_command(self._agent))
            return DiagnosisOutcome.NOT_STARTED
        login = await login_path(seconds=min(SHELL_SECONDS, self._seconds))
        self._env = agent_environment(allow=self._agent.allow, explicit=self._agent.env, path=login.path)
        self._env.setdefault("PATH", os.defpath)
        self._redact = Redactor(dict(self._agent.env), all_values=True) | Redactor(os.environ)
        place, step = before.look_for_command(self._agent.command, cwd=self._cwd, env=self._env, login=login)
        self._say(step)
        if place is None:
            return DiagnosisOutcome.NOT_STARTED
        program = await before.look_at_program(place, env=self._env)
        self._say(program)
        if program.verdict is CheckResult.WARNING:
            self._hint = program
        return await self._start()

    async def _start(self) -> DiagnosisOutcome:
        self._watch = FrameWatch(asyncio.get_running_loop().time)
        try:
            self._child = spawn(self._agent.command, cwd=self._cwd, env=self._env, grace=self._grace)
        except LocalMistake as spawn_error:
            self._say(self._with_hint(after.start_failure_step(spawn_error)))
            return DiagnosisOutcome.NOT_STARTED
        limits = Limits(handshake_seconds=self._seconds, call_seconds=self._seconds)
        client = Client("dragoman doctor", auth_terminal=True)
        connecting = connect(
            self._child,
            client=client,
            limits=limits,
            cwd=self._cwd,
            tap=self._watch,
            dialect=self._agent.dialect,
            ledger=self._ledger,
        )
        began = self._now()
        try:
            handle = await connecting.__aenter__()
        except DragomanError as error:
            return self._no_handshake(error, self._now() - began)
        try:
            return await self._talk(handle, self._now() - began)
        finally:
            await self._end(connecting.__aexit__)

    def _no_handshake(self, error: DragomanError, took: float) -> DiagnosisOutcome:
        steps, outcome = after.no_handshake(error, self._watch, took=took)
        for step in steps:
            self._say(self._with_hint(step))
        self._say(after.output(self._watch))
        return outcome

    def _with_hint(self, step: DiagnosisStep) -> DiagnosisStep:
        """A failure, with what was seen before the start that may be its reason."""
        if self._hint is None or step.verdict is not CheckResult.FAILED:
            return step
        meaning = f"{step.meaning}; perhaps because {self._hint.meaning}"
        return dataclasses.replace(step, meaning=meaning, advice=self._hint.advice)

    async def _talk(self, handle: AgentHandle, took: float) -> DiagnosisOutcome:
        assert self._child is not None
        self._say(after.start_step(self._child.tree.pid, self._watch))
        self._say(after.initialize_step(handle, self._watch, took=took))
        dialect_step = after.dialect(self._agent.dialect, self._ledger.decisions)
        if dialect_step is not None:
            self._say(dialect_step)
        logins = read_logins(self._watch.initialize.get("authMethods"))
        is_command = self._agent.source is AgentSource.COMMAND
        name = self._agent.command_line if is_command else self._agent.name
        needs = after.LoginNeeds(
            logins, name=name, environment=self._env, ours=os.environ, command=self._agent.command
        )
        self._say(needs.step())
        began = self._now()
        step, outcome = await after.try_session(handle, cwd=self._cwd, needs=needs)
        self._say(after.with_time(step, self._now() - began))
        self._say(after.output(self._watch))
        return outcome

    async def _end(self, close: Callable[[], Awaitable[None]]) -> None:
        child = self._child
        assert child is not None
        died = child.tree.has_exited
        began = self._now()
        await close()
        if not died:
            self._say(after.end_step(child.tree.returncode, took=self._now() - began, grace=self._grace))

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _say(self, step: DiagnosisStep) -> None:
        clean = self._redact
        clean_step = DiagnosisStep(
            name=step.name,
            verdict=step.verdict,
            summary=cut(clean(step.summary), 500),
            meaning=clean(step.meaning),
            advice=clean(step.advice),
            evidence=tuple(clean(line) for line in step.evidence),
            seconds=step.seconds,
        )
        self._steps.append(clean_step)
        if self._on_step is not None:
            self._on_step(clean_step)
