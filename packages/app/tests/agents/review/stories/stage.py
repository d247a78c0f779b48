"""What a story is, the repository that it happens in, and a client that plays it in raw frames.

A story is a change with a cause and a model that says what a script says. The agent is ours, in this process;
git, the copies of the project and the tests in them are real. The project's interpreter runs its tests as
pytest would, in a fraction of the time.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.testing.models import ModelTurn, ScriptedModel, call, scripted_model, turn
from dragoman_app.agents.code.config import CoderConfig
from dragoman_app.agents.review.agent import review_agent
from dragoman_app.agents.review.budget import ReviewBudget
from tests.agents.review.ground import git
from tests.agents.review.model_ground import is_second_look, verdict
from tests.runtime.raw import request, result
from tests.sdk.ends import RawClient, raw_client

Row = tuple[str, str, int]
"""Severity, path and line of a finding, as the client is told."""

INTERPRETER = f"""#!/bin/sh
exec "{sys.executable}" -IS - <<'END'
import glob, runpy, sys
sys.path.insert(0, ".")
for path in sorted(glob.glob("test_*.py")):
    try:
        tests = [value for name, value in runpy.run_path(path).items() if name.startswith("test_")]
    except Exception as error:
        sys.exit(2)
    for test in tests:
        try:
            test()
        except Exception as error:
            print(path, test.__name__, repr(error))
            sys.exit(1)
END
"""
"""Ends as pytest does: 1 if a test has failed, 2 if a file cannot be loaded."""


@dataclass(frozen=True, kw_only=True)
class Story:
    """One change, what the model does about it, and what comes of it."""

    name: str
    before: Mapping[str, str]
    after: Mapping[str, str | None]
    """Files of the change; None for one that it deletes."""
    message: str = "Change"
    script: Sequence[ModelTurn]
    asked: Sequence[str] = ()
    """What stands in the first request."""
    results: Sequence[str] = ()
    """What the model is told by its tools, each in the result of some call."""
    calls: Sequence[str] = ()
    """Titles of tool calls that the client sees, in this order among others."""
    findings: Sequence[Row] = ()
    told: Sequence[str] = ()
    """What the person reads, in this order."""
    silent: Sequence[str] = ()
    """What no frame to the client holds, and nothing that the model is told."""
    answer: str = "allow"
    questions: int = 0
    """How often the person is asked."""
    has_tests: bool = False
    words: str = "review the diff against main"
    limits: Mapping[str, Any] = field(default_factory=dict)


def bug(path: str, line: int, title: str, evidence: str, **more: Any) -> dict[str, Any]:
    """The arguments of a report."""
    words = {"severity": "high", "explanation": f"{title}: it goes wrong for a usual input."}
    return {"path": path, "line": line, "title": title, "evidence": evidence, **words, **more}


def reports(*bugs: Mapping[str, Any], closing: str = "That is all.") -> list[ModelTurn]:
    """The model reports these at once, and ends."""
    return [turn(*(call("report", **each) for each in bugs)), turn(closing)]


STANDS = verdict("Nothing prevents it.", refuted=False)


def refuted(reason: str, about: str = "") -> ModelTurn:
    return verdict(reason, refuted=True, about=about)


def make_template(folder: Path) -> Path:
    """A repository without commits, to be copied: it takes longer to make one."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    shutil.rmtree(folder / ".git" / "hooks", ignore_errors=True)
    return folder


def make_change(story: Story, template: Path, folder: Path) -> Path:
    """The base on `main`, the change on a branch that is checked out."""
    shutil.copytree(template, folder)
    write(folder, {".gitignore": ".venv\n", **story.before})
    commit(folder, "Begin")
    git(folder, "checkout", "-q", "-b", "change")
    write(folder, story.after)
    commit(folder, story.message)
    if story.has_tests:
        interpreter = folder / ".venv" / "bin" / "python"
        interpreter.parent.mkdir(parents=True)
        interpreter.write_text(INTERPRETER)
        interpreter.chmod(0o755)
    return folder


def write(folder: Path, files: Mapping[str, str | None]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink()
        else:
            path.write_text(text)


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)


class Ending:
    """What the client has seen, and what the model was asked."""

    def __init__(
        self, client: RawClient, session_id: str, model: ScriptedModel, questions: list[Any]
    ) -> None:
        updates = client.updates(session_id)
        self.text = "".join(
            update["content"]["text"]
            for update in updates
            if update["sessionUpdate"] == "agent_message_chunk"
        )
        self.titles = [update["title"] for update in updates if update["sessionUpdate"] == "tool_call"]
        self.frames = str(client.seen)
        self.questions = questions
        self.model = model

    @property
    def findings(self) -> list[Row]:
        return [
            (match["severity"], match["path"].replace("\\", ""), int(match["line"]))
            for match in _FINDING.finditer(self.text)
        ]

    @property
    def results(self) -> list[str]:
        return [result.text for each in self.model.requests for result in each.results.values()]

    @property
    def sent(self) -> str:
        """All that the model is told; what it said itself is left out."""
        prompts = [message.text for each in self.model.requests for message in each.messages[:1]]
        return "\n".join([*prompts, *self.results])


_FINDING = re.compile(
    r"^\*\*\d+\. (?P<severity>\w+): .*\*\* \(\[(?P<path>.+?):(?P<line>\d+)\]\(.*?\), `[^`]+`\)$", re.MULTILINE
)


async def play(story: Story, folder: Path) -> Ending:
    """Say the words of a story, and answer what is asked."""
    async with scripted_model(story.script) as model:
        config = CoderConfig(model="openai:clever", base_url=model.openai_url, retries=0)
        sessions = folder.with_name(f"{folder.name}.db")
        agent = review_agent(sessions=sessions, model=config, budget=ReviewBudget(**story.limits))
        async with raw_client(agent) as client:
            client.send(request(1, "initialize", {"protocolVersion": 1, "clientCapabilities": {}}))
            client.send(request(2, "session/new", {"cwd": str(folder), "mcpServers": []}))
            session_id = (await client.answer_to(2))["result"]["sessionId"]
            client.prompt(3, session_id, story.words)
            questions = await answer_questions(client, story.answer)
            return Ending(client, session_id, model, questions)


async def answer_questions(client: RawClient, answer: str) -> list[Any]:
    """Until the prompt is answered; returns what was asked."""
    questions = []
    while (frame := await client.next()).get("id") != 3 or "method" in frame:
        if frame.get("method") == "session/request_permission":
            questions.append(frame["params"])
            outcome = {"outcome": "selected", "optionId": answer}
            client.send(result(frame["id"], {"outcome": outcome}))
    assert "error" not in frame, frame
    return questions


__all__ = ["STANDS", "Ending", "Story", "bug", "is_second_look", "play", "refuted", "reports"]
