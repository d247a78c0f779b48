"""The agent host's process: `python -m dragoman.hub.agents.host SOCKET [--NAME VALUE]… -- COMMAND…`.

Options are `--linger SECONDS`, `--buffer BYTES`, `--batch BYTES`, `--cwd FOLDER`, `--lease MOMENT` (on the
clock of `lease.now`), `--lease-linger SECONDS` and `--env stdin`: the agent's environment as a JSON object on
standard input, because other users can read a command line. Started by `launching`, and by nobody else. It
says on standard output that it is ready, or why it cannot be, and lets go of all three standard descriptors
then.

Exit statuses: 0 when the agent has been ended, 1 when there was nothing to start.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # asyncio and hashlib bring OpenSSL along where it can be had: a fifth of the memory of a process that
    # needs nothing of it.
    sys.modules.update(dict.fromkeys(("ssl", "_hashlib")))  # type: ignore[arg-type]  # None: not to be had

import asyncio
import gc
import signal
from pathlib import Path

import msgspec

from dragoman.errors import DragomanError
from dragoman.hub.agents.host.agent_host import AgentHost, HostOrder
from dragoman.transport.contract import READ_SIZE


def order_of(words: list[str]) -> HostOrder:
    """What the command line asks for."""
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
    )


async def run_host(order: HostOrder) -> None:
    host = AgentHost(order)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: host.note(f"agent host: {context['message']}".encode()))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # agent hosts are for POSIX systems alone
        # Not ignored, any of them: the agent would inherit that.
        loop.add_signal_handler(number, host.leave)
    os.write(1, b"ready\n")
    detach()
    gc.freeze()  # what is there now stays until the end
    await host.run()


def detach() -> None:
    """Nobody may be left at the other ends, and a folder that we stand in could not be unmounted."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    os.close(nowhere)
    os.chdir("/")


def main() -> int:
    try:
        asyncio.run(run_host(order_of(sys.argv[1:])))
    except (DragomanError, OSError) as error:
        os.write(1, f"failed {error}".encode())
        return 1
    return 0


if __name__ == "__main__":
    # Everything is closed and removed by now; taking the interpreter apart would only take time.
    os._exit(main())
