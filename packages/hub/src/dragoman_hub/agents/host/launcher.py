"""Starts agent hosts, and collects the exit status of those that it started.

An agent host is a process in a session of its own that shares nothing with us. While we live we are its
parent, and somebody has to take note of its end; once we are gone, the system does. Knows processes, and
nothing of what is said to an agent host.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading

import msgspec

from dragoman.errors import LinkClosed, SpawnFailed, SpawnTimeout
from dragoman.transport.contract import DEFAULT_LIMITS
from dragoman.transport.reader import open_reader
from dragoman.transport.writer import open_writer
from dragoman_hub.agents.host.agent_host import HostOrder
from dragoman_hub.agents.host.host_reply import READY, READY_WITHIN, reason_of

BURIED_WITHIN = 10.0
"""The seconds from an agent host's last message to its exit, when its work is done."""

LAST_WORDS = 16 * 1024
"""The most bytes to keep of an agent host's output at its start: at worst a traceback."""

POLL = 0.002
"""The seconds between two checks of a process that is about to exit."""

_host_processes: dict[int, subprocess.Popen[bytes]] = {}


async def launch(order: HostOrder) -> None:
    """Start an agent host and return when it listens. Raises `SpawnFailed` with its error
    output if it fails.
    """
    if os.name == "nt":
        raise SpawnFailed(
            "agents can't outlive the hub here: Python can't listen on Unix sockets on this system"
        )
    bury_the_dead()
    options = ["--linger", repr(order.linger), "--buffer", str(order.buffer)]
    options += ["--cwd", order.cwd or os.getcwd(), "--lease-linger", repr(order.lease_linger)]
    if order.lease is not None:
        options += ["--lease", repr(order.lease)]
    if order.env is not None:
        options += ["--env", "stdin"]
    # -P: what lies in the folder that we stand in is not ours to run.
    words = [sys.executable, "-P", "-m", "dragoman_hub.agents.host", str(order.socket), *options]
    host, their_input, answer = _start([*words, "--", *order.command])
    environment = b"" if order.env is None else msgspec.json.encode(dict(order.env))
    try:
        async with asyncio.timeout(READY_WITHIN):
            reply = await _ask(their_input, environment, answer)
    except TimeoutError as error:
        _give_up(host)
        raise SpawnTimeout("the start of an agent host", READY_WITHIN) from error
    except asyncio.CancelledError:
        _give_up(host)
        raise
    if reply != READY:
        await bury(host.pid)
        raise SpawnFailed(reason_of(reply))


def bury_the_dead() -> None:
    """Collect the agent hosts that have ended by themselves."""
    for pid, host in list(_host_processes.items()):
        if host.poll() is not None:
            del _host_processes[pid]


async def bury(pid: int) -> None:
    """Collect the exit status of an ended agent host. Only for hosts that this process started."""
    host = _host_processes.get(pid)
    if host is None:
        return
    try:
        async with asyncio.timeout(BURIED_WITHIN):
            while host.poll() is None:  # noqa: ASYNC110  # nobody tells us of the end of a process
                await asyncio.sleep(POLL)
    except TimeoutError:
        host.kill()  # the guard of the agent's tree ends what it leaves
        return
    _host_processes.pop(pid, None)


def _give_up(host: subprocess.Popen[bytes]) -> None:
    """Nobody waits for this one any more; what it has started ends with it."""
    del _host_processes[host.pid]
    host.terminate()
    threading.Thread(target=host.wait, name=f"bury {host.pid}", daemon=True).start()


def _start(words: list[str]) -> tuple[subprocess.Popen[bytes], int, int]:
    """The agent host, and our ends of its standard input and output."""
    their_in, our_in = os.pipe()
    our_out, their_out = os.pipe()
    try:
        host = subprocess.Popen(
            words, stdin=their_in, stdout=their_out, stderr=their_out, start_new_session=True
        )
    except OSError as error:
        os.close(our_in)
        os.close(our_out)
        raise SpawnFailed(f"cannot start an agent host for the agent: {error}") from error
    finally:
        os.close(their_in)
        os.close(their_out)
    os.set_blocking(our_in, False)
    os.set_blocking(our_out, False)
    _host_processes[host.pid] = host
    return host, our_in, our_out


class _HostAnswer:
    """Gathers what an agent host says while it starts, until there is no more."""

    def __init__(self) -> None:
        self.text = bytearray()
        self.complete = asyncio.Event()

    def feed(self, chunk: bytes) -> None:
        self.text += chunk
        del self.text[:-LAST_WORDS]

    def finish(self) -> None:
        self.complete.set()


async def _ask(order: int, text: bytes, answer: int) -> bytes:
    """Write `text` to one descriptor, read the other to its end, and close both."""
    reply = _HostAnswer()
    reader = open_reader(answer, intake=reply, on_end=lambda _: None)
    writer = open_writer(order, limits=DEFAULT_LIMITS, on_broken=lambda _: None)
    try:
        try:
            writer.write(text)
            await writer.drain(0)
        except LinkClosed:
            pass  # it did not even read: what it says tells why
        writer.close()
        await reply.complete.wait()
    finally:
        writer.close()
        reader.close()
    return bytes(reply.text)
