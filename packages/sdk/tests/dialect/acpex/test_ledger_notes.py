"""The ledger's words about these dialects: all in one place, all used, and all in the list of losses."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from dragoman.dialect.acpex import ledger_notes
from dragoman.dialect.acpex.ledger_notes import PHRASES
from dragoman.dialect.ledger import LedgerNote
from dragoman.dialect.names import Position
from tests.dialect.acpex.stage import Frame, Stage
from tests.dialect.ledger_pages import listed
from tests.every import every


def test_the_list_has_exactly_what_the_ledger_may_say() -> None:
    assert listed("acpex") == sorted(map(tuple, PHRASES), key=lambda phrase: phrase[0])


def test_every_phrase_is_used_and_nothing_is_said_in_other_words() -> None:
    files = [
        path for path in Path(ledger_notes.__file__).parent.glob("*.py") if path.name != "ledger_notes.py"
    ]
    nodes = [node for path in files for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    known = {name for name, value in vars(ledger_notes).items() if isinstance(value, LedgerNote)}
    assert known - used == set()
    called = [
        node.func.attr
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    assert {"note_loss", "note_repair"}.isdisjoint(called)


def test_no_two_phrases_are_about_the_same() -> None:
    assert len({(phrase.outcome, phrase.what) for phrase in PHRASES}) == len(PHRASES) > 40


def asking(method: str, params: Any) -> Frame:
    return {"id": 1, "method": method, "params": params}


def prompting(block: Frame) -> Frame:
    return asking("session/prompt", {"sessionId": "s", "content": [block]})


def updating(update: Frame) -> Frame:
    return {"method": "session/update", "params": {"sessionId": "s", "update": update}}


def answering(result: Frame) -> Frame:
    return {"id": 1, "result": result}


def failing(code: int) -> Frame:
    return {"id": 1, "error": {"code": code, "message": "no"}}


OUTPUT = asking("terminal/output", {"sessionId": "s", "terminalId": "t"})
LOGINS = answering({"authenticationMethods": [{"id": "key"}]})
ADDRESS = {"type": "url", "url": "https://a.example/owl.ogg"}
NEW = {"cwd": "/", "mcpServers": []}
LINKED = {"type": "resource_link", "uri": "file:///a"}
SAID: list[tuple[str, Position, list[Frame]]] = [
    (
        "a protocol version that is not an integer",
        "client",
        [asking("initialize", {"protocolVersion": "1.0"})],
    ),
    ("an agent that does not say its name", "client", [asking("initialize", {}), answering({"x": 1})]),
    ("an authentication method without id or name", "agent", [asking("initialize", {}), LOGINS]),
    ("an error code of other meaning", "client", [asking("session/new", NEW), failing(-32000)]),
    ("permission denied (-32002)", "agent", [asking("session/new", NEW), failing(-32002)]),
    ("an image or audio by its address", "client", [prompting({"type": "audio", "source": ADDRESS})]),
    ("a resource without its text", "client", [prompting({"type": "resource", "uri": "file:///a"})]),
    ("a resource link without a name", "client", [prompting(LINKED)]),
    (
        "plan steps without priority or status",
        "agent",
        [updating({"kind": "plan", "content": {"steps": ["a"]}})],
    ),
    ("an update that the dialect does not describe", "client", [updating({"sessionUpdate": "notice"})]),
    (
        "a stop reason that only one side knows",
        "client",
        [prompting(LINKED), answering({"stopReason": "refusal"})],
    ),
    ("terminal output without truncated", "client", [OUTPUT, answering({"output": "x"})]),
]


@every(("what", "position", "frames"), SAID)
def test_what_arrives_in_a_form_of_our_making_is_named(
    what: str, position: Position, frames: list[Frame]
) -> None:
    """The client asks first; an agent's edge takes that from the inside."""
    stage = Stage(position)
    for frame in frames:
        from_client = frame is not OUTPUT and "method" in frame and frame["method"] != "session/update"
        answered = "method" not in frame and frames[0] is OUTPUT
        (stage.hear if (from_client or answered) == (position == "client") else stage.take)(frame)
    assert what in stage.repaired
