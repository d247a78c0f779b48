"""`dragoman agents login NAME [METHOD]` and `logout NAME`: log in to an agent, and out again.

A method that the agent handles by itself is asked for with `authenticate`. One that needs a terminal is the
agent's own command with other arguments, run here once the agent has ended. One by variable cannot be done
for anybody: the variable is named.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Sequence

from dragoman import Client, connect
from dragoman.errors import DragomanError
from dragoman.sdk.connect import BoundedNotes
from dragoman.sdk.login import log_out
from dragoman.text.sanitize import sanitize
from dragoman.version import VERSION
from dragoman_app.apps.console import CommandFailed, ErrorStatus, UsageMistake, say
from dragoman_app.apps.login_methods import LoginMethod, login_hint, login_methods
from dragoman_app.apps.target import ChosenAgent, Overrides, find_target

NOT_DONE, MISTAKEN, TERMINATED, INTERRUPTED = 1, 2, 143, 130


def run_login(args: argparse.Namespace) -> int:
    """0: done. 1: failed. 2: no such agent or method, or none was chosen."""
    try:
        with ErrorStatus(DragomanError, status=NOT_DONE, before="not logged in: "):
            target = find_target(args.agent, Overrides(args.env))
            return asyncio.run(_cancel_on_signal(_log_in(target, args.agent, args.method)))
    except KeyboardInterrupt:
        return INTERRUPTED
    except asyncio.CancelledError:
        return TERMINATED


def run_logout(args: argparse.Namespace) -> int:
    """0: done. 1: the agent can't log out, or failed. 2: no such agent."""
    target = find_target(args.agent)
    with ErrorStatus(DragomanError, status=NOT_DONE, before=f"{target.agent.name} was not logged out: "):
        is_logged_out = asyncio.run(_log_out(target))
    if not is_logged_out:
        raise CommandFailed(f"{target.agent.name} can't log out over the protocol; see its documentation")
    say(f"Logged out of {sanitize(target.agent.name)}.")
    return 0


async def _log_out(target: ChosenAgent) -> bool:
    client = Client("dragoman-agents", version=VERSION, title="Dragoman")
    async with connect(target.open(), client=client, env=target.env, dialect=target.dialect) as agent:
        return await log_out(agent)


async def _cancel_on_signal(work: Awaitable[int]) -> int:
    """A signal cancels the work, so that whatever it started ends with it."""
    task = asyncio.current_task()
    assert task is not None
    for name in ("SIGTERM", "SIGHUP"):
        if (number := getattr(signal, name, None)) is not None and os.name != "nt":
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    return await work


async def _log_in(target: ChosenAgent, agent_name: str, method_id: str | None) -> int:
    client = Client("dragoman-agents", version=VERSION, title="Dragoman", auth_terminal=True)
    notes = BoundedNotes(lambda text: say(f"dragoman agents: {sanitize(text)}", file=sys.stderr))
    opening = connect(target.open(), client=client, env=target.env, on_stray=notes, dialect=target.dialect)
    async with opening as agent:
        method = _choose_method(login_methods(agent), method_id, target, agent_name)
        if method.kind == "agent":
            say(f"Waiting for you to log in (Ctrl-C cancels): {sanitize(method.name)}", flush=True)
            await agent.authenticate(method.id)
            return _report_success(agent_name)
    if method.kind == "variable":
        hint = _hint([method], target, agent_name)
        raise CommandFailed(f"{method.name} is a login by environment variable. Try: {hint}")
    return await _in_terminal(target, agent_name, method)


def _choose_method(
    methods: Sequence[LoginMethod], method_id: str | None, target: ChosenAgent, agent_name: str
) -> LoginMethod:
    if method_id is not None:
        for method in methods:
            if method.id == method_id:
                return method
        raise UsageMistake(
            f"{agent_name} offers no login method {method_id!r}", _hint(methods, target, agent_name)
        )
    if len(methods) == 1:
        return methods[0]
    how_many = "several login methods" if methods else "no login method"
    raise UsageMistake(f"{agent_name} offers {how_many}", _hint(methods, target, agent_name))


def _hint(methods: Sequence[LoginMethod], target: ChosenAgent, agent_name: str) -> str:
    return login_hint(
        agent_name,
        methods,
        allow=target.agent.allow,
        agent_variables=target.env,
        ours=os.environ,
        knows_terminal=True,
    )


async def _in_terminal(target: ChosenAgent, agent_name: str, method: LoginMethod) -> int:
    assert method.terminal is not None
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CommandFailed(f"{method.name} needs a terminal: run this command in a terminal")
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
    if status != 0:
        raise CommandFailed(f"not logged in: exit status {status}")
    return _report_success(agent_name)


def _report_success(agent_name: str) -> int:
    say(f"{sanitize(agent_name)} reports a successful login. `dragoman doctor` checks whether it works.")
    return 0
