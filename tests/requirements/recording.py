"""Runs both agents through all scenes, once for a whole run of tests.

Workers of one run share the recordings: whoever comes first records, the next one records the other agent,
and the rest wait for the lock and read.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import msgspec

from dragoman.testing.models import scripted_model
from tests import forks
from tests.requirements.cast import ROLES, script
from tests.requirements.heard import Recording, Scene
from tests.requirements.stage import SCENES, Stage
from tests.requirements.talk import Talk


def recorded(agent: str, folder: Path) -> Recording:
    """The recording of an agent, made in this folder if it is not there yet."""
    forks.wait_for_servers()
    folder.mkdir(exist_ok=True)
    if not _made(agent, folder, waits=False):  # another worker is at it: make the other one meanwhile
        for other in ROLES:
            _made(other, folder, waits=False)
        _made(agent, folder, waits=True)
    return msgspec.json.decode((folder / f"{agent}.json").read_bytes(), type=Recording)


def _made(agent: str, folder: Path, *, waits: bool) -> bool:
    """Whether the recording is there now; False only if somebody else is making it."""
    kept = folder / f"{agent}.json"
    with _locked(folder / f"{agent}.lock", waits=waits) as is_ours:
        if is_ours and not kept.exists():
            kept.write_bytes(msgspec.json.encode(asyncio.run(_record(agent, folder / agent))))
        return is_ours


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
def _locked(path: Path, *, waits: bool) -> Iterator[bool]:
    """Whether the lock is ours; it is freed when the file is closed."""
    with path.open("w") as file:
        if os.name == "nt":
            yield True
            return
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
