"""A scripted agent as a process: on its own standard input and output, able to die for real."""

from __future__ import annotations

import asyncio
import contextlib

from dragoman.testing.script.agent_role import AgentRole
from dragoman.testing.script.body import ProcessBody
from dragoman.testing.script.script import Script
from dragoman.transport.contract import Limits
from dragoman.transport.stdio import Stdio, claim_stdio

EOF_GRACE = 0.5
"""Seconds that scenes get after the end of the input, so that `< requests > answers` has its answers."""

EVERYTHING = Limits(low=0)
"""`drain` waits for the last byte, because the next line may say to die."""


def serve_script(script: Script) -> None:
    """Play an agent's script to one client, until the client hangs up. Blocks."""
    stdio = claim_stdio()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(script, stdio))


async def _serve(script: Script, stdio: Stdio) -> None:
    transport = stdio.open(limits=EVERYTHING)
    body = ProcessBody(transport)
    role = AgentRole(script, transport, body=body)
    role.start()
    await role.peer.over.wait()
    if body.lingers:
        await asyncio.Event().wait()
    await role.peer.aclose(grace=EOF_GRACE)
