"""The figures of `scenarios/client_paths.py`: ways of our client alone."""

from __future__ import annotations

from harness.goals import AtLeast, AtMost, Figure

CLIENT_FIGURES: list[Figure] = [
    Figure(
        "sse.rate", "event stream to an HTTP client, updates/s", more=True, goals=(AtLeast(200_000, "/s"),)
    ),
    Figure("sse.client_us", "… client's CPU per update, µs", more=False, goals=(AtMost(4, "µs"),)),
    Figure(
        "handler.client_us",
        "async update handler, client's CPU per update, µs",
        more=False,
        goals=(AtMost(2.5, "µs"),),
    ),
    Figure(
        "kept.sizes",
        "text that a turn keeps (100 MB said), peak × its size",
        more=False,
        goals=(AtMost(1.3, "×"),),
    ),
    Figure("say.sizes", "saying 100 MB, agent's peak × its size", more=False, goals=(AtMost(2.2, "×"),)),
    Figure("run.ms", "`dragoman run` with the echo agent, ms", more=False, goals=(AtMost(300, "ms"),)),
    Figure("run.cpu_ms", "… CPU with the agent's, ms", more=False),
    Figure(
        "imports.imports_ms",
        "import of Agent, Client and connect, CPU ms",
        more=False,
        goals=(AtMost(100, "ms"),),
    ),
    Figure("imports.imports_modules", "… modules", more=False, goals=(AtMost(150, "modules"),)),
    Figure("imports.imports_asyncio_ms", "… after asyncio, which most programs import, CPU ms", more=False),
    Figure("imports.imports_asyncio_modules", "… modules", more=False),
    Figure(
        "imports.imports_blocking_ms",
        "import of the same from dragoman.blocking, CPU ms",
        more=False,
        goals=(AtMost(60, "ms"),),
    ),
    Figure("imports.imports_agent_ms", "import of a blocking agent, whole, CPU ms", more=False),
]
