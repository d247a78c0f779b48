"""Agent hosts that are killed, and hubs that are gone: nothing of an agent in a sandbox is left."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from dragoman_hub.agents.host.agent_host import HostOrder
from dragoman_hub.agents.host.hosted_agents import host_agent
from dragoman_hub.agents.host.launcher import bury_the_dead
from dragoman_local.sandbox.wall import agent_launcher
from tests.sandbox.stage import need_wall

KILLS = int(os.environ.get("DRAGOMAN_WALL_KILLS", "3"))

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is Linux's")


def processes_with(word: str) -> list[int]:
    """Those that have it as an argument: other sandboxes name every socket, ours too, to hide it."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if word.encode() in Path("/proc", pid, "cmdline").read_bytes().split(b"\0"):
                found.append(int(pid))
        except OSError:
            continue
    return found


def wait_until_gone(word: str) -> None:
    end = time.monotonic() + patience(20)
    while processes_with(word) and time.monotonic() < end:
        time.sleep(0.01)
    left = [Path("/proc", str(pid), name) for pid in processes_with(word) for name in ("cmdline", "status")]
    assert [path.read_text()[:300] for path in left if path.exists()] == []


@pytest.mark.bound(60 + 4 * KILLS)
async def test_nothing_is_left_of_an_agent_whose_host_or_hub_is_killed(tmp_path: Path) -> None:
    """At any moment of its start and of its work; the proxy of its network included."""
    need_wall()
    folder = tmp_path / "project"
    folder.mkdir()
    mounts = Path("/proc/self/mounts").read_text()
    for number in range(KILLS):
        chance = random.Random(number)
        mark = f"mark{os.getpid()}-{number}"
        profile = f"workspace+net:{mark}.example"
        environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
        launcher = agent_launcher(profile, "sh", [str(folder)], environ=environ)
        line = f"(setsid sleep 1000 {mark} &); env -i setsid sh -c 'sleep 1000 & wait' {mark} & exec cat"
        socket = tmp_path / f"{mark}.sock"
        agent = await host_agent(
            HostOrder(command=[*launcher, "sh", "-c", line, mark], socket=socket, env=environ, linger=0.2)
        )
        await asyncio.sleep(chance.random() * 0.1)
        if chance.random() < 0.3:
            await agent.leave()  # what a hub does that is killed: it is not there any more
        else:
            victims = processes_with(str(socket))
            assert victims
            os.kill(victims[0], signal.SIGKILL)
            await agent.leave()
        await asyncio.to_thread(wait_until_gone, mark)
    bury_the_dead()
    assert Path("/proc/self/mounts").read_text() == mounts
    assert [path.name for path in folder.iterdir()] == []
