"""The hub's figures, and what we ask of them. The journal waits for the disk unless a title says so."""

from __future__ import annotations

from harness.goals import OFFICIAL, PYTHON, TYPESCRIPT, AtLeast, AtMost, Figure, Versus
from hub.measure_many import FOLDERS
from hub.scenarios import PACED_SESSIONS, SESSIONS

MANY_LIMITS = (7, 9, 14, 75)
"""Microseconds of the hub for an update, its turn's start and end included, by number of sessions."""


def _of_many(folders: str) -> list[Figure]:
    where = "one folder" if folders == "one" else "a folder each"
    figures: list[Figure] = []
    # Progress has no goal: a session that gets ahead of the disk is stored and told in a few large bursts, so
    # that at half time some have had all and others their first ones.
    for number, limit in zip(SESSIONS, MANY_LIMITS, strict=True):
        key = f"{folders}_{number}"
        who = "1 session streams" if number == 1 else f"{number:,} sessions stream at once in {where}"
        figures += [
            Figure(f"hub-many.rate_{key}", f"{who}, updates/s", more=True),
            Figure(
                f"hub-many.us_{key}",
                "… hub's CPU per update, turns' start and end included, µs",
                more=False,
                goals=(AtMost(limit, "µs"),),
            ),
            Figure(f"hub-many.kb_{key}", "… hub's peak memory per session, KB", more=False),
            Figure(f"hub-many.fair_{key}", "… the last one's progress at half time", more=True),
        ]
    return [
        *figures,
        Figure(
            f"hub-many.start_ms_{folders}",
            "… start of a turn, hub's CPU, ms",
            more=False,
            goals=(AtMost(1, "ms"),),
        ),
        Figure(f"hub-many.start_s_{folders}", "… until all turns have begun, s", more=False),
    ]


def _at_pace(number: int, limit: float) -> list[Figure]:
    who = "1 session has" if number == 1 else f"{number} sessions have each"
    return [
        Figure(
            f"hub-pace.us_{number}",
            f"{who} 50 updates a second, hub's CPU per update, µs",
            more=False,
            goals=(AtMost(limit, "µs"),),
        ),
        Figure(f"hub-pace.bytes_{number}", "… bytes that the hub writes per update", more=False),
    ]


HUB_FIGURES: list[Figure] = [
    Figure(
        "hub-stream.rate",
        "agent → hub → WebSocket client (the others: no hub, no journal), updates/s",
        more=True,
        goals=(Versus("Python", PYTHON, 8), Versus("TypeScript", TYPESCRIPT, 3)),
    ),
    Figure("hub-stream.bare", "… to a client over `websockets` alone, updates/s", more=True),
    Figure("hub-stream.hub_us", "… hub's CPU per update, µs", more=False),
    Figure("hub-stream.client_us", "… client's CPU per update, µs", more=False),
    Figure(
        "hub-replay.rate",
        "load of a long session over a WebSocket (the others: from memory), updates/s",
        more=True,
        goals=(Versus("official", OFFICIAL, 10),),
    ),
    Figure("hub-replay.bare", "… to a client over `websockets` alone, updates/s", more=True),
    Figure("hub-replay.hub_us", "… hub's CPU per update, µs", more=False),
    Figure("hub-replay.client_us", "… client's CPU per update, µs", more=False),
    Figure("hub-text.rate_20", "the same with real text of 20 characters, updates/s", more=True),
    Figure("hub-text.hub_us_20", "… hub's CPU per update, µs", more=False, goals=(AtMost(7.5, "µs"),)),
    Figure(
        "hub-text.rate_1024",
        "… of 1 KB, updates/s",
        more=True,
        goals=(AtLeast(15_000, "updates/s"),),
    ),
    Figure("hub-text.hub_us_1024", "… hub's CPU per update, µs", more=False, goals=(AtMost(50, "µs"),)),
    *(
        figure
        for number, limit in zip(PACED_SESSIONS, (250, 80), strict=True)
        for figure in _at_pace(number, limit)
    ),
    Figure("hub-pace.sync_us", "… floor: forcing 8 KB to the disk at that pace, CPU µs", more=False),
    Figure("hub-pace.commit_us", "… floor: a commit of one row by SQLite, CPU µs", more=False),
    Figure("hub-pace.pass_us", "… floor: 200 bytes passed on by asyncio, CPU µs", more=False),
    Figure(
        "hub-turn.ms_1",
        "a turn with one update, alone in the hub, hub's CPU, ms",
        more=False,
        goals=(AtMost(1.5, "ms"),),
    ),
    Figure("hub-turn.kb", "… that it writes, to disk and sockets, KB", more=False),
    Figure(
        f"hub-turn.ms_{PACED_SESSIONS[-1]}",
        f"… with {PACED_SESSIONS[-1]} sessions that have their turns at the same time, ms",
        more=False,
        goals=(AtMost(1.5, "ms"),),
    ),
    Figure(
        "hub-question.p50",
        f"a question of an agent to its client, beside {PACED_SESSIONS[-1]} sessions at that pace, p50 ms",
        more=False,
    ),
    Figure("hub-question.p99", "… p99 ms", more=False),
    Figure(
        "hub-first-word.first_ms",
        "first word of the first turn in a plain folder of 20,000 files, ms more",
        more=False,
        goals=(AtMost(80, "ms"),),
    ),
    Figure(
        "hub-first-word.more_ms",
        "… from the second turn on, ms more",
        more=False,
        goals=(AtMost(50, "ms"),),
    ),
    Figure(
        "hub-first-word.git_ms",
        "… in a work tree of git of 20,000 files, ms more",
        more=False,
        goals=(AtMost(50, "ms"),),
    ),
    Figure("hub-delay.full_p50", "delay that the hub adds, p50 ms", more=False, goals=(AtMost(2, "ms"),)),
    Figure("hub-delay.full_p99", "… p99 ms", more=False, goals=(AtMost(8, "ms"),)),
    Figure("hub-delay.off_p50", "… without fsync, p50 ms", more=False),
    Figure("hub-delay.off_p99", "… without fsync, p99 ms", more=False, goals=(AtMost(1, "ms"),)),
    Figure(
        "hub-fairness.ratio",
        "a prompt beside an agent that asks for 600 files of 2 MB and does not read, × alone",
        more=False,
        goals=(AtMost(2, "×"),),
    ),
    Figure("hub-fairness.hub_mb", "… hub's highest memory, MB", more=False, goals=(AtMost(100, "MB"),)),
    Figure("hub-fairness.keeper_mb", "… of an agent's keeper, MB", more=False),
    Figure(
        "hub-memory.session_kb", "hub's memory per idle session, KB", more=False, goals=(AtMost(40, "KB"),)
    ),
    Figure(
        "hub-memory.alone_kb",
        "… of that, the session without the journal's caches and the client's share, KB",
        more=False,
        goals=(AtMost(3, "KB"),),
    ),
    Figure("hub-memory.connection_kb", "… per idle connection, KB", more=False, goals=(AtMost(25, "KB"),)),
    *(figure for folders in FOLDERS for figure in _of_many(folders)),
    Figure(
        "hub-search.first_s",
        "first search over a million frames, indexed while the hub was idle, s",
        more=False,
        goals=(AtMost(0.2, "s"),),
    ),
    Figure("hub-search.index_us", "… indexing a frame, CPU µs", more=False),
    Figure("hub-restart.listens", "from kill -9 of the hub to its listening, s", more=False),
    Figure("hub-restart.loaded", "… to a loaded session, s", more=False, goals=(AtMost(2, "s"),)),
    Figure("hub-restart.listed", "… to all sessions listed, s", more=False, goals=(AtMost(2, "s"),)),
]
