"""The main function of an agent host's process: SOCKET [--NAME VALUE]… -- COMMAND…

Options are `--linger SECONDS`, `--buffer BYTES`, `--batch BYTES`, `--cwd FOLDER`, `--lease MOMENT` (on the
clock of `lease.now`), `--lease-linger SECONDS`, `--sandbox PROFILE` (for `remote.lending_host`) and `--env
stdin`: the agent's environment as a JSON object on standard input, because other users can read a command
line. It says on standard output that it is ready, or why it cannot be, and lets go of all three standard
descriptors then.

Exit statuses: 0 when the agent has been ended, 1 when there was nothing to start.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec

from dragoman.errors import DragomanError
from dragoman.transport.contract import READ_SIZE
from dragoman.transport.process import ChildTransport
from dragoman_hub.agents.host.agent_host import AgentHost, HostedTransport, HostOrder
from dragoman_hub.agents.host.host_reply import FAILED, READY


def order_of(words: Sequence[str]) -> HostOrder:
    """Read the command line."""
    split = words.index("--")
    path, *rest = words[:split]
    options = dict(zip(rest[::2], rest[1::2], strict=True))
    env, lease = options.get("--env"), options.get("--lease")
    return HostOrder(
        command=words[split + 1 :],
        socket=Path(path),
        cwd=options.get("--cwd"),
        env=None if env is None else msgspec.json.decode(sys.stdin.buffer.read(), type=dict[str, str]),
        linger=float(options.get("--linger", 60.0)),
        buffer=int(options.get("--buffer", 64 << 20)),
        batch=int(options.get("--batch", READ_SIZE)),
        lease=None if lease is None else float(lease),
        lease_linger=float(options.get("--lease-linger", 20.0)),
        sandbox=options.get("--sandbox", "auto"),
    )


async def run_host(
    order: HostOrder, *, wrap: Callable[[ChildTransport], HostedTransport] = lambda child: child
) -> None:
    """Keep the agent until it has been ended. `wrap` adds a program between the agent and its host."""
    host = AgentHost(order, wrap=wrap)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: host.note(f"agent host: {context['message']}".encode()))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # agent hosts are for POSIX systems alone
        # Not ignored, any of them: the agent would inherit that.
        loop.add_signal_handler(number, host.leave)
    os.write(1, READY)
    detach()
    gc.freeze()  # what is there now stays until the end
    await host.run()


def detach() -> None:
    """Detach from the starter: close its pipes, and leave its folder, which could
    otherwise not be unmounted.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    os.close(nowhere)
    os.chdir("/")


def main(words: Sequence[str], run: Callable[[HostOrder], Awaitable[None]]) -> int:
    """Run until the agent has ended; return the exit status."""

    async def keep() -> None:
        await run(order_of(words))

    try:
        asyncio.run(keep())
    except (DragomanError, OSError) as error:
        os.write(1, FAILED + str(error).encode())
        return 1
    return 0
