"""An interpreter of Dragoman: the first argument is the client's dialect, the rest is the agent's command."""

from __future__ import annotations

import asyncio
import sys

from dragoman.sdk.interpreter import Interpretation, InterpretedConversation
from dragoman.transport.process import spawn
from dragoman.transport.stdio import Stdio, claim_stdio
from peers.dragoman.relay import show


async def main(stdio: Stdio, dialect: str, command: list[str]) -> None:
    agent = spawn(command, on_stderr=show)
    async with InterpretedConversation(stdio.open(), agent, Interpretation(dialect)) as joined:
        await joined.wait_ended()


if __name__ == "__main__":
    asyncio.run(main(claim_stdio(), sys.argv[1], sys.argv[2:]))
