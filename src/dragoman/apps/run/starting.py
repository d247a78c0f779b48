"""Starts the agent of a run before the code is loaded that talks to it.

An agent takes a while to start, and loading our own code takes about as long: both happen at the same time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from dragoman.apps.run.plan import RunPlan
from dragoman.errors import SpawnFailed
from dragoman.sdk.environment import resolve_environment
from dragoman.transport.owned import Grace
from dragoman.transport.process import ChildTransport, spawn

EARLY_BYTES = 64 * 1024
"""Of what an agent writes to its standard error before somebody listens; the oldest is left out."""


class EarlyAgent:
    """The agent's process, if it is one. `take` hands it over, once; until then it is ours to end."""

    def __init__(self, plan: RunPlan) -> None:
        """Needs a running loop. That the program cannot be started is told by `take`: only then is anybody
        there who can report it.
        """
        self._failure: SpawnFailed | None = None
        self._early: deque[bytes] = deque()
        self._listener: Callable[[bytes], None] | None = None
        self._transport: ChildTransport | None = None
        if plan.target.agent.address is None:
            try:
                self._transport = spawn(
                    plan.target.agent.command,
                    cwd=None if plan.target.agent.place else plan.session_request.cwd,
                    env=resolve_environment(plan.target.env),
                    grace=Grace.steps(plan.limits.end_seconds),
                    on_stderr=self._on_stderr,
                )
            except SpawnFailed as error:
                self._failure = error

    def take(self, on_stderr: Callable[[bytes], None]) -> ChildTransport | None:
        """The transport to it; what it has complained about so far is told at once. None if it was taken.
        Raises `SpawnFailed`.
        """
        if self._failure is not None:
            raise self._failure
        transport, self._transport = self._transport, None
        if transport is not None:
            self._listener = on_stderr
            while self._early:
                on_stderr(self._early.popleft())
        return transport

    def kill(self) -> None:
        if self._transport is not None:
            self._transport.tree.kill()

    async def aclose(self) -> None:
        """End it, unless somebody took it."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()

    def _on_stderr(self, chunk: bytes) -> None:
        if self._listener is not None:
            self._listener(chunk)
            return
        self._early.append(chunk)
        while sum(map(len, self._early)) > EARLY_BYTES:
            self._early.popleft()
