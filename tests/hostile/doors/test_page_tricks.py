"""What a person is shown in the hub's name is the hub's, and what is done was shown."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from dragoman.testing.pace import patience
from tests.forks import forked
from tests.hostile.doors.agent_steps import request
from tests.hostile.doors.page_tricks import PAGE_TRICKS, SCREEN_TRICKS, PageTrick, ScreenTrick
from tests.hostile.doors.puppet import FORGED
from tests.hostile.doors.stage import hub_of_puppets, make_folder, placed
from tests.hostile.doors.tricks import must_not, parameters
from tests.hostile.doors.visitor import Visitor
from tests.hub.outside.process import HubProcess


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    with hub_of_puppets(tmp_path_factory.mktemp("hub")) as hub:
        yield hub


@pytest.mark.parametrize("trick", parameters(PAGE_TRICKS))
def test_no_agent_speaks_in_the_name_of_the_hub(hub: HubProcess, trick: PageTrick) -> None:
    folder = make_folder(hub, trick.name)
    with Visitor(hub.place, hub.token, person=trick.person) as visitor:
        visitor.introduce(agent=trick.dialect, events=True, clientCapabilities={"elicitation": {"form": {}}})
        visitor.call("_dragoman/hub/watch", {"on": True})
        session = visitor.open(str(folder))
        answer = visitor.prompt(session, placed([*trick.steps, {"do": "$CWD/honest"}], folder))
        assert "result" in answer, answer
        visitor.call("session/close", {"sessionId": session})
    assert (folder / "honest").exists()
    assert any(one.get("method") == "_dragoman/hub/event" for one in visitor.heard)
    was_shown = trick.shown and any(trick.shown in json.dumps(one) for one in visitor.questions)
    must_not((folder / "done").exists() and not was_shown, visitor.questions)
    must_not([one for one in visitor.heard if FORGED in json.dumps(words_of_the_hub(one))])


def words_of_the_hub(message: dict[str, Any]) -> object:
    """What a page takes for the hub's own: the marks of a message, and all that the hub says by itself, but
    for the words of others in it.
    """
    params: dict[str, Any] = message.get("params") or {}
    question: dict[str, Any] = params["request"] if isinstance(params.get("request"), dict) else {}
    marks = [marks_of(part) for part in (params, params.get("params"), question.get("params"))]
    if not str(message.get("method")).startswith("_dragoman/"):
        return marks
    others = ("prompt", "params", "title")
    said = {name: value for name, value in params.items() if name not in others and value is not question}
    return [marks, said, {name: value for name, value in question.items() if name not in others}]


def marks_of(part: object) -> object:
    meta = part.get("_meta") if isinstance(part, dict) else None
    return meta.get("dragoman") if isinstance(meta, dict) else None


@pytest.mark.parametrize("trick", parameters(SCREEN_TRICKS))
def test_no_text_of_an_agent_makes_a_line_of_ours(hub: HubProcess, trick: ScreenTrick) -> None:
    folder = make_folder(hub, trick.name)
    asked = request(
        "session/request_permission", {"toolCall": trick.tool_call, "options": list(trick.options)}
    )
    with Visitor(hub.place, hub.token, person="away") as visitor:
        visitor.introduce(agent="v1")
        session = visitor.open(str(folder))
        text = json.dumps(placed([asked], folder))
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
        visitor.send({"jsonrpc": "2.0", "id": "p", "method": "session/prompt", "params": prompt})
        visitor.hear_until("session/request_permission")
        try:
            listed = inbox(hub)
        finally:
            visitor.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})
            visitor.answer_to("p")
    lines = re.split(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", listed)
    rows = [line[start : start + 80] for line in lines for start in range(0, len(line), 80)]
    options = [row for row in rows if re.match(r"\s*\d+\. ", row)]
    assert "1. " in listed
    must_not(len(options) != 2, listed)
    must_not(re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", listed), listed)


def inbox(hub: HubProcess) -> str:
    command = forked([sys.executable, "-m", "dragoman", "inbox", "--list", "--hub", f"ws://{hub.place}/acp"])
    env = {**os.environ, **hub.env, "DRAGOMAN_TOKEN": hub.token}
    run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=patience(30))
    assert run.returncode == 0, run.stderr
    return run.stdout
