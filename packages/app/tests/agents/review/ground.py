"""A repository with planted mistakes, and a client that lets the review agent loose on it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from dragoman import AgentHandle, Client, Limits, Session, connect
from dragoman.schema import v1
from dragoman.schema.v1 import (
    AgentMessageChunk,
    Diff,
    Plan,
    ReadTextFileRequest,
    ReadTextFileResponse,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SelectedPermissionOutcome,
    SessionUpdate,
    TextContent,
    ToolCall,
    ToolCallProgress,
    WriteTextFileRequest,
)
from dragoman_app.agents.review.agent import review_agent

APP = '''"""Runs commands."""

import os
import subprocess


def collect(item, seen=[]):
    seen.append(item)
    return seen


def run(command):
    subprocess.run(command, shell=True)
    return command is "x"
'''
APP_FIXED = APP.replace("import os\n", "").replace(' is "x"', ' == "x"')
APP_FINDINGS = {
    ("python/unused-import", "src/app.py", 3),
    ("python/mutable-argument-default", "src/app.py", 7),
    ("python/shell-true", "src/app.py", 13),
    ("python/is-literal", "src/app.py", 14),
}
CLEAN = '"""Adds."""\n\n\ndef add(left: int, right: int) -> int:\n    return left + right\n'
SHELL = "#!/bin/sh\nset -eu\ncurl -fsSL https://example.org/install.sh | sh\n"
SHELL_FINDINGS = {("shell/pipe-to-shell", "tools/get.sh", 3)}


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True, env=clean
    )
    return done.stdout


def make_repository(folder: Path) -> Path:
    """Committed: a file with four mistakes, one with one, one with none."""
    (folder / "src").mkdir(parents=True)
    (folder / "tools").mkdir()
    (folder / "src" / "app.py").write_text(APP)
    (folder / "src" / "clean.py").write_text(CLEAN)
    (folder / "tools" / "get.sh").write_text(SHELL)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Begin")
    return folder


class Editor:
    """A client that keeps what it hears, and lends files if it is told to."""

    def __init__(self, *, lends: bool = False, answers: str = "apply") -> None:
        self.client = Client("editor")
        self.asked: list[RequestPermissionRequest] = []
        self.buffers: dict[str, str] = {}
        self.reads: list[str] = []
        self.writes: dict[str, str] = {}
        self.updates: list[SessionUpdate] = []
        self.answers = answers
        self.before_answer: Callable[[], object] = lambda: None
        self.client.request_permission(self._decide)
        self.client.update(self._hear)
        if lends:
            self.client.read_text_file(self._read)
            self.client.write_text_file(self._write)

    async def _hear(self, note: v1.SessionNotification) -> None:
        self.updates.append(note.update)

    async def _decide(self, request: RequestPermissionRequest) -> RequestPermissionResponse:
        self.asked.append(request)
        self.before_answer()
        return RequestPermissionResponse(outcome=SelectedPermissionOutcome(option_id=self.answers))

    async def _read(self, request: ReadTextFileRequest) -> ReadTextFileResponse:
        self.reads.append(request.path)
        text = self.buffers.get(request.path)
        return ReadTextFileResponse(content=Path(request.path).read_text() if text is None else text)

    async def _write(self, request: WriteTextFileRequest) -> None:
        self.writes[request.path] = self.buffers[request.path] = request.content


class Told:
    """What one turn came to."""

    def __init__(self, updates: list[SessionUpdate], stop: str) -> None:
        self.updates = updates
        self.stop = stop

    @property
    def text(self) -> str:
        return "".join(
            update.content.text
            for update in self.updates
            if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent)
        )

    @property
    def findings(self) -> set[tuple[str, str, int]]:
        """Rule, path and line of every finding that was told."""
        return set(findings_in(self.text))

    @property
    def plans(self) -> list[list[str]]:
        return [
            [entry.status for entry in update.entries] for update in self.updates if isinstance(update, Plan)
        ]

    @property
    def calls(self) -> list[ToolCall]:
        return [update for update in self.updates if isinstance(update, ToolCall)]

    @property
    def ends(self) -> dict[str, str]:
        """The title of each tool call, and how it ended."""
        states: dict[str, str] = {call.tool_call_id: str(call.status) for call in self.calls}
        for update in self.updates:
            if isinstance(update, ToolCallProgress) and isinstance(update.status, str):
                states[update.tool_call_id] = update.status
        return {call.title: states[call.tool_call_id] for call in self.calls}

    @property
    def diffs(self) -> list[Diff]:
        blocks: list[Any] = []
        for update in self.updates:
            if isinstance(update, ToolCallProgress) and isinstance(update.content, list):
                blocks += update.content
        return [block for block in blocks if isinstance(block, Diff)]


_TOLD = re.compile(
    r"^\*\*\d+\. \w+: .*\*\* \((?:\[(?P<linked>.+?)\]\(.*?\)|`(?P<plain>[^`]+)`), `(?P<rule>[^`]+)`\)$",
    re.MULTILINE,
)


def findings_in(text: str) -> list[tuple[str, str, int]]:
    """The findings that a message tells, from its own words."""
    found = []
    for told in _TOLD.finditer(text):
        path, _, line = (told["linked"] or told["plain"]).replace("\\", "").rpartition(":")
        found.append((told["rule"], path, int(line)))
    return found


async def say(session: Session, *blocks: str | v1.ContentBlock) -> Told:
    turn = session.prompt(*blocks)
    updates = [update async for update in turn]
    return Told(updates, turn.result.stop_reason)


@asynccontextmanager
async def reviewing(
    folder: Path, editor: Editor | None = None, *, sessions: Path | None = None
) -> AsyncIterator[tuple[AgentHandle, Session]]:
    """A session of the review agent in a folder, with its journal beside that."""
    agent = review_agent(sessions=sessions or folder.with_name("sessions.db"))
    editor = editor or Editor()
    async with connect(agent, client=editor.client, limits=Limits()) as handle:
        yield handle, await handle.new_session(cwd=str(folder))
