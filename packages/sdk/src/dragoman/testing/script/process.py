"""A scripted agent as a process: it uses its own standard input and output, and can really die.

It ends when its input ends, or on SIGTERM or SIGINT, unless its script says that it lingers.
"""

from __future__ import annotations

import asyncio
import contextlib

from dragoman.sdk.shutdown import ShutdownSignals
from dragoman.testing.script.agent_role import AgentRole
from dragoman.testing.script.body import ProcessBody
from dragoman.testing.script.script import Script
from dragoman.transport.contract import TransportLimits
from dragoman.transport.stdio import Stdio, claim_stdio

EOF_GRACE = 0.5
"""The seconds that scenes have after the end of the input, so that `< requests > answers`
gets its answers.
"""

EVERYTHING = TransportLimits(low=0)
"""`drain` waits for the last byte, because the next line may end the process."""


def serve_script(script: Script) -> None:
    """Play an agent's script to one client, until the client closes the connection. Blocks."""
    stdio = claim_stdio()
    with ShutdownSignals() as leaving, contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(script, stdio, leaving))


async def _serve(script: Script, stdio: Stdio, leaving: ShutdownSignals) -> None:
    leaving.listen()
    transport = stdio.open(limits=EVERYTHING)
    body = ProcessBody(transport)
    role = AgentRole(script, transport, body=body, keep=False)
    role.start()
    await _first(role.peer.over, leaving.end_event)
    if body.lingers:
        await asyncio.Event().wait()
    leaving.begin()
    await role.peer.aclose(grace=0 if leaving.end_event.is_set() else EOF_GRACE)


async def _first(*events: asyncio.Event) -> None:
    tasks = [asyncio.ensure_future(event.wait()) for event in events]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
