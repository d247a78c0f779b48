"""When the peer's process dies, everybody who waits for it learns at once how, and in its own last words."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dragoman.errors import LinkClosed, PeerDied
from dragoman.runtime import Link, RefusingRouter
from dragoman.testing.pace import patience
from dragoman.transport.process import ChildTransport, spawn
from tests.runtime.raw import Routes
from tests.transport.programs import alive, eventually, python

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and /proc")

LAST_WORDS = """
import sys
sys.stdin.readline()
sys.stderr.write("the model is on fire\\n")
sys.stderr.flush()
"""
NEVER_READS = """
import sys, time
sys.stderr.write("I do not read\\n")
sys.stderr.flush()
print('{"jsonrpc":"2.0","method":"ready"}', flush=True)
time.sleep(1000)
"""


@asynccontextmanager
async def child(program: str, routes: Routes | None = None) -> AsyncIterator[tuple[Link, ChildTransport]]:
    transport = spawn(python(program))
    link = Link(transport, routes or RefusingRouter())
    link.start()
    try:
        yield link, transport
    finally:
        await link.aclose()


async def obituaries(calls: list[asyncio.Task[object]]) -> list[PeerDied]:
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(result, PeerDied) for result in results), results
    return [result for result in results if isinstance(result, PeerDied)]


def calling(link: Link, count: int) -> list[asyncio.Task[object]]:
    return [asyncio.create_task(link.call("m", b"{}")) for _ in range(count)]


async def test_every_open_call_fails_with_exit_status_and_last_words() -> None:
    async with child(LAST_WORDS + "sys.exit(3)") as (link, _):
        for died in await obituaries(calling(link, 30)):
            assert (died.returncode, died.signal) == (3, None)
            assert died.stderr == "the model is on fire\n"
            assert "exit status 3" in str(died)
            assert "the model is on fire" in str(died)


async def test_a_signal_is_named() -> None:
    program = LAST_WORDS + "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    async with child(program) as (link, _):
        (died,) = await obituaries(calling(link, 1))
        assert died.signal == "SIGKILL"
        assert "signal SIGKILL" in str(died)
        assert "the model is on fire" in died.stderr


@pytest.mark.bound(20)
async def test_a_death_is_noticed_without_waiting_for_anything() -> None:
    async with child("import sys; sys.stdin.readline(); sys.exit(7)") as (link, _):
        calls = calling(link, 1)
        await asyncio.sleep(0)
        start = time.monotonic()
        await obituaries(calls)
        assert time.monotonic() - start < patience(10)  # of which nearly all is the interpreter's start


async def test_later_calls_fail_with_the_same_reason() -> None:
    async with child(LAST_WORDS + "sys.exit(3)") as (link, _):
        await obituaries(calling(link, 1))
        for attempt in (link.call("m", None), link.call("n", None)):
            with pytest.raises(PeerDied, match="exit status 3"):
                await attempt
        with pytest.raises(PeerDied):
            link.notify("n", None)


async def test_what_the_peer_said_before_it_died_is_heard_first() -> None:
    heard: list[object] = []
    routes = Routes()
    routes.notifications["n"] = heard.append
    program = """
import sys
sys.stdin.readline()
for n in range(2000):
    print('{"jsonrpc":"2.0","method":"n","params":%d}' % n)
sys.stdout.flush()
sys.exit(1)
"""
    async with child(program, routes) as (link, _):
        await obituaries(calling(link, 1))
    assert heard == list(range(2000))


async def test_an_answer_that_came_before_the_death_counts() -> None:
    program = """
import json, sys
call = json.loads(sys.stdin.readline())
print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": "in time"}), flush=True)
sys.exit(1)
"""
    async with child(program) as (link, _):
        assert bytes(await link.call("m", None)) == b'"in time"'


async def test_a_caller_whose_request_is_stuck_in_the_pipe_learns_how_the_peer_died() -> None:
    ready = asyncio.Event()
    routes = Routes()
    routes.notifications["ready"] = lambda _: ready.set()
    async with child(NEVER_READS, routes) as (link, transport):
        await ready.wait()
        big = b'"%b"' % (b"x" * 1_000_000)
        calls: list[asyncio.Task[object]] = [asyncio.create_task(link.call("m", big)) for _ in range(3)]
        await asyncio.sleep(0)
        os.kill(transport.tree.pid, signal.SIGTERM)
        for died in await obituaries(calls):
            assert died.signal == "SIGTERM"
            assert died.stderr == "I do not read\n"


async def test_a_call_to_a_peer_that_has_just_died_fails_with_its_obituary_too() -> None:
    # Nobody has told us yet: we find the pipe broken before we find the process gone.
    ready = asyncio.Event()
    routes = Routes()
    routes.notifications["ready"] = lambda _: ready.set()
    async with child(NEVER_READS, routes) as (link, transport):
        await ready.wait()
        os.kill(transport.tree.pid, signal.SIGKILL)
        while alive(transport.tree.pid):  # without a turn of the loop
            time.sleep(0.001)
        calls = calling(link, 3)
        for died in await obituaries(calls):
            assert died.signal == "SIGKILL"


async def test_a_handler_that_waits_for_a_dead_peer_ends() -> None:
    ended: list[str] = []
    routes = Routes()
    program = """
import sys
print('{"jsonrpc":"2.0","id":1,"method":"ask"}', flush=True)
sys.stdin.readline()
sys.exit(4)
"""
    async with child(program, routes) as (link, _):

        async def ask() -> bytes:
            try:
                return bytes(await link.call("back", None))
            except PeerDied as died:
                ended.append(str(died.returncode))
                raise

        routes.requests["ask"] = lambda _: ask()
        await link.wait_ended()
        await eventually(lambda: ended == ["4"])


async def test_a_peer_that_closes_its_output_and_lives_on_is_gone_too() -> None:
    program = """
import os, sys, time
sys.stdin.readline()
os.close(1)
time.sleep(1000)
"""
    async with child(program) as (link, _):
        (died,) = await obituaries(calling(link, 1))
        assert "hung up" in str(died)


@pytest.mark.bound(20)
async def test_closing_leaves_no_process_no_descriptor_and_no_task() -> None:
    fds = set(os.listdir("/proc/self/fd"))
    tasks = asyncio.all_tasks()
    program = """
import subprocess, sys, time
subprocess.Popen(["sleep", "1000"])
print('{"jsonrpc":"2.0","method":"ready"}', flush=True)
time.sleep(1000)
"""
    ready = asyncio.Event()
    routes = Routes()
    routes.notifications["ready"] = lambda _: ready.set()
    async with child(program, routes) as (link, transport):
        await ready.wait()
        call = asyncio.create_task(link.call("m", None))
        await asyncio.sleep(0)
        started = _tree(transport.tree.pid)
        assert len(started) == 2
    with pytest.raises(LinkClosed):
        await call
    await eventually(lambda: not any(map(alive, started)))
    assert asyncio.all_tasks() == tasks
    await eventually(lambda: set(os.listdir("/proc/self/fd")) <= fds)


def _tree(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(found for child_pid in map(int, children) for found in _tree(child_pid))]
