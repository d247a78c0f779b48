"""How long sessions were not served: see `checker`.

A session is served when a client is told something that was stored after the blow. In a storm every session
is always busy, so silence is a pause. A blow that is followed by another within the time that is allowed is
not judged by itself: the clock starts again with the last one. Time in which the machine was busy with others
is not counted.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping

from tests.cluster.checker_clients import position
from tests.cluster.digest import Digest
from tests.cluster.findings import Finding
from tests.cluster.records import Blow, Storm, Told

WITHIN = 15.0
"""Seconds until every session is served again."""

SILENT = 5.0
"""Seconds more for a node that was paused or cut off: its own clients have to notice first that it says
nothing; one that was killed hangs up.
"""


def check_service(storm: Storm, digests: Mapping[str, Digest]) -> Iterator[Finding]:
    served = service(storm, digests)
    for blow in judged(storm, WITHIN):
        within = WITHIN + (SILENT if blow.how in ("pause", "cut") else 0.0)
        for session, times in served.items():
            pause = pause_after(times, blow.t)
            if pause is None or pause > within + stalled(storm, blow.t, blow.t + pause):
                said = "never again" if pause is None else f"only after {pause:.1f} s"
                text = f"it was served {said} when {blow.target} was struck ({blow.how})"
                yield Finding("not served", session, 0, blow.t, text)


def stalled(storm: Storm, begin: float, end: float) -> float:
    """Seconds that the machine took from us in this time: it was busy with others."""
    return sum(seconds for when, seconds in storm.stalls if begin <= when <= end)


def judged(storm: Storm, within: float) -> list[Blow]:
    """Blows that no other one followed, and that the storm outlasted."""
    blows = sorted(storm.blows, key=lambda one: one.t)
    times = [blow.t for blow in blows]
    return [
        blow
        for place, blow in enumerate(blows)
        if blow.t + within <= storm.calm
        and bisect_right(times, blow.t + within) == place + 1
        and not any(blow.t < one.over <= blow.t + within and one is not blow for one in blows)
    ]


def service(storm: Storm, digests: Mapping[str, Digest]) -> dict[str, list[tuple[float, float]]]:
    """For each session, when something was stored and when somebody was told of it, by the first."""
    found: dict[str, dict[int, tuple[float, float]]] = defaultdict(dict)
    for lines in storm.clients.values():
        for line in lines:
            if not isinstance(line, Told) or line.session not in digests:
                continue
            sequence = position(line.cursor)[0]
            stored = digests[line.session].times.get(sequence)
            known = found[line.session].get(sequence)
            if stored is not None and (known is None or line.t < known[1]):
                found[line.session][sequence] = (stored - storm.wall, line.t)
    return {session: sorted(found[session].values()) for session in digests}


def pause_after(served: list[tuple[float, float]], when: float) -> float | None:
    """Seconds from then until somebody was told something newer; None if nobody ever was."""
    newer = served[bisect_left(served, (when, 0.0)) :]
    return min(told for _, told in newer) - when if newer else None


def longest_pauses(storm: Storm, digests: Mapping[str, Digest]) -> dict[str, float]:
    """For each way to strike, the longest pause of any session behind it; for reports."""
    served = service(storm, digests)
    pauses: dict[str, float] = defaultdict(float)
    for blow in storm.blows:
        for times in served.values():
            pause = pause_after(times, blow.t)
            if pause is not None:
                kind = f"{blow.how} {blow.target.rstrip('0123456789-')}"
                pauses[kind] = max(pauses[kind], pause)
    return dict(pauses)
