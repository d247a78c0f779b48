"""Judges a storm: what the journal, the clients and the agents have written down must fit together.

`check` is pure and gives all findings; each of its parts looks at one promise:

- `checker_streams`: the journal alone. Every turn's updates stand there once, in order, inside their turn;
  every prompt is given to an agent once at most and ends once; every approval is settled once.
- `checker_clients`: what each client was told is what is stored, once and in order, without a gap.
- `checker_agents`: what the processes truly did. No prompt is run twice, no session is worked on by two
  processes at a time, none goes on behind the end of its turn; outcomes are honest.
- `checker_service`: after every blow, each session is served again in time.

`gathered` reads the journal. Nothing here knows how hubs or servers were run.
"""

from __future__ import annotations

from pathlib import Path

from dragoman_local.journal import Journal, StoredEntry
from tests.cluster.checker_agents import check_agents
from tests.cluster.checker_clients import check_clients
from tests.cluster.checker_service import check_service
from tests.cluster.checker_streams import check_streams
from tests.cluster.digest import digest
from tests.cluster.findings import Finding
from tests.cluster.records import AgentLine, Storm, read_agent


def check(storm: Storm) -> list[Finding]:
    """All faults, by kind and session."""
    digests = {session: digest(session, entries) for session, entries in storm.sessions.items()}
    found = [
        *check_streams(storm, digests),
        *check_clients(storm, digests),
        *check_agents(storm, digests),
        *check_service(storm, digests),
    ]
    return sorted(found)


async def gathered(journal: Journal, sessions: list[str]) -> dict[str, list[StoredEntry]]:
    """The whole streams of these sessions."""
    streams: dict[str, list[StoredEntry]] = {}
    for session in sessions:
        streams[session] = [one async for page in journal.replay(session) for one in page]
    return streams


def read_agents(folder: Path) -> dict[str, list[AgentLine]]:
    """A list for each process that has written a file there."""
    return {path.name: read_agent(path) for path in sorted(folder.iterdir())}
