"""The environment of scenes: working folders, connections to the agent, and the facts learnt about it.

Each connection is a process of its own and a recording of its own. A scene that the agent breaks off by
dying or by saying nothing leaves its recording, with a fact that says what was being tried.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from uuid import UUID

from msgspec import Struct

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.agent.connection import PATIENCE, AgentGone, Hung, Silence
from dragoman_check.agent.driver import AgentDriver
from dragoman_check.agent.editor import Editor
from dragoman_check.agent.prompts import ExaminationPrompts, PromptCatalogue, packaged_prompts
from dragoman_check.recording import Recording

APP = "import os\n\n\ndef greet(name):\n    return 'Hello ' + name\n"
"""A file to work on. Its first line is superfluous, so that there is something to fix."""

PLAYED: ContextVar[str] = ContextVar("played", default="")
"""The name of the scene in progress; a scene may make recordings with several names."""

DEATHS = 12
"""The connections that one list of steps may use up; an agent that crashes more often has shown enough."""


class ExaminationSettings(Struct, frozen=True, kw_only=True):
    """The options of an examination."""

    command: Sequence[str]
    cwd: str
    """The start folder of the agent's process. Sessions use our own folders."""
    patience: float = PATIENCE
    seed: int = 0
    jobs: int = 2
    catalogue: PromptCatalogue | None = None
    protocol: int = 0
    """The version to request; 0: the first, and the second for agents with only that."""
    login: str = ""
    """A login method for every connection."""
    clock: Callable[[], float] = time.time
    """Returns the times of frames; rules about time are skipped if all are whole seconds."""


_SECOND: dict[tuple[str, ...], tuple[str, ...]] = {
    **{("sessionCapabilities", name): ("session",) for name in ("list", "close", "resume")},
    **{
        ("sessionCapabilities", name): ("session", name)
        for name in ("delete", "additionalDirectories", "fork")
    },
    **{
        ("promptCapabilities", name): ("session", "prompt", name)
        for name in ("image", "audio", "embeddedContext")
    },
}
"""Where the second version has the capabilities of the first."""


class AgentProfile(Struct, kw_only=True):
    """The agent's answer to its first `initialize`."""

    info: JsonObject = {}
    can: JsonObject = {}
    login_methods: list[Json] = []
    version: Json = 1
    setup: JsonObject = {}
    """Its answer to the first session/new."""
    blocked_by: str = ""
    """The request that it refuses without a login; empty if there is none."""

    @property
    def name(self) -> str:
        return str(self.info.get("name", ""))

    def has(self, *path: str) -> bool:
        """Whether it advertised a capability, by its name in version 1: an object or true."""
        tree: Json = self.can
        for name in path if self.version == 1 else _SECOND.get(path, ("no", "such")):
            tree = tree.get(name) if isinstance(tree, dict) else None
        return tree is True or isinstance(tree, dict)


class Stage:
    """One agent under test."""

    def __init__(self, settings: ExaminationSettings) -> None:
        self.settings = settings
        self.profile = AgentProfile()
        self.recordings: list[Recording] = []
        self.folder = Path(tempfile.mkdtemp(prefix="dragoman-check-")).resolve()
        chance = random.Random(settings.seed)  # ids that nobody knows, not secrets
        self.unknown_session = str(UUID(int=chance.getrandbits(128), version=4))
        self._catalogue = settings.catalogue or packaged_prompts()
        self._folders = 0

    @property
    def prompts(self) -> ExaminationPrompts:
        return self._catalogue.of(self.profile.name)

    def say(self, trigger: str, folder: Path) -> str:
        """Return the prompt that makes the agent do a thing in a folder; empty if none is known, though there
        is always some prompt.
        """
        text = self.prompts.text(
            trigger,
            file=folder / "app.py",
            new=folder / "new.txt",
            outside=self.folder / "outside.txt",
            folder=folder,
        )
        return text or ("hello" if trigger in ("hello", "slow") else "")

    def project(self, name: str) -> Path:
        """Return a folder with something to work on, which no other scene uses."""
        self._folders += 1
        folder = self.folder / f"{self._folders}-{name}"
        folder.mkdir()
        (folder / "app.py").write_text(APP)
        (self.folder / "outside.txt").write_text("Nobody asked for this.\n")
        return folder

    @asynccontextmanager
    async def talk(self, scene: str, *, folder: Path | None = None) -> AsyncIterator[AgentDriver]:
        """Start a new process without any message; its recording is always kept."""
        talk = AgentDriver(
            self.settings.command,
            Editor(folder or self.folder),
            cwd=self.settings.cwd,
            patience=self.settings.patience,
            clock=self.settings.clock,
        )
        talk.version = 2 if self.profile.version == 2 else 1
        talk.facts["scene"] = scene
        if scene_name := PLAYED.get():
            talk.facts["played"] = scene_name
        self.recordings.append(talk.recording)
        async with talk:
            try:
                yield talk
            except AgentGone:
                talk.facts.setdefault("died", scene)
                raise
            except Silence as error:
                talk.facts.setdefault("silent", str(error))
                raise
            except asyncio.CancelledError:
                talk.facts["interrupted"] = True
                raise
            except Exception as error:
                talk.facts["stumbled"] = type(error).__name__
                raise

    @asynccontextmanager
    async def open_talk(
        self, scene: str, capabilities: object = None, *, folder: Path | None = None
    ) -> AsyncIterator[AgentDriver]:
        """Do the same with `initialize` and a login."""
        async with self.talk(scene, folder=folder) as talk:
            await talk.open(capabilities)
            if self.settings.login:
                await talk.login(self.settings.login)
            yield talk

    async def survive(
        self, scene: str, steps: Iterable[SceneStep], *, begin: Callable[[AgentDriver], Awaitable[None]]
    ) -> None:
        """Play steps on one connection. A step that ends the agent, or silences it, ends only itself: the
        others are played on another connection.
        """
        remaining = list(steps)
        for _ in range(DEATHS):
            if not remaining:
                return
            try:
                async with self.talk(scene) as talk:
                    await begin(talk)
                    await self._play(talk, remaining)
            except (Silence, AgentGone):
                pass  # its recording tells; the next connection goes on

    async def _play(self, talk: AgentDriver, remaining: list[SceneStep]) -> None:
        while remaining:
            step = remaining.pop(0)
            try:
                await step.play(talk)
            except AgentGone:
                talk.facts["died"] = step.name
                raise
            except Hung:
                talk.facts["hung"] = step.name
                talk.child.tree.kill()  # it would not end by itself
                raise
            except Silence:
                talk.facts.setdefault("unanswered", []).append(step.name)
                await self._wake(talk, step)

    async def _wake(self, talk: AgentDriver, step: SceneStep) -> None:
        """Whether it is only this that it does not answer."""
        try:
            await talk.quiet()
        except Hung:
            talk.facts["hung"] = step.name
            talk.child.tree.kill()
            raise

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


class SceneStep(Struct, frozen=True):
    """One step of a scene."""

    name: str
    play: Callable[[AgentDriver], Awaitable[None]]
