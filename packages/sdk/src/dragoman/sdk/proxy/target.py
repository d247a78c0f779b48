"""Opens a transport for the target of a proxy or conductor: starts a command, or serves an object here.

Whatever is opened is closed with the stack that it was opened on.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import TypeAlias

from dragoman.runtime import Limits
from dragoman.sdk.agent.agent import Agent
from dragoman.sdk.serve import Servable, serving
from dragoman.transport.contract import Grace, Transport

Target: TypeAlias = str | Sequence[str] | Agent | Servable | Transport
"""Whom a proxy stands before: a command, something that can be served in this process, or a transport."""


async def open_target(
    target: Target,
    stack: AsyncExitStack,
    *,
    limits: Limits,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
) -> Transport:
    """Open a transport to a target; it is not started yet."""
    if isinstance(target, str | Sequence):
        from dragoman.transport.file_outlet import stderr_writer
        from dragoman.transport.process import spawn

        grace = Grace.steps(limits.end_seconds)
        child = spawn(target, cwd=cwd, env=env, grace=grace, on_stderr=stderr_writer())
        stack.push_async_callback(child.aclose)
        return child
    if isinstance(target, Agent | Servable):
        from dragoman.transport.memory import memory_pair

        ours, theirs = memory_pair()
        await stack.enter_async_context(serving(target, theirs, limits=limits))
        stack.push_async_callback(ours.aclose)
        return ours
    stack.push_async_callback(target.aclose)
    return target
