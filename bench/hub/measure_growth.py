"""How one hub grows: with its sessions, with the clients of a session, with the length of a history.

Arguments: what grows (`sessions`, `clients` or `history`), and how many. The hub is `dragoman hub`, as it is
shipped, with a durable journal; agent and clients share no code with it. Printed as JSON: the hub's processor
microseconds for each update that reached a client, and how many KB its resident set grew at its highest.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from dragoman_local.journal import open_journal
from hub import measure_many
from hub.measure_many import open_clients
from hub.measure_restart import entries
from hub.place import running_hub

UPDATES_IN_ALL = 50_000
UPDATES_OF_SESSION = 10_000
WARM = 500
TOGETHER = 10_000


async def sessions(number: int) -> dict[str, float]:
    """So many sessions stream at once, all in one folder."""
    total = max(UPDATES_IN_ALL, number)
    result = await measure_many.measure(total, number)
    if not result["whole"]:
        raise SystemExit("a session lost something or its order")
    return {"us": result["cpu"] / total * 1e6, "kb": result["peak_kb"]}


async def clients(number: int) -> dict[str, float]:
    """So many clients follow one session that streams."""
    missing = UPDATES_OF_SESSION * number
    all_heard = asyncio.Event()

    def on_update() -> None:
        nonlocal missing
        missing -= 1
        if not missing:
            all_heard.set()

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        place, project = Path(name), Path(name, "project")
        project.mkdir()
        async with running_hub(place) as hub, open_clients(hub, number, on_update) as followers:
            base = hub.memory_kb()
            session = await followers[0].new_session(str(project))
            await followers[0].count(session, WARM)
            for follower in followers[1:]:
                await follower.load(session, str(project))
            missing = UPDATES_OF_SESSION * number
            for follower in followers:
                follower.seen = 0
            used = hub.cpu()
            await followers[0].count(session, UPDATES_OF_SESSION)
            await all_heard.wait()
            used = hub.cpu() - used
            peak = hub.memory_kb("VmHWM") - base
    return {"us": used / UPDATES_OF_SESSION / number * 1e6, "kb": peak}


async def history(number: int) -> dict[str, float]:
    """One client loads a session of so many updates."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        place, project = Path(name), Path(name, "project")
        project.mkdir()
        await _fill(place / "hub.db", str(project), number)
        async with running_hub(place) as hub, open_clients(hub, 1, lambda: None) as (client,):
            base, used = hub.memory_kb(), hub.cpu()
            await client.load("session-0", str(project))
            used, peak = hub.cpu() - used, hub.memory_kb("VmHWM") - base
            if client.seen != number + 1:  # and the prompt
                raise SystemExit(f"{client.seen} updates came instead of {number + 1}")
    return {"us": used / number * 1e6, "kb": peak}


async def _fill(path: Path, folder: str, updates: int) -> None:
    story = entries("session-0", folder, min(updates, TOGETHER))
    said = story[2:-2]
    async with open_journal(path, durability="off") as journal:
        await journal.append("session-0", story[:2])
        for _ in range(0, updates, len(said)):
            await journal.append("session-0", said)
        await journal.append("session-0", story[-2:])
        await journal.describe("session-0", agent="bench", cwd=folder, title="session-0", state="idle")


MEASURES: dict[str, Any] = {"sessions": sessions, "clients": clients, "history": history}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(MEASURES[sys.argv[1]](int(sys.argv[2])))))
