"""No agent at a hub does what nobody decided, or more than was shown, or speaks in the hub's name: not in
another dialect, not on an official SDK, and not to a page.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.forks import forked
from tests.hostile.doors.agent_steps import AgentTrick, request
from tests.hostile.doors.cheat_tricks import CHEAT_TRICKS, HONEST, CheatTrick
from tests.hostile.doors.dialect_tricks import DIALECT_TRICKS
from tests.hostile.doors.page_tricks import PAGE_TRICKS, SCREEN_TRICKS, PageTrick, ScreenTrick
from tests.hostile.doors.puppet import FORGED
from tests.hostile.doors.stage import command_of, found, hub_of_puppets, make_folder, placed, play
from tests.hostile.doors.tricks import must_not, parameters
from tests.hostile.doors.visitor import Visitor
from tests.hub.outside.process import HubProcess
from tests.interop.programs import needs_node

HERE = Path(__file__).parent

SDKS = ["python", pytest.param("typescript", marks=needs_node)]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    agents = {
        "python": forked([sys.executable, str(HERE / "official_agent.py")]),
        "typescript": ["node", str(HERE / "official_agent.mjs")],
    }
    with hub_of_puppets(tmp_path_factory.mktemp("hub"), agents=agents) as hub:
        yield hub


@pytest.mark.parametrize("trick", parameters(DIALECT_TRICKS))
def test_no_agent_of_a_dialect_does_what_nobody_decided(hub: HubProcess, trick: AgentTrick) -> None:
    folder = make_folder(hub, trick.name, policy=trick.policy)
    visitor = play(hub, folder, [*trick.honest, *trick.steps], agent=trick.dialect, person=trick.person)
    assert (folder / "honest").exists(), visitor.heard
    must_not(found(folder, trick.traces), visitor.questions)


@pytest.mark.parametrize("sdk", SDKS)
@pytest.mark.parametrize("trick", parameters(CHEAT_TRICKS))
def test_no_agent_does_more_than_was_shown(hub: HubProcess, trick: CheatTrick, sdk: str) -> None:
    folder = make_folder(hub, f"{trick.name} {sdk}")
    (folder / "count.sh").write_text("echo x >> count\n")
    (folder / "mark.sh").write_text("touch mark\n")
    (folder / "word.sh").write_text("echo ${WORD:-good} > word\n")
    (folder / "sub" / "mark.sh").write_text("touch evil\n")
    with Visitor(hub.place, hub.token, person="careful") as visitor:
        visitor.introduce(agent=sdk)
        session = visitor.open(str(folder))
        for turn in [HONEST, *trick.turns]:
            assert "result" in visitor.prompt(session, placed(turn, folder))
        visitor.call("session/close", {"sessionId": session})
    assert (folder / "honest").read_text() == "good\n"
    assert (folder / "mark").exists()
    must_not(evil_files(folder), [one["toolCall"] for one in visitor.questions])


def evil_files(folder: Path) -> list[str]:
    return [
        path.name
        for path in folder.rglob("*")
        if path.is_file()
        and path.suffix != ".sh"
        and (path.name == "evil" or "evil" in path.read_text() or path.read_text().count("x\n") > 1)
    ]


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
def test_no_text_of_an_agent_makes_a_line_of_ours(
    hub: HubProcess, trick: ScreenTrick, capfd: pytest.CaptureFixture[str]
) -> None:
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
            listed = inbox(hub, capfd)
        finally:
            visitor.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})
            visitor.answer_to("p")
    lines = re.split(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", listed)
    rows = [line[start : start + 80] for line in lines for start in range(0, len(line), 80)]
    options = [row for row in rows if re.match(r"\s*\d+\. ", row)]
    assert "1. " in listed
    must_not(len(options) != 3, listed)  # with Always, which the hub adds
    must_not(re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", listed), listed)


def inbox(hub: HubProcess, capfd: pytest.CaptureFixture[str]) -> str:
    capfd.readouterr()
    assert command_of(hub, "inbox", "--list", "--hub", f"ws://{hub.place}/acp") == 0
    return capfd.readouterr().out
