"""What the agents' processes truly did, held against the journal: see `checker`.

A process runs while its lines are close to each other: it writes one every ten milliseconds while it works. A
longer silence counts as time in which it was stopped, so that a busy machine makes nobody guilty.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from tests.cluster.digest import Digest, End
from tests.cluster.findings import Finding
from tests.cluster.records import AgentLine, Asked, Begun, Cancelled, Finished, Heard, Sent, Storm

SILENCE = 0.25
"""Seconds between two lines of a process that need not have run in between."""

CLOCKS = 0.1
"""By how much the journal's clock may be off against the agents': it is the wall's, and that is adjusted."""

CAUSE = 60.0
"""A turn that fails so long after the last blow was undone has failed without one."""

LONG = 2.0
"""Seconds that the machine let everybody wait for: a lease may run out by that alone."""


@dataclass
class Run:
    """One turn in one process. `times` are intervals in which the process ran while the turn was open."""

    process: str
    session: str
    key: str
    begun: float
    sent: list[int] = field(default_factory=list)
    times: list[tuple[float, float]] = field(default_factory=list)
    outcome: str = ""


def check_agents(storm: Storm, digests: Mapping[str, Digest]) -> Iterator[Finding]:
    runs = [run for process, lines in storm.agents.items() for run in runs_of(process, lines)]
    by_session: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_session[run.session].append(run)
    for session, all_ in by_session.items():
        yield from _twice(session, all_)
        yield from _at_once(session, all_)
        if session in digests:
            yield from _against_journal(storm, digests[session], all_)
    for made in digests.values():
        yield from _outcomes(storm, made, by_session.get(made.session, []))
    yield from _approvals(storm, digests)


def runs_of(process: str, lines: Sequence[AgentLine]) -> list[Run]:
    awake = _awake([line.t for line in lines])
    runs: dict[str, Run] = {}
    ends: dict[str, float] = {}
    done: list[Run] = []
    for line in lines:
        if isinstance(line, Begun):
            if line.key in runs:  # a second time, in the same process
                done.append(runs.pop(line.key))
            runs[line.key] = Run(process, line.session, line.key, line.t)
        elif isinstance(line, Sent):
            runs[line.key].sent.append(line.n)
        elif isinstance(line, Finished):
            runs[line.key].outcome = line.outcome
            ends[line.key] = line.t
    for run in runs.values():
        last = ends.get(run.key, lines[-1].t)
        run.times = [
            (max(first, run.begun), min(until, last))
            for first, until in awake
            if until >= run.begun and first <= last
        ]
    return done + list(runs.values())


def _awake(times: Sequence[float]) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    for time in times:
        if found and time - found[-1][1] <= SILENCE:
            found[-1] = (found[-1][0], time)
        else:
            found.append((time, time))
    return found


def _twice(session: str, runs: list[Run]) -> Iterator[Finding]:
    first: dict[str, Run] = {}
    for run in sorted(runs, key=lambda one: one.begun):
        if run.key in first:
            text = f"the prompt {run.key} was run by {first[run.key].process} and again by {run.process}"
            yield Finding("run twice", session, 0, run.begun, text)
        first.setdefault(run.key, run)


def _at_once(session: str, runs: list[Run]) -> Iterator[Finding]:
    for one, other in combinations(runs, 2):
        if one.process == other.process:
            continue
        for first, last in one.times:
            common = [(max(first, a), min(last, b)) for a, b in other.times if a <= last and b >= first]
            if common:
                begin, end = common[0]
                text = f"{one.process} and {other.process} both worked on it for {end - begin:.3f} s"
                yield Finding("at once", session, 0, begin, f"{text}, on {one.key} and {other.key}")
                break


def _against_journal(storm: Storm, made: Digest, runs: list[Run]) -> Iterator[Finding]:
    for run in runs:
        ends = made.ends.get(run.key, [])
        if run.key not in made.given:
            text = f"{run.process} was given the prompt {run.key}, and that is not stored"
            yield Finding("lost", made.session, 0, run.begun, text)
        elif ends and run.times and run.times[-1][1] > ends[0].time - storm.wall + CLOCKS:
            when = run.times[-1][1]
            text = f"{run.process} still worked on {run.key} when that had ended with {ends[0].outcome!r}"
            yield Finding("went on", made.session, ends[0].sequence, when, text)


def _outcomes(storm: Storm, made: Digest, runs: list[Run]) -> Iterator[Finding]:
    by_key = {run.key: run for run in sorted(runs, key=lambda one: -one.begun)}  # the first of each
    stored: dict[str, int] = defaultdict(int)
    for update in made.updates:
        run = by_key.get(update.key)
        stored[update.key] += 1
        if run is None or update.number not in run.sent:
            text = f"no agent has said the update {update.text}"
            yield Finding("invented", made.session, update.sequence, update.time - storm.wall, text)
    for key, ends in made.ends.items():
        for end in ends[:1]:
            why = _dishonest(storm, made, key, end, by_key.get(key), stored[key])
            if why:
                text = f"the prompt {key} ended with {end.outcome!r}, but {why}"
                yield Finding("dishonest", made.session, end.sequence, end.time - storm.wall, text)


def _dishonest(storm: Storm, made: Digest, key: str, end: End, run: Run | None, stored: int) -> str:
    """Why the outcome is not the truth; nothing if it is."""
    if end.outcome.startswith("error:"):
        if key in made.answers:
            return "its agent's own answer is stored"
        return "" if _has_cause(storm, end.time - storm.wall) else "nothing had happened to anybody"
    if end.outcome == "cancelled" and (run is None or not run.outcome):
        return "" if _was_cancelled(storm, made.session) else "nobody cancelled it"
    if run is None or run.outcome != end.outcome:
        return f"its agent ended with {run.outcome if run else 'nothing'!r}"
    if len(run.sent) != stored:
        return f"its agent has said {len(run.sent)} updates, and {stored} are stored"
    return ""


def _has_cause(storm: Storm, when: float) -> bool:
    struck = any(blow.t <= when and (blow.over < 0 or when <= blow.over + CAUSE) for blow in storm.blows)
    return struck or any(stall <= when <= stall + CAUSE for stall, seconds in storm.stalls if seconds > LONG)


def _was_cancelled(storm: Storm, session: str) -> bool:
    return any(
        isinstance(line, Cancelled) and line.session == session
        for lines in storm.clients.values()
        for line in lines
    )


def _approvals(storm: Storm, digests: Mapping[str, Digest]) -> Iterator[Finding]:
    """Every approval is answered once to the process that asked, with the answer that is stored."""
    for process, lines in storm.agents.items():
        asked = {(line.session, line.name) for line in lines if isinstance(line, Asked)}
        heard: dict[tuple[str, str], list[Heard]] = defaultdict(list)
        for line in lines:
            if isinstance(line, Heard):
                heard[line.session, line.name].append(line)
        for (session, name), answers in heard.items():
            for second in answers[1:]:
                text = f"{process} heard {answers[0].option!r} and then {second.option!r} about {name}"
                yield Finding("answered twice", session, 0, second.t, text)
            if (session, name) in asked and session in digests:
                yield from _as_stored(process, digests[session], answers[0])


def _as_stored(process: str, made: Digest, answer: Heard) -> Iterator[Finding]:
    requests = [request for request, name in made.asked.items() if name == answer.name]
    options = [one.option for request in requests for one in made.verdicts.get(request, [])]
    if options[:1] != [answer.option]:
        text = f"{process} heard {answer.option!r} about {answer.name}, and {options!r} is stored"
        sequence = int(requests[0]) if requests else 0
        yield Finding("another answer", made.session, sequence, answer.t, text)
