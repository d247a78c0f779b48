"""Recorded agents, served back by a scripted agent to `dragoman run`.

All that an agent has said and asked in one recorded life becomes one turn: every update must be told, every
text shown, every request answered; paths are moved into the workspace of the run. What it sent when a session
was loaded is served in the same way.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.testing import ScriptedAgent
from tests import forks
from tests.faults.client.faulty_run import Folder, Result, complete_in_fork
from tests.interop.recordings import ELSEWHERE, Conversation, conversations
from tests.interop.test_recordings import PROBE, needs_recordings
from tests.together import SideBySide

pytestmark = [needs_recordings, pytest.mark.bound(60)]
together = SideBySide(2)

AGENTS = sorted((ELSEWHERE / "agents-v1").glob("*.ndjson"))
SEEN = "reached the end"
TERMINAL = ("terminal/wait_for_exit", "terminal/output", "terminal/release", "terminal/kill")
"""Done by the script's `run`, because the ids of terminals are the client's to give."""


def lives(path: Path) -> list[Conversation]:
    return [talk for talk in conversations(path) if talk.frames]


class Recording:
    """One life of an agent as a script."""

    def __init__(self, talk: Conversation, work: Path) -> None:
        here = str(talk.about.get("cwd", "/nowhere"))
        raw = [(frame.to, frame.raw.decode().replace(here, str(work)), frame.scene) for frame in talk.frames]
        self._frames = [(to, json.loads(text), scene) for to, text, scene in raw if _is_json(text)]
        self._asked = {content["id"]: content for to, content, _ in self._frames if _asks(to, content)}

    def script(self) -> str:
        lines = ["on initialize", f"  answer {_word(self.answer_to('initialize'))}"]
        lines += ["on new", f"  answer {_word(self.answer_to('session/new'))}"]
        if self.loads:
            lines += ["on load", *self._told(self.replayed()), f"  answer {_word(self.loads[0])}"]
        lines += ["on prompt", *self._told(self.spoken()), f'  say "{SEEN}"']
        return "\n".join(lines) + "\n"

    @property
    def loads(self) -> list[Any]:
        return [self.answer_to("session/load")] if self.answer_to("session/load") is not None else []

    @property
    def loaded_id(self) -> str:
        loads = [asked["params"] for asked in self._asked.values() if asked["method"] == "session/load"]
        return str(loads[0]["sessionId"])

    def answer_to(self, method: str) -> Any:
        """The first result that this method had."""
        for to, content, scene in self._frames:
            asked = self._asked.get(content.get("id"), {}) if "method" not in content else {}
            if to == "client" and asked.get("method") == method and "result" in content and scene != PROBE:
                return content["result"]
        return None

    def spoken(self) -> list[Any]:
        """What the agent said and asked, but for what a probe or a load made it say."""
        loading = self.replayed()
        frames = [content for to, content, scene in self._frames if to == "client" and scene != PROBE]
        return [content for content in frames if "method" in content and content not in loading]

    def replayed(self) -> list[Any]:
        return [c for to, c, scene in self._frames if to == "client" and scene == "load" and "method" in c]

    def _told(self, spoken: list[Any]) -> Iterator[str]:
        for content in spoken:
            method, params = content["method"], _escaped(content.get("params", {}))
            if method in TERMINAL or method == "$/cancel_request":
                continue
            if isinstance(params, dict) and "sessionId" in params:
                params["sessionId"] = "$session"
            if method == "terminal/create":
                yield f"  run {' '.join(map(_word, ['true', *params.get('args', [])]))}"
            elif "id" in content:
                yield from (f"  call {method} {_word(params)}", "    failed", '      think "refused"')
            else:
                yield f"  notify {method} {_word(params)}"


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _asks(to: str, content: Any) -> bool:
    return to == "agent" and "method" in content and "id" in content


def _word(value: Any) -> str:
    return json.dumps(value)


def _escaped(value: Any) -> Any:
    """A dollar is a dollar."""
    return json.loads(json.dumps(value).replace("$", "$$"))


async def served(path: Path, number: int, place: Path, *options: str) -> tuple[Recording, Result]:
    folder = Folder(place)
    recording = Recording(lives(path)[number], folder.work)
    command = forks.forked(ScriptedAgent(recording.script()).command(place))
    run = await complete_in_fork(
        "", "", place, "--approve", "all", *options, command=shlex.join(command), words=["go"]
    )
    return recording, run


def texts(spoken: list[Any]) -> str:
    """What the agent says in these frames."""
    chunks = [one["content"] for one in updates(spoken) if one["sessionUpdate"] == "agent_message_chunk"]
    return "".join(chunk["text"] for chunk in chunks if chunk["type"] == "text")


def tools(spoken: list[Any]) -> int:
    kinds = [update["sessionUpdate"] for update in updates(spoken)]
    return sum(kind in ("tool_call", "tool_call_update") for kind in kinds)


def updates(spoken: list[Any]) -> list[Any]:
    return [frame["params"]["update"] for frame in spoken if frame["method"] == "session/update"]


def outcome_of(spoken: list[Any]) -> tuple[int, str]:
    """How a turn ends in which all this was said: codex says of a failure that its thread has an error."""
    metas = [update["_meta"]["codex"] for update in updates(spoken) if "codex" in update.get("_meta", {})]
    statuses = [meta["threadStatus"]["type"] for meta in metas if "threadStatus" in meta]
    return (11, "agent_error") if statuses[-1:] == ["systemError"] else (0, "end_turn")


def outputs(spoken: list[Any]) -> list[str]:
    """What commands printed that the agent ran itself."""
    metas = [update.get("_meta", {}) for update in updates(spoken)]
    return [meta["terminal_output_delta"]["data"] for meta in metas if "terminal_output_delta" in meta]


@pytest.mark.parametrize("path", AGENTS, ids=lambda path: path.stem)
@together
async def test_everything_that_an_agent_said_is_told(path: Path, tmp_path: Path) -> None:
    recording, run = await served(path, 0, tmp_path)
    spoken = recording.spoken()
    assert (run.status, run.outcome) == outcome_of(spoken), run.err
    assert run.text == texts(spoken) + SEEN
    contents = json.dumps([event.get("content") for event in run.events if event["event"] == "tool"])
    assert [data for data in outputs(spoken) if json.dumps(data.rstrip())[1:-1] not in contents] == []
    assert len([event for event in run.events if event["event"] == "tool"]) >= tools(spoken)
    permissions = [frame for frame in spoken if frame["method"] == "session/request_permission"]
    decided = [event for event in run.events if event["event"] == "decision"]
    assert len([one for one in decided if one["method"] == "permission"]) == len(permissions)


LOADING = [
    pytest.param(path, number, recording.loaded_id, id=path.stem)
    for path in AGENTS
    for number, recording in enumerate(Recording(talk, Path("/work")) for talk in lives(path))
    if recording.loads
]


@pytest.mark.parametrize(("path", "number", "session"), LOADING)
@together
async def test_a_loaded_session_is_replayed_and_goes_on(
    path: Path, number: int, session: str, tmp_path: Path
) -> None:
    recording, run = await served(path, number, tmp_path, "--session", session)
    told = [event for event in run.events if event["event"] == "session"]
    assert (run.status, run.outcome) == (0, "end_turn"), run.err
    assert [event["how"] for event in told] in (["loaded"], ["resumed"])
    assert run.text.endswith(SEEN)
    if told[0]["how"] == "loaded":
        replayed = [event for event in run.events if event.get("phase") == "replay"]
        said = "".join(event["text"] for event in replayed if event["event"] == "text")
        assert said == texts(recording.replayed())
