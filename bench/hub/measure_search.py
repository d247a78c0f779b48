"""The first search over a long history, whose words a hub has indexed while nobody wrote.

Arguments: how many frames, each number in a journal of its own. They are written through the journal and
indexed in the steps that a hub takes while it is idle, without the pauses between them. Then the journal is
opened again, and searched once for a word that is everywhere and once for a word that is in one session.
Printed as JSON, by number of frames: seconds of the searches, what indexing a frame costs, and the longest
step, for which a writer would have to wait.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

from dragoman_local.journal import Entry, open_journal
from dragoman_local.journal.idle_index import STEP_ENTRIES
from hub.measure_restart import entries
from texts import prose

UPDATES = 1_000
"""In each session, so that the longest history is of a thousand sessions."""

PASSAGE = 10
"""Updates after which the agent thinks, or speaks again: a million frames are a hundred thousand passages."""

COMMON, RARE = "function", "zebra"


def session_entries(number: int, updates: int) -> list[Entry]:
    """A session that says real text; the first one also says the rare word."""
    texts = prose(updates, 20)
    if number == 0:
        texts[-1] = RARE
    name = f"session-{number}"
    base = entries(name, "/project", 1)
    chunk = json.loads(base[2].frame)
    updates_said = []
    for at, text in enumerate(texts):
        is_thought = at // PASSAGE % 2
        chunk["params"]["update"]["sessionUpdate"] = f"agent_{'thought' if is_thought else 'message'}_chunk"
        chunk["params"]["update"]["content"]["text"] = text + " "
        updates_said.append(Entry("to_client", json.dumps(chunk, ensure_ascii=False).encode(), base[2].time))
    return [*base[:2], *updates_said, *base[3:]]


async def measure(frames: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "hub.db")
        async with open_journal(path, durability="off") as journal:
            updates = min(UPDATES, frames)
            for number in range(frames // updates):
                await journal.append(f"session-{number}", session_entries(number, updates))
            used, longest, has_more = time.process_time(), 0.0, True
            while has_more:
                began = time.perf_counter()
                has_more = await journal.index_words(most=STEP_ENTRIES)
                longest = max(longest, time.perf_counter() - began)
            index_cpu = time.process_time() - used
        async with open_journal(path, durability="off") as journal:
            began = time.perf_counter()
            common = await journal.search(COMMON, limit=20)
            common_seconds = time.perf_counter() - began
            began = time.perf_counter()
            rare = await journal.search(RARE, limit=20)
            rare_seconds = time.perf_counter() - began
    if len(common) != 20 or [hit.stream for hit in rare] != ["session-0"]:
        raise SystemExit(f"the search found {len(common)} and {len(rare)} passages")
    return {
        "common_s": common_seconds,
        "rare_s": rare_seconds,
        "index_us": index_cpu / frames * 1e6,
        "step_ms": longest * 1e3,
    }


async def main(*numbers: int) -> None:
    print(json.dumps({number: await measure(number) for number in numbers}))


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))
