"""`dragoman agents login NAME [METHOD]`: log in to an agent by one of the ways that it offers.

A method that the agent handles by itself is asked for with `authenticate`. One that needs a terminal is the
agent's own command with other arguments, run here once the agent has ended. One by variable cannot be done
for anybody: the variable is named.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine, Sequence
from typing import Any

from dragoman import Client, Limits, connect
from dragoman.cli.console import say
from dragoman.cli.login_ways import LoginMethod, login_hint, login_methods
from dragoman.cli.run.mistakes import Mistake
from dragoman.cli.run.target import Target, find_target
from dragoman.errors import DragomanError
from dragoman.schema import v1
from dragoman.sdk.connect import BoundedNotes
from dragoman.text.sanitize import sanitize
from dragoman.version import VERSION

PERSON_SECONDS = 300.0
"""For `authenticate`: somebody may have to find a browser first."""

NOT_DONE, MISTAKEN, TERMINATED, INTERRUPTED = 1, 2, 143, 130


def run_login(wanted: str, method_id: str | None, *, variables: Sequence[str] = ()) -> int:
    """0: it is done. 1: it is not. 2: there is no such agent or method, or none was chosen."""
    try:
        target = find_target(wanted, variables)
        return asyncio.run(_until_told_to_end(_log_in(target, wanted, method_id)))
    except Mistake as mistake:
        return _fail(f"{mistake}\nTo go on: {mistake.next_step}", MISTAKEN)
    except DragomanError as error:
        return _fail(f"not logged in: {error}", NOT_DONE)
    except KeyboardInterrupt:
        return INTERRUPTED
    except asyncio.CancelledError:
        return TERMINATED


async def _until_told_to_end(work: Coroutine[Any, Any, int]) -> int:
    """A signal cancels the work, so that whatever it started ends with it."""
    task = asyncio.current_task()
    assert task is not None
    for name in ("SIGTERM", "SIGHUP"):
        if (number := getattr(signal, name, None)) is not None and os.name != "nt":
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    return await work


async def _log_in(target: Target, wanted: str, method_id: str | None) -> int:
    client = Client("dragoman-agents", version=VERSION, title="Dragoman", auth_terminal=True)
    limits = Limits(call_seconds=PERSON_SECONDS)
    notes = BoundedNotes(lambda text: say(f"dragoman agents: {sanitize(text)}", file=sys.stderr))
    opening = connect(
        target.open(), client=client, limits=limits, env=target.env, on_stray=notes, dialect=target.dialect
    )
    async with opening as agent:
        method = _chosen(login_methods(agent), method_id, target, wanted)
        if method.kind == "agent":
            say(f"Logging in: {sanitize(method.name)}", flush=True)
            request = v1.AuthenticateRequest(method_id=method.id)
            await agent.ask("authenticate", request, v1.AuthenticateResponse, deadline=PERSON_SECONDS)
            return _done(wanted)
    if method.kind == "variable":
        hint = _hint([method], target, wanted)
        return _fail(f"{method.name} is a login by variable. To go on, {hint}", NOT_DONE)
    return await _in_terminal(target, wanted, method)


def _chosen(
    methods: Sequence[LoginMethod], method_id: str | None, target: Target, wanted: str
) -> LoginMethod:
    if method_id is not None:
        for method in methods:
            if method.id == method_id:
                return method
        raise Mistake(f"{wanted} offers no login method {method_id!r}", _hint(methods, target, wanted))
    if len(methods) == 1:
        return methods[0]
    how_many = "several login methods" if methods else "no login method"
    raise Mistake(f"{wanted} offers {how_many}", _hint(methods, target, wanted))


def _hint(methods: Sequence[LoginMethod], target: Target, wanted: str) -> str:
    return login_hint(wanted, methods, allow=target.agent.allow, handed=target.env, ours=os.environ)


async def _in_terminal(target: Target, wanted: str, method: LoginMethod) -> int:
    assert method.terminal is not None
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _fail(f"{method.name} needs a terminal, and there is none here", NOT_DONE)
    process = await asyncio.create_subprocess_exec(
        *target.agent.command,
        *(method.terminal.args or ()),
        env={**target.env, **(method.terminal.env or {})},
    )
    try:
        status = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return _done(wanted) if status == 0 else _fail(f"not logged in: exit status {status}", NOT_DONE)


def _done(wanted: str) -> int:
    say(f"{sanitize(wanted)} says that the login went well. `dragoman doctor` tells whether it is enough.")
    return 0


def _fail(what: str, status: int) -> int:
    say(f"dragoman agents: {sanitize(what)}", file=sys.stderr)
    return status
