"""Runs both agents through all scenes, once for a whole run of tests.

Workers of one run share the recording: whoever comes first records, the others wait for the lock and read.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import msgspec

from dragoman.testing.models import scripted_model
from tests.requirements.cast import ROLES, script
from tests.requirements.heard import Recording, Scene
from tests.requirements.stage import SCENES, Stage
from tests.requirements.talk import Talk


def recorded(agent: str, folder: Path) -> Recording:
    """The recording of an agent, made in this folder if it is not there yet."""
    folder.mkdir(exist_ok=True)
    kept = folder / f"{agent}.json"
    with _locked(folder / f"{agent}.lock"):
        if not kept.exists():
            kept.write_bytes(msgspec.json.encode(asyncio.run(_record(agent, folder / agent))))
        return msgspec.json.decode(kept.read_bytes(), type=Recording)


async def _record(agent: str, folder: Path) -> Recording:
    folder.mkdir()
    scenes: dict[str, Scene] = {}
    async with scripted_model(script(), strict=False) as model, AsyncExitStack() as stack:
        stage = Stage(ROLES[agent], folder, model, scenes, stack)
        for play in SCENES:
            await play(stage)
        await asyncio.gather(*map(Talk.close, stage.running.values()))
    return Recording(agent, scenes)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        if os.name != "nt":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)  # freed when the file is closed
        yield
