"""Starts the agent of a run while the rest of the code, with asyncio, still loads.

An agent takes a while to start, and loading our own code takes about as long: both happen at the same time.
So this module imports next to nothing; `adopt` loads what watches the process.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from dragoman.errors import SpawnFailed
from dragoman.transport.contract import Grace

if TYPE_CHECKING:  # loaded while the agent starts
    from dragoman.transport.process import ChildTransport
    from dragoman.transport.program_start import StartedChild
    from dragoman_app.apps.run.plan import RunPlan

EARLY_BYTES = 64 * 1024
"""The most bytes of an agent's early standard error to keep; the oldest are dropped."""


class EarlyAgent:
    """The agent's process, if it is a process. `take` hands it over once; until then it is ours to end."""

    def __init__(self, plan: RunPlan) -> None:
        """`take` raises the error of a failed start: only then can it be reported."""
        self._plan = plan
        self._child: StartedChild | None = None
        self._failure: Exception | None = None
        self._early: deque[bytes] = deque()
        self._listener: Callable[[bytes], None] | None = None
        self._transport: ChildTransport | None = None
        if os.name != "nt" and plan.target.agent.address is None:
            from dragoman.transport.program_start import StartedChild

            try:
                self._child = StartedChild(plan.target.command, cwd=self._cwd, env=plan.target.env)
            except (OSError, ValueError, SpawnFailed) as error:
                self._failure = error

    @property
    def _cwd(self) -> str | None:
        return None if self._plan.target.agent.place else self._plan.session_request.cwd

    def adopt(self) -> None:
        """Watch the process in the running loop from now on."""
        target = self._plan.target
        if target.agent.address is not None or self._failure is not None:
            return
        from dragoman.transport.process import ChildTransport, spawn

        grace, child = Grace.steps(self._plan.limits.end_seconds), self._child
        if child is None:
            try:
                self._transport = spawn(
                    target.agent.command,
                    launcher=target.launcher,
                    cwd=self._cwd,
                    env=target.env,
                    grace=grace,
                    on_stderr=self._on_stderr,
                )
            except SpawnFailed as error:
                self._failure = error
            return
        from dragoman.transport.posix import PosixTree

        self._transport = ChildTransport(
            target.agent.command,
            child.pipes,
            own=lambda on_exit: PosixTree(child.program, grace=grace, on_exit=on_exit),
            on_stderr=self._on_stderr,
        )
        self._child = None

    def take(self, on_stderr: Callable[[bytes], None]) -> ChildTransport | None:
        """Return the transport to the process, and report its standard error so far. None if it was already
        taken. Raises `SpawnFailed`.
        """
        if self._failure is not None:
            raise self._explain(self._failure) from self._failure
        transport, self._transport = self._transport, None
        if transport is not None:
            self._listener = on_stderr
            while self._early:
                on_stderr(self._early.popleft())
        return transport

    def kill(self) -> None:
        """End the process at once, unless it was taken."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
        if self._transport is not None:
            self._transport.tree.kill()

    async def aclose(self) -> None:
        """End the process, unless it was taken."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()

    def _explain(self, failure: Exception) -> SpawnFailed:
        if isinstance(failure, SpawnFailed):
            return failure
        from dragoman.transport.launch import why_not
        from dragoman.transport.owned_tree import Program

        target = self._plan.target
        program = Program(command=target.command, cwd=self._cwd, env=target.env, files=(-1, -1, -1))
        return SpawnFailed(why_not(program, failure))

    def _on_stderr(self, chunk: bytes) -> None:
        if self._listener is not None:
            self._listener(chunk)
            return
        self._early.append(chunk)
        while sum(map(len, self._early)) > EARLY_BYTES:
            self._early.popleft()
