"""Dragoman's relay: it glances at every envelope and passes the bytes on."""

from __future__ import annotations

import asyncio
import sys

from dragoman.runtime.relay import Direction, Relay
from dragoman.transport.process import spawn
from dragoman.transport.stdio import claim_stdio
from dragoman.wire.glance import Glance


class Counter:
    """Looks at each method, as a tap or a hub would."""

    def __init__(self) -> None:
        self.updates = 0

    def watch(self, direction: Direction, glances: list[Glance], block: bytes) -> None:
        self.updates += [glance.method for glance in glances].count("session/update")


def show(text: bytes) -> None:
    sys.stderr.write(text.decode())


async def main(command: list[str]) -> None:
    agent = spawn(command, on_stderr=show)
    async with Relay(claim_stdio().open(), agent, watch=Counter().watch) as relay:
        await relay.wait_ended()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
