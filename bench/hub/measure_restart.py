"""From `kill -9` of a hub to its service: a journal of many sessions, all of them listed, one of them loaded.

Arguments: how many sessions, and how many updates in each. They are written through the journal, as a hub
writes them. Printed as JSON: seconds from the kill until the hub listens, until a session is loaded, and
until all are listed.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from dragoman_hub.session.notes import note
from dragoman_local.journal import Entry, open_journal
from hub.bare import BareClient
from hub.place import HubProcess, running_hub

TOGETHER = 500


def entries(session: str, folder: str, updates: int) -> list[Entry]:
    """What is in the stream of a session that was prompted once."""
    now = time.time()
    prompt = [{"type": "text", "text": f"question {session}"}]
    asked = {"sessionId": session, "prompt": prompt, "_meta": {"dragoman": {"key": "k", "by": "owner"}}}
    made = note("made", agent="bench", cwd=folder, folders=[], session=session, result={}, n=1)
    ended = note("turn_ended", key="k", by="owner", result={"stopReason": "end_turn"})
    said = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "a piece of it"}}
    update = _frame(method="session/update", params={"sessionId": session, "update": said})
    return [
        Entry("note", made, now),
        Entry("to_agent", _frame(id=1, method="session/prompt", params=asked), now),
        *(Entry("to_client", update, now) for _ in range(updates)),
        Entry("to_client", _frame(id=1, result={"stopReason": "end_turn"}), now),
        Entry("note", ended, now),
    ]


def _frame(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}, separators=(",", ":")).encode()


async def fill(path: Path, folder: str, sessions: int, updates: int) -> None:
    async with open_journal(path, durability="off") as journal:

        async def write(session: str) -> None:
            await journal.append(session, entries(session, folder, updates))
            await journal.describe(session, agent="bench", cwd=folder, title=session, state="idle")

        for first in range(0, sessions, TOGETHER):
            await asyncio.gather(
                *(write(f"session-{n}") for n in range(first, min(first + TOGETHER, sessions)))
            )


async def listed(client: BareClient) -> int:
    found = 0
    params: dict[str, str] = {}
    while True:
        page, _ = await client.call("session/list", params)
        found += len(page["sessions"])
        if not page.get("nextCursor"):
            return found
        params = {"cursor": page["nextCursor"]}


async def again(hub: HubProcess, folder: str, sessions: int, updates: int) -> dict[str, float]:
    begun = time.perf_counter()
    hub.end(signal.SIGKILL)
    await hub.start()
    result = {"listens": time.perf_counter() - begun}
    async with BareClient(hub.url, hub.headers, cwd=folder) as client:
        came = await client.load(f"session-{sessions // 2}")
        if came != updates + 1:  # and the prompt
            raise RuntimeError(f"{came} updates came instead of {updates + 1}")
        result["loaded"] = time.perf_counter() - begun
        count = await listed(client)
        if count != sessions:
            raise RuntimeError(f"{count} sessions of {sessions} are listed")
        result["listed"] = time.perf_counter() - begun
    return result


async def main(sessions: int, updates: int) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        folder = Path(place, "project")
        folder.mkdir()
        await fill(Path(place, "hub.db"), str(folder), sessions, updates)
        async with running_hub(Path(place)) as hub:
            async with BareClient(hub.url, hub.headers, cwd=str(folder)) as client:
                await client.load("session-0")
            print(json.dumps(await again(hub, str(folder), sessions, updates)))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
