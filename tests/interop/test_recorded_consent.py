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
from dragoman_local.workspace.policy.audit import AuditLog
from dragoman_local.workspace.policy.judge import PermissionPrompt
from dragoman_local.workspace.policy.permission_service import PermissionService
from dragoman_local.workspace.policy.policy import Policy
from dragoman_local.workspace.policy.tool_calls import ToolCalls
from tests.interop.recordings import ELSEWHERE
from tests.workspace.policy.decision_lines import RULES
from tests.workspace.policy.makers import policy

RECORDINGS = sorted(ELSEWHERE.glob("agents-v1/*.ndjson"))

UNASKED = {"crow": 3}
"""What an agent does through its client without asking for permission before: crow writes three files."""

QUESTIONS = {
    "without rules": {
        "claude": 4,
        "claude-elicit": 2,
        "claude-zed": 7,
        "codex": 7,
        "codex-elicit": 3,
        "codex-zed": 7,
        "crow": 3,
        "gemini": 3,
        "gemini-nofs": 5,
        "opencode": 7,
        "qwen-ask": 5,
    },
    "everyday": {
        "claude": 4,
        "claude-elicit": 2,
        "claude-zed": 4,
        "codex": 4,
        "codex-elicit": 2,
        "codex-zed": 3,
        "crow": 3,
        "gemini": 3,
        "gemini-nofs": 5,
        "opencode": 4,
        "qwen-ask": 4,
    },
}
"""What a person is asked in each recording: the price of deciding strictly, told in docs/policy.md."""


class RecordedPerson:
    """Answers requests as the recorded client did, and says yes to everything that is lent."""

    def __init__(self) -> None:
        self.answer: str | None = None
        self.lent_questions: list[str] = []
        self.questions = 0

    async def ask(self, prompt: PermissionPrompt) -> str | None:
        self.questions += 1
        if prompt.act.method == "permission":
            return self.answer
        self.lent_questions.append(prompt.text)
        return "allow"


@pytest.mark.skipif(not RECORDINGS, reason="needs recordings of other people's programs in ../shared/wire")
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
async def test_no_recorded_agent_asks_twice_for_one_act(path: Path, tmp_path: Path) -> None:
    person = await play(path, tmp_path, Policy())
    assert len(person.lent_questions) == UNASKED.get(path.stem, 0), "\n\n".join(person.lent_questions)
    assert person.questions == QUESTIONS["without rules"][path.stem]


@pytest.mark.skipif(not RECORDINGS, reason="needs recordings of other people's programs in ../shared/wire")
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
async def test_rules_for_everyday_work_spare_recorded_agents_questions(path: Path, tmp_path: Path) -> None:
    person = await play(path, tmp_path, policy(RULES["everyday"]))
    assert person.questions == QUESTIONS["everyday"][path.stem]


async def play(path: Path, tmp_path: Path, rules: Policy, *, audit: AuditLog | None = None) -> RecordedPerson:
    """A recording, with the effects of everything that is lent."""
    lines = [json.loads(line) for line in recorded_lines(path, tmp_path)]
    frames = [(line["dir"], line["msg"]) for line in lines if isinstance(line.get("msg"), dict)]
    person, calls = RecordedPerson(), ToolCalls()
    desk = PermissionService(
        lambda: rules, asker=person.ask, audit=audit, roots=[str(tmp_path)], find_tool_call=calls.find_call
    )
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
    return person


def recorded_lines(path: Path, folder: Path) -> list[str]:
    """A recording as if it had been made in this folder."""
    return path.read_text().replace(f"/srv/work/{path.stem}", str(folder)).splitlines()


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
