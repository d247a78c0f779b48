"""The kill test: a cluster under load, struck again and again, and the judgement over all that was written.

`storm` runs one and returns what the checker found; the records stay in its folder, for whoever wants to look
(`run_storm.py --check FOLDER` judges them again). `tests/cluster/test_storm.py` runs a short one, and
`run_storm.py` one of any length.
"""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from tests.cluster.checker import check, gathered, read_agents
from tests.cluster.checker_service import SILENT, WITHIN, longest_pauses
from tests.cluster.crowd import Crowd
from tests.cluster.digest import digest
from tests.cluster.findings import Finding
from tests.cluster.records import Blow, Storm, now, save
from tests.cluster.together import Cluster, running_cluster
from tests.cluster.verdict import verdict_table
from tests.cluster.weather import Strike, forecast

SETTLING = 90.0
"""Seconds for the last turns to end when everybody is back."""

TASK_REPORT = 30.0
"""And for everybody to be told of it."""

TICK = 0.05


@dataclass
class Plan:
    """What kind of storm. `pace`: seconds between the updates of a session."""

    seconds: float
    seed: int
    sessions: int = 50
    people: int = 12
    hubs: int = 3
    servers: int = 3
    pace: float = 1.0
    crowded: bool = False


@dataclass
class Result:
    findings: list[Finding]
    storm: Storm
    notes: list[str] = field(default_factory=list)
    """What is worth knowing besides: what could not be done, who was late."""
    cpu: float = 0.0
    """Seconds of all processes that we have started, and our own."""

    def summary(self) -> str:
        storm = self.storm
        digests = {session: digest(session, entries) for session, entries in storm.sessions.items()}
        updates = sum(len(made.updates) for made in digests.values())
        ends = [end for made in digests.values() for all_ in made.ends.values() for end in all_]
        failed = sum(end.outcome.startswith("error") for end in ends)
        told = sum(len(lines) for lines in storm.clients.values())
        longest = sorted(longest_pauses(storm, digests).items())
        pauses = ", ".join(f"{kind} {pause:.1f} s" for kind, pause in longest)
        return "\n".join(
            [
                f"{len(storm.blows)} blows, {len(digests)} sessions, {len(ends)} turns ({failed} failed), "
                f"{updates} updates, {told} lines of {len(storm.clients)} clients, "
                f"{len(storm.agents)} processes of agents",
                f"longest pauses: {pauses or 'none'}",
                f"{self.cpu:.0f} s of CPU; others made us wait for {sum(s for _, s in storm.stalls):.0f} s",
                *self.notes,
                *map(str, self.findings[:50]),
                verdict_table(self.findings, [_outage_row(kind, pause) for kind, pause in longest]),
            ]
        )


def _outage_row(kind: str, pause: float) -> tuple[str, str]:
    """A node that was paused or cut off has a little longer than one that was killed."""
    within = WITHIN + (SILENT if kind.partition(" ")[0] in ("pause", "cut") else 0.0)
    return f"longest outage after {kind}", f"{pause:.1f} s of {within:g} s"


async def storm(folder: Path, plan: Plan, say: Callable[[str], None] = lambda line: None) -> Result:
    began = _cpu()
    async with running_cluster(folder, hubs=plan.hubs, servers=plan.servers) as cluster:
        crowd = Crowd(
            cluster.urls,
            cluster.token,
            seed=plan.seed,
            people=plan.people,
            sessions=plan.sessions,
            pace=plan.pace,
        )
        stalls: list[tuple[float, float]] = []
        watching = asyncio.get_running_loop().create_task(_watch_stalls(stalls))
        try:
            result = await _weathered(cluster, crowd, plan, stalls, say)
        finally:
            watching.cancel()
            await crowd.aclose()
    result.cpu = _cpu() - began
    return result


async def _weathered(
    cluster: Cluster,
    crowd: Crowd,
    plan: Plan,
    stalls: list[tuple[float, float]],
    say: Callable[[str], None],
) -> Result:
    wall = time.time() - now()
    work = cluster.folder / "work"
    work.mkdir()
    await crowd.gather(str(work))
    say(f"{plan.sessions} sessions stream")
    strikes = forecast(
        plan.seed,
        plan.seconds,
        hubs=plan.hubs,
        servers=plan.servers,
        can_cut=cluster.network.can_cut,
        crowded=plan.crowded,
    )
    notes = [cluster.network.why_not] if cluster.network.why_not else []
    blows = await _blow(cluster, strikes, plan.seconds, say, notes)
    calm = now()
    late = await crowd.settle(SETTLING, cluster.ask_for_tasks)
    notes += [f"did not come to its end: {name}" for name in late]
    notes += [f"ended by itself: {name}" for name in cluster.fallen()]
    async with cluster.journal() as journal:
        sessions = await gathered(journal, crowd.sessions)
    made = {session: digest(session, entries) for session, entries in sessions.items()}
    last = {name: one.updates[-1].sequence for name, one in made.items() if one.updates}
    await crowd.told_up_to(last, TASK_REPORT)
    await crowd.aclose()
    whole = Storm(
        sessions=sessions,
        clients=crowd.lines,
        agents=read_agents(cluster.nodes[0].notes),
        blows=blows,
        stalls=stalls,
        wall=wall,
        calm=calm,
    )
    save(whole, cluster.folder / "records")
    return Result(check(whole), whole, notes)


async def _blow(
    cluster: Cluster, strikes: list[Strike], seconds: float, say: Callable[[str], None], notes: list[str]
) -> list[Blow]:
    """All of them, each at its time, until the storm is over and everything is mended."""
    began = now()
    blows: list[Blow] = []

    async def strike(one: Strike) -> None:
        await asyncio.sleep(began + one.at - now())
        notes.extend(f"ended by itself: {name}, at {now() - began:.1f} s" for name in cluster.fallen())
        say(f"{one.at:6.1f} s  {one.how} {one.target} for {one.lasts:.1f} s")
        blow = Blow(t=now(), how=one.how, target=one.target)
        undo = await cluster.strike(one.how, one.kind, one.number)
        await asyncio.sleep(one.lasts)
        try:
            await undo()
        except ChildProcessError as error:  # as whoever looks after it would do; but it is noted
            notes.append(f"at {now() - began:.1f} s: {error}")
            await undo()
        blows.append(replace(blow, over=now()))

    async with asyncio.TaskGroup() as tasks:
        for one in strikes:
            tasks.create_task(strike(one))
        tasks.create_task(asyncio.sleep(seconds))
    return sorted(blows, key=lambda blow: blow.t)


async def _watch_stalls(stalls: list[tuple[float, float]]) -> None:
    """Sleep a little, again and again: what it takes longer than that, others have had the processors."""
    while True:
        began = now()
        await asyncio.sleep(TICK)
        if (late := now() - began - TICK) > TICK:
            stalls.append((began, late))


def _cpu() -> float:
    """Of us, and of our children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
