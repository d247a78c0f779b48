"""The metrics of a hub, by name. docs/operations.md lists them for alert rules.

What happens is counted as it happens; what is, is taken from a `Status` when somebody looks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from dragoman_hub.api.observability.meters import AnyFamily, Counter, Family, Histogram, Meters
from dragoman_hub.api.observability.status import AgentStatus, Status

APPEND_BOUNDS = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.0, 2.5, 10.0)
"""Upper bounds in seconds, for fast to failing disks."""

WAIT_BOUNDS = (1, 5, 15, 60, 300, 900, 3600, 14_400, 43_200, 86_400)
"""Upper bounds in seconds, for people at the screen to people asleep."""

TURN_BOUNDS = (0.5, 1, 2.5, 5, 10, 30, 60, 180, 600, 1800, 7200)

KINDS = ("input", "output", "thought", "cached_read", "cached_write")


class HubMeters:
    """The hub's metrics: its code counts with the counters; a scrape reads `text`."""

    def __init__(self) -> None:
        self.meters = meters = Meters()
        counter, gauge, histogram = meters.counter, meters.gauge, meters.histogram
        # What happens.
        self.frames = counter("dragoman_frames_total", "Frames that were stored.", ["direction"])
        self.frame_bytes = counter("dragoman_frame_bytes_total", "Bytes of those frames.", ["direction"])
        self.entries = counter("dragoman_journal_entries_total", "Entries that were appended.").of()
        self.append_failures = counter(
            "dragoman_journal_append_failures_total", "Appends that the journal refused."
        ).of()
        self.appends = histogram(
            "dragoman_journal_append_seconds", "Time until appended entries were safe.", APPEND_BOUNDS
        ).of()
        self.replays = counter("dragoman_replays_total", "Reads of streams from the journal.").of()
        self.replayed_entries = counter(
            "dragoman_replayed_entries_total", "Entries read from the journal."
        ).of()
        self.turns = counter("dragoman_turns_total", "Turns that ended.", ["agent", "stop_reason"])
        self.turn_seconds = histogram("dragoman_turn_seconds", "How long turns took.", TURN_BOUNDS).of()
        self.settlements = counter(
            "dragoman_approvals_settled_total", "Questions by their outcome.", ["outcome"]
        )
        self.waits = histogram(
            "dragoman_approval_wait_seconds", "How long questions waited.", WAIT_BOUNDS
        ).of()
        self.refusals = counter("dragoman_admissions_refused_total", "Clients turned away.", ["reason"])
        # What is.
        self._info = gauge("dragoman_info", "The version that runs.", ["version"])
        self._start_time = gauge("dragoman_start_time_seconds", "When the hub was started.").of()
        self._draining = gauge("dragoman_draining", "1 while the hub takes no new work.").of()
        self._sessions = gauge("dragoman_sessions", "Sessions in memory.", ["state"])
        self._connections = gauge("dragoman_connections", "Clients.", ["transport"])
        self._queue = gauge("dragoman_queue_length", "Prompts that wait for their turn.").of()
        self._asking = gauge("dragoman_approvals_open", "Questions that wait for an answer.").of()
        self._lag = gauge(
            "dragoman_follower_lag_bytes", "Bytes that the slowest client has not received yet."
        ).of()
        self._journal = gauge("dragoman_journal_bytes", "Size of the journal on disk.").of()
        self._rss = gauge("dragoman_rss_bytes", "Memory of the hub's own process.").of()
        self._cpu = counter("dragoman_cpu_seconds_total", "Processor time of the hub's own process.").of()
        self._descriptors = gauge(
            "dragoman_open_descriptors", "Open files, sockets and pipes of the hub's own process."
        ).of()
        self._up = gauge("dragoman_agent_up", "1 if the agent's process runs.", ["agent"])
        self._agent_sessions = gauge("dragoman_agent_sessions", "Sessions of the agent.", ["agent"])
        self._restarts = counter("dragoman_agent_restarts_total", "Restarts of the agent.", ["agent"])
        self._invalid = counter(
            "dragoman_agent_invalid_frames_total", "Lines that were not valid messages.", ["agent"]
        )
        self._agent_rss = gauge("dragoman_agent_rss_bytes", "Memory of the agent's process tree.", ["agent"])
        self._agent_cpu = counter(
            "dragoman_agent_cpu_seconds_total", "Processor time of the agent's process trees.", ["agent"]
        )
        self._processes = gauge("dragoman_agent_processes", "Processes of the agent's tree.", ["agent"])
        self._agent_descriptors = gauge(
            "dragoman_agent_open_descriptors", "Open descriptors of the agent's processes.", ["agent"]
        )
        self._tokens = counter(
            "dragoman_agent_tokens_total", "Tokens, as the agent counts them.", ["agent", "kind"]
        )
        self._costs = counter(
            "dragoman_agent_cost_total", "Cost, as the agent reports it.", ["agent", "currency"]
        )
        self._trees: dict[
            str, tuple[int | None, float]
        ] = {}  # the pid of each tree, and its time when last seen

    def text(self, status: Status) -> bytes:
        """Return all metrics in Prometheus's format."""
        self._take(status)
        for family in (
            self._up,
            self._agent_sessions,
            self._agent_rss,
            self._processes,
            self._agent_descriptors,
        ):
            family.forget()  # an agent that left the configuration is not told any more
        for agent in status.agents:
            self._take_agent(agent)
        return render(self.meters)

    def _take(self, status: Status) -> None:
        totals = status.totals
        self._info.of(status.version).set(1)
        self._start_time.set(status.started)
        self._draining.set(status.health == "draining")
        for family, counts in ((self._sessions, totals.sessions), (self._connections, totals.connections)):
            for (label,), gauge in family.members():  # what was there before is told as 0: a graph goes down
                gauge.set(counts.get(label, 0))
            for label, count in counts.items():
                family.of(label).set(count)
        self._queue.set(totals.queue)
        self._asking.set(totals.asking)
        self._lag.set(totals.lag)
        self._journal.set(status.journal.size or 0)
        self._rss.set(status.hub.rss or 0)
        self._cpu.reach(status.hub.cpu or 0.0)
        self._descriptors.set(status.hub.descriptors or 0)

    def _take_agent(self, agent: AgentStatus) -> None:
        name = agent.name
        self._up.of(name).set(agent.state == "up")
        self._agent_sessions.of(name).set(agent.sessions)
        self._restarts.of(name).reach(agent.restarts)
        self._invalid.of(name).reach(agent.invalid_frames)
        self._take_time(agent, self._agent_cpu)
        if agent.rss is not None:
            self._agent_rss.of(name).set(agent.rss)
        if agent.processes is not None:
            self._processes.of(name).set(agent.processes)
        if agent.descriptors is not None:
            self._agent_descriptors.of(name).set(agent.descriptors)
        for kind in KINDS:
            self._tokens.of(name, kind).reach(getattr(agent.tokens, kind) or 0)
        for currency, amount in agent.costs.items():
            self._costs.of(name, currency).reach(amount)

    def _take_time(self, agent: AgentStatus, family: Family[Counter]) -> None:
        """Trees come and go, and the time of a tree may shrink when one of it is buried by a stranger; the
        counter only grows, by what is new.
        """
        member = family.of(agent.name)
        if agent.cpu is None:
            return
        pid, before = self._trees.get(agent.name, (None, 0.0))
        grown = agent.cpu - before if pid == agent.pid else agent.cpu
        member.add(max(grown, 0.0))
        self._trees[agent.name] = (agent.pid, max(agent.cpu, before) if pid == agent.pid else agent.cpu)


# Writes metrics in the text format of Prometheus (version 0.0.4). Pure: families in, bytes out.

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"


def render(families: Iterable[AnyFamily]) -> bytes:
    """Return all metrics as text; a family without members has only its header."""
    return "".join(line for family in families for line in _family(family)).encode(errors="replace")


def _family(family: AnyFamily) -> Iterator[str]:
    yield f"# HELP {family.name} {_escape(family.meaning)}\n"
    yield f"# TYPE {family.name} {family.kind}\n"
    for values, meter in family.members():
        label_pairs = list(zip(family.labels, values, strict=True))
        if isinstance(meter, Histogram):
            yield from _histogram(family.name, label_pairs, meter)
        else:
            yield f"{family.name}{_labels(label_pairs)} {number(meter.value)}\n"


def _histogram(name: str, label_pairs: Sequence[tuple[str, str]], histogram: Histogram) -> Iterator[str]:
    """Write a histogram; its buckets are cumulative: each counts all values up to its bound."""
    count = 0
    bounds = [*map(number, histogram.bounds), "+Inf"]
    for limit, bucket in zip(bounds, histogram.buckets, strict=True):
        count += bucket
        yield f"{name}_bucket{_labels([*label_pairs, ('le', limit)])} {count}\n"
    yield f"{name}_sum{_labels(label_pairs)} {number(histogram.sum)}\n"
    yield f"{name}_count{_labels(label_pairs)} {count}\n"


def _labels(label_pairs: Sequence[tuple[str, str]]) -> str:
    if not label_pairs:
        return ""
    values = {name: _escape(value).replace('"', '\\"') for name, value in label_pairs}
    return "{" + ",".join(f'{name}="{value}"' for name, value in values.items()) + "}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def number(value: float) -> str:
    """Return the shortest text that reads back as the same number."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    # Beyond 2**53 a float is whole, but not every whole number is a float.
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))
