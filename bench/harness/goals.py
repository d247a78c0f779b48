"""The figures that are reported, and what we ask of ours.

A goal is a comparison with peers, which must hold against each of them, or a limit in the figure's own unit.
"""

from __future__ import annotations

from dataclasses import dataclass

OURS = "dragoman"
BLOCKING = "dragoman_blocking"
PYTHON = ("official_py", "official_py_rc")
TYPESCRIPT = ("typescript",)
OFFICIAL = PYTHON + TYPESCRIPT
COPY = ("raw",)

Medians = dict[str, float]


@dataclass(frozen=True)
class Versus:
    """Ours is better than each of these peers by this factor; below one it may be worse by so much."""

    who: str
    peers: tuple[str, ...]
    factor: float
    ours: str = OURS

    def text(self) -> str:
        factor = f"{self.factor:g}×" if self.factor >= 1 else f"1/{1 / self.factor:g}"
        return f"≥ {factor} {self.who}"

    def reached(self, medians: Medians, *, more: bool) -> tuple[str, bool] | None:
        """The smallest factor over the peers that were measured, as text, and whether it is enough."""
        mine = medians.get(self.ours)
        theirs = [medians[peer] for peer in self.peers if peer in medians]
        if not mine or not theirs:
            return None
        factor = min(mine / value if more else value / mine for value in theirs)
        return f"{factor:.3g}× {self.who}", factor >= self.factor


@dataclass(frozen=True)
class AtMost:
    limit: float
    unit: str
    ours: str = OURS

    def text(self) -> str:
        return f"≤ {self.limit:g} {self.unit}"

    def reached(self, medians: Medians, *, more: bool) -> tuple[str, bool] | None:
        mine = medians.get(self.ours)
        return None if mine is None else (f"{mine:.3g} {self.unit}", mine <= self.limit)


@dataclass(frozen=True)
class AtLeast:
    limit: float
    unit: str
    ours: str = OURS

    def text(self) -> str:
        return f"≥ {self.limit:g} {self.unit}"

    def reached(self, medians: Medians, *, more: bool) -> tuple[str, bool] | None:
        mine = medians.get(self.ours)
        return None if mine is None else (f"{mine:.3g} {self.unit}", mine >= self.limit)


Goal = Versus | AtMost | AtLeast


@dataclass(frozen=True)
class Figure:
    key: str
    title: str
    more: bool  # whether more is better
    goals: tuple[Goal, ...] = ()

    @property
    def scenario(self) -> str:
        return self.key.partition(".")[0]


def _cpu(key: str, title: str) -> Figure:
    return Figure(key, title, more=False, goals=(AtMost(3, "µs"), Versus("Python", PYTHON, 25)))


FIGURES: list[Figure] = [
    Figure(
        "stream.rate",
        "stream of 20 characters, updates/s",
        more=True,
        goals=(Versus("Python", PYTHON, 30), Versus("TypeScript", TYPESCRIPT, 10)),
    ),
    _cpu("stream.client_us", "… client's CPU per update, µs"),
    _cpu("stream.agent_us", "… agent's CPU per update, µs"),
    Figure("stream1k.rate", "stream of 1 KB, updates/s", more=True, goals=(AtLeast(240_000, "/s"),)),
    Figure("stream1k.client_us", "… client's CPU per update, µs", more=False),
    Figure("stream1k.agent_us", "… agent's CPU per update, µs", more=False),
    Figure(
        "stream1k-kept.rate",
        "… the client keeps the text, as it does unless told not to, updates/s",
        more=True,
        goals=(AtLeast(205_000, "/s"),),
    ),
    Figure("stream1k-kept.client_us", "… client's CPU per update, µs", more=False),
    Figure(
        "reads.p50_us",
        "round trip of fs/read_text_file, p50 µs",
        more=False,
        goals=(
            Versus("Python", PYTHON, 4),
            Versus("TypeScript", TYPESCRIPT, 2.5),
        ),
    ),
    Figure("reads.p99_us", "… p99 µs", more=False),
    Figure(
        "inflight.rate",
        "… 1,000 in flight, calls/s",
        more=True,
        goals=(Versus("Python", PYTHON, 8), Versus("TypeScript", TYPESCRIPT, 5)),
    ),
    Figure(
        "replay.rate",
        "replay of mixed updates, updates/s",
        more=True,
        goals=(Versus("official", OFFICIAL, 15),),
    ),
    Figure(
        "load.rate",
        "load of a stored session (the others: from memory), updates/s",
        more=True,
        goals=(Versus("Python", PYTHON, 10),),
    ),
    Figure("load.agent_mb", "… agent's peak above idle, MB", more=False, goals=(AtMost(32, "MB"),)),
    Figure("import.cpu_ms", "import of the SDK, CPU ms", more=False, goals=(Versus("Python", PYTHON, 8),)),
    Figure(
        "import_used.cpu_ms",
        "… with Agent, Client and connect in use, CPU ms",
        more=False,
        goals=(Versus("Python", PYTHON, 8),),
    ),
    Figure("import_all.cpu_ms", "… with every model, CPU ms", more=False),
    Figure(
        "start.ms",
        "process start to answered initialize, ms",
        more=False,
        goals=(Versus("Python", PYTHON, 5),),
    ),
    Figure("pairs.kb", "idle connection pair, KB", more=False, goals=(AtMost(10, "KB"),)),
    Figure("pool.wall_s", "200 sessions at once in one agent, s beyond the turns' own", more=False),
    Figure("pool.client_kb", "… client's memory per session, KB", more=False, goals=(AtMost(32, "KB"),)),
    Figure("pool.agent_kb", "… scripted agent's memory per session, KB", more=False),
    Figure("pool.start_s", "200 agents started for a session each, s", more=False),
    Figure("pool.many_s", "… then a turn in all at once, s beyond the turns' own", more=False),
    Figure("pool.many_kb", "… client's memory per agent and session, KB", more=False),
    Figure("large.wall_s", "message of 100 MB, s", more=False),
    Figure("large.client_sizes", "… client's peak, × its size", more=False, goals=(AtMost(3.5, "×"),)),
    Figure("large.agent_sizes", "… agent's peak, × its size", more=False, goals=(AtMost(3.5, "×"),)),
    Figure(
        "relay.rate",
        "relay, messages/s",
        more=True,
        goals=(Versus("official", OFFICIAL, 40), Versus("plain copy", COPY, 1 / 3)),
    ),
    Figure(
        "interpret.rate",
        "translated updates/s (the others: forwarded as they are)",
        more=True,
        goals=(Versus("Python", PYTHON, 10),),
    ),
    Figure(
        "interpret.passed",
        "… updates that need no change, × the cost of our plain relay",
        more=False,
        goals=(AtMost(1.5, "×"),),
    ),
    Figure("tap.p50_us", "what a tap adds to a round trip, p50 µs", more=False),
    Figure("tap.p99_us", "… p99 µs", more=False, goals=(AtMost(1000, "µs"),)),
    Figure(
        "tap-record.us_20",
        "recording a frame with real text of 20 characters, secrets hidden, CPU µs",
        more=False,
        goals=(AtMost(5, "µs"),),
    ),
    Figure("tap-record.us_1024", "… of 1 KB, CPU µs", more=False, goals=(AtMost(15, "µs"),)),
    Figure("mutants.found", "planted violations that are found, %", more=True, goals=(AtLeast(100, "%"),)),
    Figure("mutants.false", "… false alarms in good conversations, %", more=False, goals=(AtMost(0, "%"),)),
    Figure("mutants.ms", "… judging one, ms", more=False),
]
