"""Agents under a lease, behind real agent hosts: they stand still as a whole when it has run out."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from dragoman.errors import SpawnFailed
from dragoman.testing.pace import deadline
from dragoman.transport import tree
from dragoman_hub.agents.host.agent_host import HostOrder
from dragoman_hub.agents.host.agent_lease import GOES_ON, LOST, STOPPED
from dragoman_hub.agents.host.hosted_agents import HostedAgent, find_hosted, host_agent
from dragoman_hub.agents.host.lease import moment
from tests.hub.agents.host.raw_hub import Journal, until_gone
from tests.together import SideBySide
from tests.transport.programs import eventually

pytestmark = [
    pytest.mark.bound(60),  # processes, on a machine that may be busy
    pytest.mark.skipif(
        not os.path.exists("/proc/self/stat"), reason="states of processes are read from /proc"
    ),
]

together = SideBySide()

ACTING = """
cd "$0"
(setsid sh -c 'echo $$; exec >/dev/null; while :; do echo >> orphan; sleep 0.01; done' &)
while :; do echo >> child; sleep 0.01; done >/dev/null &
cat
echo > bye
"""
"""Echoes, and says bye at its end. A child and an orphan in its own session, which it names, write files."""

STUBBORN = "trap 'echo > asked' TERM; cd \"$0\"; echo $$; while :; do sleep 0.01; done"
"""Does not look at its input, and would not end when asked."""


class Scene:
    """An agent that writes files, and what can be seen of it from outside."""

    def __init__(self, folder: Path) -> None:
        self.place = folder / "place" / "a.sock"
        self.files = folder / "files"
        self.files.mkdir()
        self.command = ["sh", "-c", ACTING, str(self.files)]
        self.roots: list[int] = []

    async def begin(self, *, lease_linger: float = 60.0) -> tuple[HostedAgent, Journal]:
        agent = await host_agent(
            HostOrder(command=self.command, socket=self.place, lease=moment(60.0), lease_linger=lease_linger)
        )
        agent.start(journal := Journal(agent))
        await journal.until(1)
        self.roots = [agent.pid, int(journal.frames[0])]
        await self.until_it_acts()
        return agent, journal

    def sizes(self) -> dict[str, int]:
        return {path.name: path.stat().st_size for path in self.files.iterdir()}

    def running(self) -> list[tree.Process]:
        return tree.running(process for root in self.roots for process in tree.members(root))

    async def until_it_acts(self) -> None:
        before = self.sizes()
        files = ("child", "orphan")
        await eventually(lambda: all(self.sizes().get(n, 0) > before.get(n, 0) for n in files), seconds=30)

    async def until_it_stands(self) -> None:
        await eventually(lambda: not self.running(), seconds=30)

    async def until_all_are_gone(self) -> None:
        for root in self.roots:
            await until_gone(root)
        async with deadline(10):  # whatever else is in the tree is killed a moment later
            while self.running():  # noqa: ASYNC110 -- nothing tells of it
                await asyncio.sleep(0.01)


@together
async def test_an_agent_stands_still_without_a_lease_and_goes_on_with_a_new_one(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    agent, journal = await scene.begin()
    agent.write(b"before\n", stream="s", last=1)
    await journal.until_word(b"before")
    agent.lease(0.3)
    await journal.until_line(STOPPED)
    assert scene.running() == []
    sizes = scene.sizes()
    agent.write(b"meanwhile\n", stream="s", last=2)
    await agent.leave()
    again = await find_hosted(scene.place)
    assert again is not None
    assert again.taken_numbers == {"s": 1}  # the agent host has it, and the agent has not
    again.write(b"meanwhile\n", stream="s", last=2)
    again.write(b"after\n", stream="s", last=3)
    again.start(later := Journal(again, base=journal.last))
    assert (scene.running(), scene.sizes()) == ([], sizes)
    again.lease(60.0)
    await later.until_line(GOES_ON)
    await later.until_word(b"after")
    await scene.until_it_acts()
    assert (journal.frames[1:], later.frames) == ([b"before"], [b"meanwhile", b"after"])
    await again.aclose()
    assert "bye" in scene.sizes()  # it ended in its own way
    await scene.until_all_are_gone()


@together
async def test_an_agent_that_stands_still_is_ended_as_it_stands(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    agent, journal = await scene.begin()
    agent.lease(0.0)
    await journal.until_line(STOPPED)
    sizes = scene.sizes()
    agent.write(b"never\n")
    await agent.aclose()
    assert journal.end == ("sh ended with signal SIGKILL; its lease had run out", -signal.SIGKILL)
    await scene.until_all_are_gone()
    assert scene.sizes() == sizes
    assert list(scene.place.parent.iterdir()) == []


@together
async def test_an_agent_without_a_lease_for_too_long_ends_with_its_agent_host(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    agent, journal = await scene.begin(lease_linger=0.1)
    agent.lease(0.1)
    await journal.until_ended()
    assert LOST in journal.lines
    await until_gone(agent.host_pid)
    await scene.until_all_are_gone()
    assert "bye" not in scene.sizes()
    await agent.aclose()
    assert list(scene.place.parent.iterdir()) == []


@together
async def test_an_agent_that_stands_still_does_not_run_when_its_agent_host_is_killed(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    agent, journal = await scene.begin()
    agent.lease(0.0)
    await journal.until_line(STOPPED)
    sizes = scene.sizes()
    os.kill(agent.host_pid, signal.SIGKILL)
    await scene.until_all_are_gone()
    assert scene.sizes() == sizes
    await agent.aclose()


@together
async def test_a_lease_that_runs_out_ends_an_orderly_end(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.command = ["sh", "-c", STUBBORN, str(scene.files)]
    agent = await host_agent(HostOrder(command=scene.command, socket=scene.place, lease=moment(60.0)))
    agent.start(journal := Journal(agent))
    await journal.until(1)
    agent.lease(0.3)
    await agent.aclose()
    assert journal.end == ("sh ended with signal SIGKILL; its lease had run out", -signal.SIGKILL)
    assert scene.sizes() == {}


@together
async def test_no_agent_is_started_under_a_lease_that_is_over(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    with pytest.raises(SpawnFailed, match="lease ran out before"):
        await host_agent(HostOrder(command=scene.command, socket=scene.place, lease=moment(0.0)))
    assert scene.sizes() == {}
    assert list(scene.place.parent.iterdir()) == []


LEASE = 0.5


@together
async def test_a_hub_that_is_stopped_or_killed_takes_its_agent_along_until_it_is_back(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    program = str(Path(__file__).with_name("leasing_hub.py"))
    words = [sys.executable, program, str(scene.place), str(LEASE), *scene.command]
    hub = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
    assert hub.stdout is not None
    orphan = await hub.stdout.readline()
    scene.roots = [int(orphan)]
    await scene.until_it_acts()

    hub.send_signal(signal.SIGSTOP)
    await stands_still(scene)
    hub.send_signal(signal.SIGCONT)
    await scene.until_it_acts()

    hub.kill()
    await hub.stdout.read()
    await hub.wait()
    await stands_still(scene)
    agent = await find_hosted(scene.place)
    assert agent is not None
    scene.roots.append(agent.pid)
    assert scene.running() == []
    agent.write(b"back\n")
    agent.lease(60.0)
    agent.start(journal := Journal(agent))
    await scene.until_it_acts()
    await journal.until(2)
    assert journal.frames == [orphan.strip(), b"back"]
    await agent.aclose()
    await scene.until_all_are_gone()


async def stands_still(scene: Scene) -> None:
    """Once the last lease that the hub gave has run out, nothing is written any more."""
    await asyncio.sleep(LEASE)
    await scene.until_it_stands()
    sizes = scene.sizes()
    await asyncio.sleep(LEASE)
    assert (scene.running(), scene.sizes()) == ([], sizes)
