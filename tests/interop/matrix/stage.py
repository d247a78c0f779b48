"""The stage of a trial: a home, a work folder, an environment, our client, and every frame that passes.

The client is the project's own: its SDK, its lent workspace with files and terminals, and a person who
allows or refuses everything, as the effect wants it.
"""

from __future__ import annotations

import json
import os
import secrets
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from unittest.mock import patch

from dragoman import AgentHandle, Client, Session, connect
from dragoman.runtime.limits import Limits
from dragoman.schema.v1 import (
    CancelledPermissionOutcome,
    EnvVariable,
    McpServer,
    McpServerStdio,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SelectedPermissionOutcome,
)
from dragoman.sdk.environment import agent_environment
from dragoman.testing.models import ScriptedModel
from dragoman_local.known import AgentSource
from dragoman_local.known.lookup import well_known_for
from dragoman_local.sandbox.boundary import Profile, read_profile
from dragoman_local.sandbox.wall import agent_launcher
from dragoman_local.workspace.settings import TerminalSettings
from dragoman_local.workspace.workspace import Workspace
from tests.interop.matrix.catalogue import CatalogueRow
from tests.interop.matrix.processes import MARK_VARIABLE

FRAMES = 4000
"""Frames that are kept for evidence and for `--keep`."""

KEY = "sk-scripted-0000000000000000"


class MatrixStage:
    """One program's folders and its environment, with the model that it is led to."""

    def __init__(
        self,
        row: CatalogueRow,
        *,
        programs: Path,
        folder: Path,
        model: ScriptedModel,
        sandbox: Profile = "off",
    ) -> None:
        """`sandbox` is the sandbox around the program, with the state that is known of it."""
        self.row = row
        self.sandbox: Profile = sandbox
        self.model = model
        self.folder = folder
        self.home = folder / "home"
        self.work = folder / "project"
        self.token = secrets.token_hex(8)
        self.permits = True
        """Whether the person says yes."""
        self.questions = 0
        self.frames: deque[tuple[str, bytes]] = deque(maxlen=FRAMES)
        self.stderr: deque[bytes] = deque(maxlen=50)
        self.shows_subagents = False
        """Whether our client says that it shows agents that the agent starts."""
        self.programs = programs
        for place in (self.home, self.work):
            place.mkdir(parents=True)
        for name, text in row.files.items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.fill(text))

    def fill(self, text: str, **more: str) -> str:
        """A text of the catalogue with this stage's places."""
        places = {"url": self.model.url, "key": KEY, "home": str(self.home), "work": str(self.work)}
        places |= {"programs": str(self.programs), "here": str(Path(__file__).parent)}
        return self.row.fill(text, **places, **more)

    @property
    def command(self) -> list[str]:
        program, *rest = [self.fill(word) for word in self.row.command]
        return [*self._launcher(str(self.programs / program)), str(self.programs / program), *rest]

    def _launcher(self, program: str) -> tuple[str, ...]:
        entry = well_known_for(self.row.name, self.row.command, AgentSource.CONFIG)
        state = self.row.state if entry is None else entry.state
        profile = self.sandbox
        if read_profile(profile).network is not None:  # the model is on this machine
            model = f"+net:localhost:{self.model.url.rpartition(':')[2]}"
            profile = (
                profile.replace("+net:", f"{model},")
                if "+net:" in profile
                else profile.replace("+net", model)
            )
        with patch.dict(os.environ, self.env):  # the person whose home it is
            return agent_launcher(profile, program, [str(self.work)], state=state, environ=self.env)

    @property
    def mcp_servers(self) -> list[McpServer]:
        """The server that gives an agent its tools, if its row names one."""
        if not self.row.mcp:
            return []
        program, *words = [self.fill(word) for word in self.row.mcp]
        env = [EnvVariable(name=name, value=value) for name, value in self.env.items()]
        return [McpServerStdio(name="tools", command=str(self.programs / program), args=words, env=env)]

    @property
    def env(self) -> dict[str, str]:
        """What the program gets: little of ours, its home, the way to the model, the mark of this trial."""
        ours = agent_environment()
        explicit = {name: self.fill(value) for name, value in self.row.env.items()}
        folders = {
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local" / "share"),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_STATE_HOME": str(self.home / ".local" / "state"),
        }
        path = f"{self.programs}:{ours.get('PATH', '')}"
        return {**ours, **folders, "PATH": path, MARK_VARIABLE: self.token, "NO_BROWSER": "1", **explicit}

    @asynccontextmanager
    async def connection(
        self,
        *,
        target: str = "",
        headers: Mapping[str, str] | None = None,
        dialect: str = "auto",
        seconds: float,
    ) -> AsyncIterator[StageConnection]:
        """The agent, started, or the server at `target`, initialized and logged in."""
        client = Client("dragoman-interop", version="1", subagents=self.shows_subagents)
        client.request_permission(self._decide)
        limits = Limits(spawn_seconds=seconds, handshake_seconds=seconds)
        terminals = TerminalSettings(shell_lines=self.row.shell_lines)
        async with Workspace(terminals=terminals) as workspace:
            workspace.serve(client)
            async with connect(
                target or self.command,
                client=client,
                limits=limits,
                cwd=None if target else self.work,
                env=self.env,
                headers=headers,
                dialect=dialect,
                tap=self._tap,
                on_stderr=self.stderr.append,
            ) as agent:
                if self.row.auth and not target:
                    await agent.authenticate(self.row.auth)
                yield StageConnection(self, agent, workspace)

    def last_frame(self) -> str:
        """The last frame of the agent that is about more than the list of commands."""
        for direction, frame in reversed(self.frames):
            if direction == "to_client" and b"available_commands_update" not in frame:
                return frame.decode(errors="replace").strip()
        return ""

    def complaint(self) -> str:
        """The end of what the program wrote to its standard error."""
        return b"".join(self.stderr).decode(errors="replace").strip()[-200:]

    def write_frames(self) -> None:
        """All frames that are kept, one a line, with their direction; and what the model was asked."""
        asked = "".join(f"{request!r}\n" for request in self.model.requests)
        (self.folder / "requests.txt").write_text(asked, encoding="utf-8")
        with (self.folder / "frames.ndjson").open("w", encoding="utf-8") as file:
            for direction, frame in self.frames:
                line = {"to": direction.removeprefix("to_"), "raw": frame.decode(errors="replace").strip()}
                file.write(json.dumps(line) + "\n")

    def _tap(self, direction: str, block: bytes) -> None:
        self.frames.extend((direction, line) for line in block.splitlines() if line.strip())

    async def _decide(self, request: RequestPermissionRequest) -> RequestPermissionResponse:
        self.questions += 1
        kinds = ("allow_once", "allow_always") if self.permits else ("reject_once", "reject_always")
        for kind in kinds:
            for option in request.options:
                if option.kind == kind:
                    chosen = SelectedPermissionOutcome(option_id=option.option_id)
                    return RequestPermissionResponse(outcome=chosen)
        return RequestPermissionResponse(outcome=CancelledPermissionOutcome())


class StageConnection:
    """A connection with a program, and the workspace that it is lent."""

    def __init__(self, stage: MatrixStage, agent: AgentHandle, workspace: Workspace) -> None:
        self.stage = stage
        self.agent = agent
        self._workspace = workspace

    async def new_session(self) -> Session:
        """A session in the work folder, in the mode in which the agent asks before it acts."""
        cwd = str(self.stage.work)
        with self._workspace.opening(cwd=cwd) as opening:
            session = await self.agent.new_session(cwd=cwd, mcp_servers=self.stage.mcp_servers)
            opening.settle(session.id)
        if self.stage.row.mode:
            await session.set_mode(self.stage.row.mode)
        for name, value in self.stage.row.options.items():
            await session.set_config_option(name, value)
        return session

    async def load_session(self, session_id: str, *, replays: bool = True) -> Session:
        """The stored session of this id, with or without what was said in it."""
        cwd = str(self.stage.work)
        self._workspace.open(session_id, cwd=cwd)
        bring_back = self.agent.load_session if replays else self.agent.resume_session
        return await bring_back(session_id, cwd=cwd, mcp_servers=self.stage.mcp_servers)
