"""`dragoman agents logout NAME`: start an agent, tell it to forget who is logged in, end it."""

from __future__ import annotations

import asyncio
import sys

from dragoman import Client, connect
from dragoman.cli.console import say
from dragoman.cli.run.mistakes import Mistake
from dragoman.cli.run.target import Target, find_target
from dragoman.errors import DragomanError
from dragoman.sdk.login import log_out
from dragoman.text.sanitize import sanitize
from dragoman.version import VERSION


def run_logout(wanted: str) -> int:
    """0: it is done. 1: the agent cannot, or did not. 2: there is no such agent."""
    try:
        target = find_target(wanted, ())
    except Mistake as mistake:
        return _fail(f"{mistake}\nTo go on: {mistake.next_step}.", 2)
    try:
        done = asyncio.run(_log_out(target))
    except DragomanError as error:
        return _fail(f"{target.agent.name} was not logged out: {error}", 1)
    if not done:
        return _fail(f"{target.agent.name} offers no logout; see its own documentation", 1)
    say(f"Logged out of {sanitize(target.agent.name)}.")
    return 0


async def _log_out(target: Target) -> bool:
    client = Client("dragoman-agents", version=VERSION, title="Dragoman")
    async with connect(target.open(), client=client, env=target.env, dialect=target.dialect) as agent:
        return await log_out(agent)


def _fail(what: str, status: int) -> int:
    say(f"dragoman agents: {sanitize(what)}", file=sys.stderr)
    return status
