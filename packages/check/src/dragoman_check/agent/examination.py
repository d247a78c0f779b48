"""Tests a live agent: a connection that records every line, a simulated editor, and scenes.

A scene makes an agent show what it does. It names the stretches in which something was tried (marks), writes
down what was seen beside the wire (facts), and judges nothing. Facts of every recording:

| fact | |
|---|---|
| `scene` | its name |
| `exit` | the exit status after the end of its input; null if it lived on, negative if it had to be killed |
| `died`, `hung` | what was being tried when it ended, or stopped to answer |
| `silent`, `unanswered` | why the scene ended early; what was never answered though the scene went on |
| `given up` | the ids of prompts that were not answered in time, and not when they were cancelled either |
| `flood`, `oversized` | how much it had said when it was stopped; the size of a line that was not kept |
| `stumbled` | the scene did not understand what it was told |

An examination: the first meeting, then every scene, several at once; what comes out are recordings.

Whatever an agent does (dies, hangs, floods), it ends a scene and never the examination. What it cannot be
examined without is a handshake.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Collection

from msgspec import Struct, structs

from dragoman.errors import SpawnFailed
from dragoman_check.agent.connection import AgentGone, Silence
from dragoman_check.agent.scenes import SCENES, Scene
from dragoman_check.agent.scenes.handshake import first_meeting
from dragoman_check.agent.stage import PLAYED, AgentProfile, ExaminationSettings, Stage
from dragoman_check.examination_control import run_until_stopped
from dragoman_check.recording import Recording

logger = logging.getLogger(__name__)

Progress = Callable[[str, int, int], None]
"""Called with the name of a scene that begins, the number of earlier ones, and the number of all."""


class Examination(Struct, kw_only=True):
    """The recordings of a test run, and the reason if some are missing."""

    recordings: list[Recording] = []
    profile: AgentProfile
    failure: str = ""
    """The reason why no test was possible; empty if it was."""
    is_interrupted: bool = False
    """Whether it was stopped early. Unfinished scenes are left out: their result is unknown."""
    seconds: float = 0.0


async def examine(
    settings: ExaminationSettings,
    *,
    progress: Progress | None = None,
    scenes: Collection[str] | None = None,
    stop: asyncio.Event | None = None,
) -> Examination:
    """Test an agent, in all scenes or in those with these names, until `stop` is set."""
    began, stage = time.monotonic(), Stage(settings)
    try:
        failure = await run_until_stopped(stop, _play(stage, progress or _ignore_progress, scenes))
    finally:
        stage.close()
    return Examination(
        recordings=[recording for recording in stage.recordings if not recording.facts.get("interrupted")],
        profile=stage.profile,
        failure=failure or "",
        is_interrupted=failure is None,
        seconds=time.monotonic() - began,
    )


async def examine_again(
    settings: ExaminationSettings, scenes: Collection[str], *, stop: asyncio.Event | None = None
) -> list[Recording]:
    """Repeat the same scenes with new processes, one after the other and in another order."""
    second_settings = structs.replace(settings, seed=settings.seed + 1, jobs=1)
    examination = await examine(second_settings, scenes=scenes, stop=stop)
    return examination.recordings


async def _play(stage: Stage, progress: Progress, scenes: Collection[str] | None) -> str:
    """The first meeting and then the scenes; why there could be none, or nothing."""
    failure = await _meet(stage)
    if not failure:
        await _play_all(stage, progress, scenes)
    return failure


async def _meet(stage: Stage) -> str:
    try:
        await first_meeting(stage)
    except SpawnFailed as error:
        return str(error)
    except AgentGone:
        tail = stage.recordings[0].stderr.decode(errors="replace").strip().splitlines()[-3:]
        return "the agent ended before it answered initialize" + "".join(f"\n  {line}" for line in tail)
    except Silence as error:
        return f"no handshake: {error}"
    return ""


async def _play_all(stage: Stage, progress: Progress, names: Collection[str] | None) -> None:
    scenes = [
        scene
        for scene in SCENES
        if (names is None or scene.name in names)
        and not (scene.needs_session and stage.profile.blocked_by)
        and (2 if stage.profile.version == 2 else 1) in scene.versions
    ]
    if stage.settings.seed:
        random.Random(stage.settings.seed).shuffle(scenes)
    number = 0
    room = asyncio.Semaphore(max(1, stage.settings.jobs))

    async def play(scene: Scene) -> None:
        nonlocal number
        async with room:
            number += 1
            progress(scene.name, number, len(scenes))
            PLAYED.set(scene.name)  # each scene is a task, with a context of its own
            try:
                await scene.play(stage)
            except (AgentGone, Silence, SpawnFailed):
                pass  # its recording tells how far it came
            except Exception:
                # An agent may say anything, also what a scene stumbles over: the others are still played.
                logger.exception("the scene %s stumbled", scene.name)

    async with asyncio.TaskGroup() as group:
        for scene in scenes:
            group.create_task(play(scene))


def _ignore_progress(name: str, number: int, count: int) -> None:
    pass
