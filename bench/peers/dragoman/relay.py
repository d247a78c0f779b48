"""A relay of Dragoman: two transports joined, with a watcher that looks at every envelope."""

from __future__ import annotations

import asyncio
import os
import sys

from dragoman.runtime.relay import Direction, Relay
from dragoman.transport.process import spawn
from dragoman.transport.stdio import Stdio, claim_stdio
from dragoman.wire.glance import Glance


class Watcher:
    def __init__(self) -> None:
        self.updates = 0

    def __call__(self, direction: Direction, glances: list[Glance], block: bytes) -> None:
        for glance in glances:
            if glance.method == "session/update":
                self.updates += 1


def show(said: bytes) -> None:
    """A child's stderr is kept, not shown; the producer tells there how much it produced."""
    os.write(2, said)


async def main(stdio: Stdio, command: list[str]) -> None:
    async with Relay(stdio.open(), spawn(command, on_stderr=show), watch=Watcher()) as relay:
        await relay.wait_ended()


if __name__ == "__main__":
    asyncio.run(main(claim_stdio(), sys.argv[1:]))
