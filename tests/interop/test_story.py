"""One conversation, told by every client to every agent: ours and those of both official SDKs.

All pairs must come to the same end, also those in which we take no part: they show that the end is not our
invention. Everything that we send on the way is judged by both SDKs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.interop.judges import Sent, refused_by_python, refused_by_typescript, sent
from tests.interop.programs import AGENTS, CLIENTS, needs_node, tapped, tell
from tests.together import SideBySide

together = SideBySide(2)

MESSAGE = "agent_message_chunk"


def said(text: str, **more: Any) -> dict[str, Any]:
    """A turn in which the agent said one thing."""
    return {"kinds": [MESSAGE], "text": text, "stop": "end_turn", **more}


def used(text: str, call: str, status: str, *, updates: int) -> dict[str, Any]:
    """A turn in which the agent used a tool and said how it went."""
    kinds = ["tool_call", *["tool_call_update"] * updates, MESSAGE]
    return {"kinds": kinds, "text": text, "tools": {call: status}, "stop": "end_turn"}


SETUP = {
    "initialize": {"version": 1, "agent": "story"},
    "modes": ["plain", "loud"],
    "model": "large",
    "shout": {"text": "HEY"},
    "no such method": -32601,
}
ORDERS = {
    "stream": {
        "kinds": ["agent_thought_chunk", "plan", MESSAGE, MESSAGE, MESSAGE],
        "text": "one two three",
        "stop": "end_turn",
    },
    "tool allow": used("always was chosen", "call-allow", "completed", updates=2),
    "tool reject": used("no was chosen", "call-reject", "failed", updates=1),
    "tool none": used("nothing was chosen", "call-none", "failed", updates=1),
    "read /story/in.txt": said("line two\n"),
    "read /story/none": said("error -32002"),
    "write /story/out.txt new words": said("written"),
    "run": used("STORY=1 echo hello /story 99 0", "call-run", "completed", updates=2),
    "refuse": {"kinds": [], "text": "", "error": -32000},
    "crash": {"kinds": [], "text": "", "error": -32603},
    "future": said("and back"),
    "extend": said("story/ask why, noted"),
    "elicit": said("Hello Ada"),
    "settings": said("loud large"),
    "wait": said("waiting", stop="cancelled"),
}
END = {
    "blocks": said("text image resource_link resource"),
    "load": {"kinds": ["user_message_chunk", MESSAGE], "text": "answered"},
    "load what is lost": -32002,
    "written": "new words",
    "hints": ["psst"],
}
STORY = {**SETUP, **ORDERS, **END}
HELLO = {
    "initialize": {"version": 1, "agent": "echo"},
    "hello": said("You said: hello again"),
    "no such session": {"kinds": [], "text": "", "error": -32002},
    "no such method": -32601,
}

FUTURE = {"sessionUpdate": "from_the_future", "when": 2030}

OURS = {"ours", "adapted"}


def marks(client: str, agent: str) -> list[pytest.MarkDecorator]:
    """A pair with nothing of ours shows that the story is not ours alone. That rarely changes: it is slow.

    An adapted agent meets our client in `make test`; our client and our agent meet all others, and each other
    in `make test-all`.
    """
    found = [needs_node] if "typescript" in (client, agent) else []
    is_rare = not OURS & {client, agent} or (agent == "adapted" and client != "ours")
    is_rare = is_rare or client == agent == "ours"
    return [*found, pytest.mark.slow] if is_rare else found


PAIRS = [
    pytest.param(client, agent, marks=marks(client, agent))
    for client in CLIENTS
    for agent in AGENTS
    if client in OURS or agent in OURS or client != agent
]


@pytest.mark.parametrize(("client", "agent"), PAIRS)
@together
def test_every_pair_comes_to_the_same_end(client: str, agent: str, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    report = tell(CLIENTS[client], "story", list(ORDERS), tapped(journal, AGENTS[agent]))
    assert report.pop("unknown", [FUTURE]) == [FUTURE]
    assert report == STORY
    if client in OURS:
        judge(journal, "to_agent")
    if agent in OURS:
        judge(journal, "to_client")
        assert "sk-story" not in journal.read_text()


@pytest.mark.in_turn("client")
@pytest.mark.parametrize("client", ["ours", "official-python", pytest.param("typescript", marks=needs_node)])
@together
def test_the_smallest_agent_talks_to_every_client(client: str, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    agent = [sys.executable, "examples/echo_agent.py"]
    assert tell(CLIENTS[client], "hello", [], tapped(journal, agent)) == HELLO
    judge(journal, "to_client")


def judge(journal: Path, direction: str) -> None:
    values = [item for item in sent(journal, direction) if item.definition and not from_the_future(item)]
    assert len(values) > 3
    assert refused_by_python(values) == []
    if not needs_node.args[0]:
        assert refused_by_typescript(values) == []


def from_the_future(item: Sent) -> bool:
    """What the order `future` sends is no version's, and meant to be."""
    return item.method == "session/update" and item.value["update"] == FUTURE


def test_the_judges_do_refuse() -> None:
    """If they took everything, the tests above would be worth nothing."""
    wrong = [
        Sent("PromptRequest", "session/prompt", {"sessionId": 1, "prompt": []}),
        Sent("CreateElicitationResponse", "elicitation/create", {"action": 7}),
        Sent("SetSessionConfigOptionRequest", "session/set_config_option", {"sessionId": "s"}),
    ]
    assert [item for item, _ in refused_by_python(wrong)] == wrong
    if not needs_node.args[0]:
        assert [item for item, _ in refused_by_typescript(wrong)] == wrong


def test_a_frame_that_is_nobodys_does_not_pass(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    frame = {"jsonrpc": "2.0", "method": "session/nonsense", "params": {}}
    journal.write_text(json.dumps({"direction": "to_agent", "frame": json.dumps(frame)}))
    with pytest.raises(AssertionError, match="nobody's method"):
        list(sent(journal, "to_agent"))
