"""The pool starts agents, keeps their leases while they start, and ends what it started."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import AgentFailed
from dragoman_hub.agents.channel import AgentChannel, LeaseTerm
from dragoman_hub.agents.host.agent_host import HostOrder
from dragoman_hub.agents.host.hosted_agents import find_hosted, host_agent
from dragoman_hub.agents.host.lease import moment, now
from dragoman_hub.agents.pool import AgentPool, AgentSpec
from dragoman_hub.agents.specs import specs_of
from dragoman_hub.settings import AgentSettings
from tests.runtime.raw import until

LEASE = 0.25
SLOW = 4 * LEASE
"""An agent needs so long before it answers for the first time: several leases."""

LATE = """
import json, sys, time
asked = json.loads(sys.stdin.readline())
begun = time.monotonic()
while time.monotonic() - begun < %f:  # a process that is stopped meanwhile makes no progress
    time.sleep(0.01)
answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"protocolVersion": 1}}
print(json.dumps(answer), flush=True)
sys.stdin.read()
"""


@pytest.mark.bound(20)  # an agent host's start, and several leases of an agent that is late on purpose
async def test_an_agent_whose_start_takes_longer_than_several_leases_starts(tmp_path: Path) -> None:
    place = tmp_path / "late.sock"

    def lasting() -> LeaseTerm:
        return LeaseTerm(LEASE, now())

    async def open_() -> AgentChannel:
        # The first lease covers the start of the host; without a renewal the agent is ended soon after it.
        command = [sys.executable, "-c", LATE % SLOW]
        return await host_agent(
            HostOrder(command=command, socket=place, lease=moment(30.0), lease_linger=5.0)
        )

    async def adopt() -> AgentChannel | None:
        return await find_hosted(place)

    pool = AgentPool({"late": AgentSpec(name="late", open=open_, adopt=adopt)}, remember=_remember)
    pool.lease = lasting
    pool.start()

    async def renew() -> None:
        while True:
            pool.renew(lasting())
            await asyncio.sleep(LEASE / 8)

    renewing = asyncio.create_task(renew())
    try:
        process = await pool.ensure_process("late")
        assert process.initialize_result == {"protocolVersion": 1}
        assert pool.seats["late"].beginning is None
    finally:
        renewing.cancel()
        await asyncio.wait([renewing])
        await pool.aclose()


@pytest.mark.bound(20)  # an agent host's start
async def test_an_agent_that_has_not_answered_yet_ends_with_its_hub(tmp_path: Path) -> None:
    place = tmp_path / "late.sock"

    async def open_() -> AgentChannel:
        return await host_agent(HostOrder(command=[sys.executable, "-c", LATE % 600.0], socket=place))

    async def adopt() -> AgentChannel | None:
        return await find_hosted(place)

    pool = AgentPool({"late": AgentSpec(name="late", open=open_, adopt=adopt)}, remember=_remember)
    pool.start()
    starting = asyncio.create_task(pool.ensure_process("late"))
    await until(lambda: pool.seats["late"].beginning is not None, turns=10_000_000)
    await pool.leave()
    with pytest.raises(AgentFailed):
        await starting
    assert await find_hosted(place) is None


@pytest.mark.bound(20)  # two agent hosts' starts
async def test_an_agent_host_whose_start_takes_longer_than_the_lease_is_started_under_a_newer_one(
    tmp_path: Path,
) -> None:
    leases = iter([LeaseTerm(1.0, now() - 10.0), LeaseTerm(60.0, now())])
    agents = {"cat": AgentSettings(command=("cat",), dialect="v1")}
    spec = specs_of(agents, tmp_path, lease=lambda: next(leases))["cat"]
    line = await spec.open()
    assert line.pid > 0
    await line.aclose()


def _remember(name: str, answer: dict[str, Any] | None) -> dict[str, Any]:
    return answer or {}
