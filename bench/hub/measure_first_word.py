"""How long the first word of a turn takes in a plain folder of many files, and in one of git, beside an empty
folder.

Arguments: how many files, and how many turns. The journal is durable. Printed as JSON: for the empty folder,
the full one and that of git, by turn, the milliseconds from the prompt to its first update, and what the hub
used of the processor.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from hub.bare import BareClient
from hub.place import HubProcess, running_hub

FILES_OF_FOLDER = 50
REST_SECONDS = 2.0
"""Between two turns, as people pause: the look after a turn is not part of the next one."""


def fill(folder: Path, count: int) -> None:
    folder.mkdir()
    for number in range(count):
        path = folder / f"part{number // FILES_OF_FOLDER}" / f"file{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{number}\n" * 8)


async def first_words(hub: HubProcess, folder: Path, turns: int) -> list[dict[str, Any]]:
    found = []
    async with BareClient(hub.url, hub.headers, cwd=str(folder)) as client:
        session = await client.new_session()
        for _ in range(turns):
            cpu, begun = hub.cpu(), time.perf_counter()
            await client.prompt(session, "a word")
            first = client.first_message_at - begun
            await asyncio.sleep(REST_SECONDS)
            found.append({"ms": first * 1e3, "cpu_ms": (hub.cpu() - cpu) * 1e3})
    return found


def commit(folder: Path) -> None:
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
    for words in (("init", "-q"), ("add", "."), (*identity, "commit", "-q", "-m", "files")):
        subprocess.run(["git", *words], cwd=folder, check=True)


async def main(count: int, turns: int) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        folders = {"empty": 0, "full": count, "git": count}
        for name, files in folders.items():
            fill(Path(place, name), files)
        commit(Path(place, "git"))
        async with running_hub(Path(place)) as hub:
            result = {name: await first_words(hub, Path(place, name), turns) for name in folders}
    print(json.dumps(result))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
