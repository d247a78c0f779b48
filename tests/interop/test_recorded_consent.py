"""Recorded agents ask once for one act: what they write or run after a yes is what they showed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import ErrorAnswer
from dragoman.schema import v1
from dragoman.schema.codec import read
from dragoman_local.workspace.commands import plan_command
from dragoman_local.workspace.lent_files import Access
from dragoman_local.workspace.policy.permission_prompt import PermissionPrompt
from dragoman_local.workspace.policy.permission_service import PermissionService
from dragoman_local.workspace.policy.policy import Policy
from dragoman_local.workspace.policy.tool_calls import ToolCalls
from tests.interop.recordings import ELSEWHERE

RECORDINGS = sorted(ELSEWHERE.glob("agents-v1/*.ndjson"))

UNASKED = {"crow": 3}
"""What an agent does through its client without asking for permission before: crow writes three files."""


class RecordedPerson:
    """Answers requests as the recorded client did, and says yes to everything that is lent."""

    def __init__(self) -> None:
        self.answer: str | None = None
        self.lent_questions: list[str] = []

    async def ask(self, prompt: PermissionPrompt) -> str | None:
        if prompt.act.method == "permission":
            return self.answer
        self.lent_questions.append(prompt.text)
        return "allow"


@pytest.mark.skipif(not RECORDINGS, reason="needs recordings of other people's programs in ../shared/wire")
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
async def test_no_recorded_agent_asks_twice_for_one_act(path: Path, tmp_path: Path) -> None:
    text = path.read_text().replace(f"/srv/work/{path.stem}", str(tmp_path))
    lines = [json.loads(line) for line in text.splitlines()]
    frames = [(line["dir"], line["msg"]) for line in lines if isinstance(line.get("msg"), dict)]
    person, calls = RecordedPerson(), ToolCalls()
    desk = PermissionService(Policy(), asker=person, roots=[str(tmp_path)], find_tool_call=calls.find_call)
    for at, (direction, message) in enumerate(frames):
        method, params = message.get("method"), message.get("params")
        if method == "session/prompt":
            desk.end_turn()
        elif direction != "a2c" or not isinstance(params, dict):
            continue
        elif method == "session/update" and "toolCallId" in params["update"]:
            calls.on_update(read(json.dumps(params).encode(), v1.SessionNotification))
        elif method == "session/request_permission":
            person.answer = chosen(frames[at:], message["id"])
            await desk.permission(read(json.dumps(params).encode(), v1.RequestPermissionRequest))
        elif (access := access_in(method, params, tmp_path)) is not None:
            await use(desk, access)
    assert len(person.lent_questions) == UNASKED.get(path.stem, 0), "\n\n".join(person.lent_questions)


def chosen(frames: list[tuple[str, Any]], request_id: object) -> str | None:
    """The option that the recorded client chose."""
    for direction, message in frames:
        if direction == "c2a" and message.get("id") == request_id and "result" in message:
            option: str | None = message["result"]["outcome"].get("optionId")
            return option
    return None


def access_in(method: object, params: dict[str, Any], folder: Path) -> Access | None:
    if method == "fs/write_text_file":
        where = str(Path(params["path"]).resolve())
        return Access(session_id=params["sessionId"], kind="write", path=where, text=params["content"])
    if method == "terminal/create":
        command = plan_command(
            params["command"],
            params.get("args") or (),
            cwd=str(params.get("cwd") or folder),
            env=os.environ,
            set_by_agent=[(each["name"], each["value"]) for each in params.get("env") or ()],
            shell_lines=True,
        )
        return Access(session_id=params["sessionId"], kind="run", path=command.program, command=command)
    return None


async def use(desk: PermissionService, access: Access) -> None:
    try:
        await desk.guard(access)
    except ErrorAnswer:
        return
    if access.text is not None:
        Path(access.path).write_text(access.text)
