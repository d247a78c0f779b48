"""Starts a supervised agent, each time in the same way.

`AgentTarget` says what to start and how; `start_agent` starts one `AgentLife` of it, within its deadlines.
A command gets a closed environment (see `environment`) and the PATH of the login shell.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from dragoman.runtime import Limits
from dragoman.sdk.agent.agent import Agent
from dragoman.sdk.client.client import Client
from dragoman.sdk.connect import UNREADABLE, BoundedNotes, connect
from dragoman.sdk.environment import Env, agent_environment, resolve_environment
from dragoman.sdk.login_path import login_path
from dragoman.sdk.supervision.events import EventReporter
from dragoman.sdk.supervision.life import AgentLife, reachable
from dragoman.transport.contract import Grace, Transport
from dragoman.transport.process import spawn, words_of

if TYPE_CHECKING:
    from dragoman.dialect import Ledger
    from dragoman.transport.tapped_transport import Tap

Startable: TypeAlias = str | Sequence[str] | Agent | Callable[[], Transport]
"""A command; an agent in this process; or a function that opens a new transport each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTarget:
    """An agent that can be started any number of times."""

    target: Startable
    client: Client | None
    limits: Limits
    cwd: str | os.PathLike[str] | None
    env: Env
    env_allow: tuple[str, ...]
    env_set: Mapping[str, str]
    shell_path: bool
    on_stderr: Callable[[bytes], None] | None
    tap: Tap | None
    dialect: str
    quirks: bool
    ledger: Ledger | None
    policy: str = ""
    launcher: Sequence[str] = ()

    async def environment(self) -> tuple[Mapping[str, str] | None, str | None]:
        """Return the environment of a command, and a note if it is unusual."""
        if self.env is not None:
            return resolve_environment(self.env), None
        shell = await login_path() if self.shell_path else None
        environment = agent_environment(
            allow=self.env_allow, explicit=self.env_set, path=shell.path if shell is not None else None
        )
        return environment, shell.note if shell is not None else None


async def start_agent(source: AgentTarget, *, number: int, report: EventReporter) -> AgentLife:
    """Start and initialize an agent; after an error no process is left."""
    transport = await _open_target(source, report)
    connecting = connect(
        transport,
        client=source.client,
        limits=source.limits,
        cwd=source.cwd,
        tap=source.tap,
        on_stray=BoundedNotes(report.note),
        dialect=source.dialect,
        quirks=source.quirks,
        ledger=source.ledger,
        policy=source.policy,
    )
    handle = await connecting.__aenter__()
    handle.side.on_deviation = BoundedNotes(report.note, UNREADABLE)
    return AgentLife(number, connecting, handle)


async def _open_target(source: AgentTarget, report: EventReporter) -> Agent | Transport:
    """What to connect to. Nothing is awaited after a program was started: whoever is cancelled then would
    leave it behind.
    """
    target = source.target
    if isinstance(target, str | Sequence):
        command = words_of(target)
        env, why = await source.environment()
        if why is not None:
            report.note(why)
        await reachable(command[0], cwd=source.cwd, env=env, seconds=source.limits.spawn_seconds)
        grace = Grace.steps(source.limits.end_seconds)
        child = spawn(
            command,
            launcher=source.launcher,
            cwd=source.cwd,
            env=env,
            grace=grace,
            on_stderr=source.on_stderr,
        )
        report.on_start(child.tree.pid)
        return child
    report.on_start(None)
    return target if isinstance(target, Agent) else target()
