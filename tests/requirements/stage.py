"""Where scenes are played, and their order."""

from __future__ import annotations

import json
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.testing import RawPeer
from dragoman.testing.models import ScriptedModel
from tests.requirements import scenes_cancel, scenes_frames, scenes_sessions, scenes_turns
from tests.requirements.cast import APP, Role, environment
from tests.requirements.editor import Editor
from tests.requirements.heard import Scene
from tests.requirements.talk import Talk


@dataclass
class Stage:
    """One agent, and what its scenes share: the sessions of each are there for the next."""

    role: Role
    folder: Path
    model: ScriptedModel
    scenes: dict[str, Scene]
    stack: AsyncExitStack
    running: dict[str, Talk] = field(default_factory=dict)
    """Shared processes, by what the client said that it can do."""
    props: dict[str, Any] = field(default_factory=dict)
    """What one scene leaves for the next."""

    @asynccontextmanager
    async def connection(
        self, name: str, *, ends: bool = True, has_model: bool = True
    ) -> AsyncIterator[Talk]:
        """A process that nothing was said to. Unless it `ends` it is killed: a coder that still imports its
        model layer takes seconds to end by itself.
        """
        talk = await self._start(name, None if has_model else self.role.start_unset(self.folder))
        yield talk
        if not ends:
            talk.peer.send_signal(signal.SIGKILL)
        elif talk.peer.returncode is None:
            talk.scene.facts["exit"] = await talk.close()

    async def scene(self, name: str, capabilities: Any, *, holding: str = "") -> Talk:
        """A connection to which a client with these capabilities has introduced itself: starting takes long,
        so that scenes share it.
        """
        key = json.dumps(capabilities)
        if key not in self.running:
            self.running[key] = await self._start(name)
            await self.running[key].open(capabilities)
        else:
            self.running[key].scene = Scene(lines=[], spans={}, facts={})
        talk = self.running[key]
        talk.editor = Editor(holding=holding)
        self.scenes[name] = talk.scene
        return talk

    async def end(self, capabilities: Any) -> Talk:
        """Close the input of a shared process, and see how it ends."""
        talk = self.running.pop(json.dumps(capabilities))
        talk.scene.facts["exit"] = await talk.close()
        return talk

    async def _start(self, name: str, command: list[str] | None = None) -> Talk:
        """A new process, whose own working folder is nobody's."""
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir(exist_ok=True)
        command = command or self.role.start(self.folder, self.model)
        peer = RawPeer(command, env=environment(self.folder), cwd=elsewhere)
        talk = Talk(await self.stack.enter_async_context(peer), Editor())
        self.scenes[name] = talk.scene
        return talk

    def project(self, name: str) -> Path:
        """A folder with something to work on, as new."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        (folder / "app.py").write_text(APP)
        return folder


Play = Callable[[Stage], Awaitable[None]]

SCENES: list[Play] = [
    *scenes_frames.SCENES,
    *scenes_turns.SCENES,
    *scenes_cancel.SCENES,
    *scenes_sessions.SCENES,
]
