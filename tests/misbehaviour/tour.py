"""A conversation with an agent that misbehaves on the way: a walk through `connect` or `supervised`.

Every await on the way must end in time, with a result or with an error of ours; anything else is raised.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from dragoman import Client, Limits, connect, supervised
from dragoman.errors import DragomanError
from dragoman.schema.v1 import (
    RequestPermissionRequest,
    RequestPermissionResponse,
    SelectedPermissionOutcome,
)
from dragoman.sdk.environment import agent_environment
from dragoman.sdk.supervision.deadlines import Deadlines
from dragoman.sdk.supervision.restarts import Restarts
from dragoman.testing.pace import deadline
from dragoman.transport.contract import Grace
from dragoman.transport.process import ChildTransport, spawn
from dragoman_local.workspace.workspace import Workspace

AGENT = Path(__file__).with_name("agent.py")
SECONDS = 0.5
"""How long anything may take before its deadline passes; an agent that behaves takes a hundredth of it."""

IN_TIME = 20.0
"""Seconds for a whole walk on a busy machine; one that hangs takes for ever."""

TOGETHER = 16

GRACE = Grace(after_eof=0.2, after_terminate=0.1, leftovers=0.1)
RESTARTS = Restarts(deaths=3, within=60, first_delay=0.01, longest_delay=0.02)


class Steps(list[str]):
    """What was tried on the way, and how it ended."""

    async def take(self, name: str, step: Coroutine[Any, Any, Any]) -> Any:
        """One await. Errors of ours are its end; everything else is a mistake, and so is taking too long."""
        began = time.monotonic()
        try:
            async with deadline(IN_TIME):
                result = await step
        except DragomanError as error:
            self.append(f"{name}: {type(error).__name__}")
            return None
        except TimeoutError:
            raise AssertionError(f"{name} did not end within {time.monotonic() - began:.1f} s") from None
        self.append(f"{name}: done")
        return result


Walk: TypeAlias = Callable[[str, str, Path, float], Coroutine[Any, Any, Steps]]
"""Of a point, a way, a folder, and the seconds that anything may take."""


async def walk_all(
    walk: Walk, points: Sequence[str], way: str, folder: Path, *, seconds: float = SECONDS
) -> dict[str, Steps]:
    """One walk for each point, some of them at the same time."""
    room, found = asyncio.Semaphore(TOGETHER), dict[str, Steps]()

    async def one(point: str) -> None:
        async with room:
            place = folder / point.replace(" ", "-")
            place.mkdir()
            try:
                found[point] = await walk(point, way, place, seconds)
            except Exception as error:
                raise AssertionError(f"at the point {point!r}, in the way {way!r}: {error!r}") from error

    async with asyncio.TaskGroup() as group:
        for point in points:
            group.create_task(one(point))
    return found


def command(point: str, way: str, *notes: str) -> list[str]:
    return [sys.executable, "-S", "-E", os.fspath(AGENT), point, way, *notes]


async def walk_connected(point: str, way: str, folder: Path, seconds: float) -> Steps:
    """The walk with an agent that is simply connected."""
    steps = Steps()
    workspace = Workspace()
    async with workspace:
        client = _client(workspace)
        target = _opener(point, way, folder)()
        limits = Limits(handshake_seconds=3 * seconds, call_seconds=seconds, silence_seconds=seconds)
        connecting = connect(target, client=client, limits=limits)
        agent = await steps.take("connect", connecting.__aenter__())
        if agent is not None:
            try:
                await _converse(steps, agent, workspace, folder)
            finally:
                await steps.take("leave", connecting.__aexit__(None, None, None))
    return steps


async def walk_supervised(point: str, way: str, folder: Path, seconds: float) -> Steps:
    """The same with one that is started again after each death; it misbehaves in each life."""
    steps = Steps()
    workspace = Workspace()
    async with workspace:
        watched = supervised(
            _opener(point, way, folder),
            client=_client(workspace),
            deadlines=Deadlines(handshake=3 * seconds, call=seconds, silence=seconds, first_byte=seconds),
            restarts=RESTARTS,
        )
        agent = await steps.take("connect", watched.__aenter__())
        try:
            if agent is not None:
                await _converse(steps, agent, workspace, folder)
        finally:
            await steps.take("leave", watched.__aexit__(None, None, None))
    return steps


def _opener(point: str, way: str, folder: Path) -> Callable[[], ChildTransport]:
    env = agent_environment()
    return lambda: spawn(command(point, way), cwd=folder, env=env, grace=GRACE)


def _client(workspace: Workspace) -> Client:
    client = Client("tourist")

    @client.request_permission
    async def permit(request: RequestPermissionRequest) -> RequestPermissionResponse:
        option = request.options[0].option_id
        return RequestPermissionResponse(outcome=SelectedPermissionOutcome(option_id=option))

    workspace.serve(client)
    return client


async def _converse(steps: Steps, agent: Any, workspace: Workspace, folder: Path) -> None:
    cwd = os.fspath(folder)

    async def new_session() -> Any:
        with workspace.opening(cwd=cwd) as opening:
            session = await agent.new_session(cwd=cwd)
            opening.settle(session.id)
            return session

    session = await steps.take("new", new_session())
    if session is None:
        return
    await steps.take("mode", session.set_mode("b"))
    await steps.take("prompt", _turn(session, "hello"))
    await steps.take("cancelled prompt", _cancelled_turn(session))
    await steps.take("load", agent.load_session(session.id, cwd=cwd))


async def _turn(session: Any, text: str) -> Any:
    turn = session.prompt(text)
    async for _ in turn:
        pass
    return turn.result


async def _cancelled_turn(session: Any) -> Any:
    turn, cancelled = session.prompt("wait"), False
    async for _ in turn:
        if not cancelled:
            cancelled = True
            await session.cancel()
    return turn.result
