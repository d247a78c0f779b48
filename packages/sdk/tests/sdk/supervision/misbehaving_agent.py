"""An agent that fails in every way at every point, and a client that must come to an end with each.

A conversation is a session, a turn with a tool, a permission and a file, a death between two turns, so that
the session is loaded by a second process, a turn that is cancelled, and a close.

    python -m tests.sdk.supervision.misbehaving_agent 500

plays so many of them, and fails when one does not end in time with a result or a typed error, or when a
process, a task or a descriptor is left of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from dragoman import Client, Limits, supervised
from dragoman.errors import DragomanError
from dragoman.schema.v1 import (
    ReadTextFileRequest,
    ReadTextFileResponse,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SelectedPermissionOutcome,
)
from dragoman.sdk.supervision.deadlines import Deadlines
from dragoman.sdk.supervision.restarts import Restarts
from dragoman.sdk.supervision.supervisor import SupervisedAgent
from dragoman.testing import FAULTS, ScriptedAgent, Variant, faulty
from dragoman.testing.pace import deadline
from dragoman.transport.owned_tree import owned_trees
from tests.forks import forked
from tests.sdk.supervision.lives import AT_ONCE

STORY = """
agent shaky
  can load close

start
  complain "here I am"

on initialize
  answer

on new
  answer

on load
  user "what was said"
  answer

on prompt second
  say "waiting"
  until cancelled
  say "stopping"

on prompt
  think "Somebody is here"
  tool "Look"
    ask "Look"
      allowed
        status completed
  read "/notes"
  say "done"
  stop end_turn
  say "by the way"

on session/close
  answer {}
"""

CHUNK = '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"xxxxxxxxxxxxxxxx"}}'
UPDATE = (
    '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":' + CHUNK + "}}"
)

WAYS = {
    **FAULTS,
    "floods": f"repeat 2000\n  frame {UPDATE}",
    "lies about the shape": 'answer {"nonsense": [1, 2]}',
    "lies about the type": 'answer "yes"',
    "refuses": 'fail -32603 "no"',
    "wants a login": 'fail -32000 "Authentication required"',
    "never ends its line": 'raw "{\\"jsonrpc\\""\nstall',
    "ignores its end": "linger\nstall",
}

PATIENCE = 30.0
"""Seconds that a whole conversation may take, with a start, a restart and two endings that must be forced."""

DEADLINES = Deadlines(handshake=5, call=2, first_byte=2, silence=2, login=2)

GENEROUS = Deadlines(handshake=20, call=20, first_byte=20, silence=20)
"""For ways that must not matter: a busy machine must not make them."""


def variants() -> list[Variant]:
    return faulty(STORY, faults=WAYS)


def friendly_client() -> Client:
    client = Client("patient")

    @client.request_permission
    async def allow(request: RequestPermissionRequest) -> RequestPermissionResponse:
        return RequestPermissionResponse(
            outcome=SelectedPermissionOutcome(option_id=request.options[0].option_id)
        )

    @client.read_text_file
    async def read(request: ReadTextFileRequest) -> ReadTextFileResponse:
        return ReadTextFileResponse(content="notes")

    return client


def pid_of(agent: SupervisedAgent) -> int:
    tree = agent.handle.link.transport.tree  # type: ignore[attr-defined]
    assert isinstance(tree.pid, int)
    return tree.pid


async def meet(variant: Variant, folder: Path) -> str:
    """One conversation with it: how it ended. What is not an error of ours, or takes too long, is raised."""
    command = forked(ScriptedAgent(variant.script).command(folder))
    restarts = Restarts(deaths=3, first_delay=0.01)
    deadlines = GENEROUS if variant.harmless else DEADLINES
    limits = Limits() if variant.harmless else AT_ONCE
    began = time.monotonic()
    try:
        async with (
            deadline(PATIENCE),
            supervised(
                command, client=friendly_client(), deadlines=deadlines, limits=limits, restarts=restarts
            ) as agent,
        ):
            session = await agent.new_session(cwd=str(folder))
            result = await session.prompt("first")
            with contextlib.suppress(ProcessLookupError):  # it may have died by itself
                os.kill(pid_of(agent), signal.SIGKILL)
            await agent.handle.link.wait_ended()
            turn = session.prompt("second")
            async for _ in turn:
                if not session.cancelling:
                    await session.cancel()
            await session.close()
            return f"{result.stop_reason} {turn.result.stop_reason}"
    except DragomanError as error:
        return type(error).__name__
    except TimeoutError:
        raise AssertionError(f"{variant}: no end after {time.monotonic() - began:.1f} s") from None


async def meet_all(chosen: Iterable[Variant], *, at_once: int = 4) -> dict[str, str]:
    """All of them, a few at a time: how each ended, by its name."""
    room = asyncio.Semaphore(at_once)
    ends: dict[str, str] = {}

    async def one(number: int, variant: Variant) -> None:
        async with room:
            place = Path(folder) / str(number)
            place.mkdir()
            ends[f"{number} {variant}"] = await meet(variant, place)

    with tempfile.TemporaryDirectory() as folder:
        async with asyncio.TaskGroup() as group:
            for number, variant in enumerate(chosen):
                group.create_task(one(number, variant))
    return ends


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def main(count: int) -> None:
    await meet_all(variants()[:1])  # what is loaded once stays open
    gc.collect()
    before = descriptors()
    chosen = list(itertools.islice(itertools.cycle(variants()), count))
    began = time.monotonic()
    ends = await meet_all(chosen, at_once=6)
    gc.collect()
    print(Counter(ends.values()).most_common())
    left = [repr(tree) for tree in owned_trees()]
    tasks = [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    print(f"{len(ends)} conversations, {len(variants())} points, {time.monotonic() - began:.0f} s")
    print(f"left: processes {left}, tasks {tasks}, descriptors {descriptors() - before}")
    if left or tasks or descriptors() > before or len(ends) != count:
        sys.exit(1)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
