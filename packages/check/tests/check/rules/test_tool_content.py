"""TOOL: what tool calls show."""

from __future__ import annotations

from typing import Any

from tests.check.conversations import agent, client
from tests.check.rules.talks import Talk, breaks, keeps, says_nothing, update
from tests.every import every

TEXT = {"type": "text", "text": "x"}
DIFF = {"type": "diff", "path": "/w/a", "oldText": None, "newText": "x"}


def showing(*content: Any, wants: Any = None, version: int = 1, **more: Any) -> Talk:
    shown = update("s", "tool_call", toolCallId="c", title="x", content=list(content), **more)
    return Talk(wants=wants, version=version).new("s").add(shown)


def test_tool_11_content_is_of_three_kinds() -> None:
    keeps(
        "TOOL-11",
        showing({"type": "content", "content": TEXT}, DIFF, {"type": "terminal", "terminalId": "t"}),
    )
    for wrong in (TEXT, {"type": "content", "content": "x"}, {"type": "terminal"}, "x", {"type": "chart"}):
        breaks("TOOL-11", showing(wrong))


def test_tool_11_content_is_a_list() -> None:
    talk = Talk().new("s").add(update("s", "tool_call", toolCallId="c", title="x", content=TEXT))
    breaks("TOOL-11", talk)


def test_tool_11_content_in_a_question_counts_too() -> None:
    params = {"sessionId": "s", "toolCall": {"toolCallId": "c", "content": [TEXT]}, "options": []}
    breaks("TOOL-11", Talk().new("s").ask("session/request_permission", params))


@every("wrong", [{"path": "a"}, {"path": None}, {"newText": None}, {"oldText": 5}])
def test_tool_12_a_diff_is_whole(wrong: dict[str, Any]) -> None:
    keeps("TOOL-12", showing(DIFF, {**DIFF, "path": "C:\\a", "oldText": "y"}))
    breaks("TOOL-12", showing({**DIFF, **wrong}))


def test_tool_12_a_diff_of_version_2_lists_changes() -> None:
    def changed(*changes: Any) -> Talk:
        return showing({"type": "diff", "changes": list(changes)}, version=2)

    keeps("TOOL-12", changed({"operation": "add", "path": "/w/a"}))
    breaks("TOOL-12", changed({"operation": "move", "path": "/w/a"}))
    breaks("TOOL-12", showing(DIFF, version=2))


TERMINAL = {"type": "terminal", "terminalId": "t"}


def made(talk: Talk) -> Talk:
    create = agent("terminal/create", {"sessionId": "s", "command": "ls"}, id=50)
    return talk.add(create, client(id=50, result={"terminalId": "t"}))


def test_tool_14_a_terminal_was_made_and_is_shown_before_its_release() -> None:
    shown = update("s", "tool_call", toolCallId="c", title="x", content=[TERMINAL])
    release = agent("terminal/release", {"sessionId": "s", "terminalId": "t"}, id=51)
    keeps("TOOL-14", made(Talk().new("s")).add(shown, release, shown))
    breaks("TOOL-14", made(Talk().new("s")).add(release, shown))
    breaks("TOOL-14", showing(TERMINAL))
    says_nothing("TOOL-14", showing(TERMINAL, wants={"_meta": {"terminal_output": True}}))


BAD_PLACES: list[Any] = [
    [{"path": "a"}],
    [{}],
    {"path": "/a"},
    [{"path": "/a", "line": -1}],
    [{"path": "/a", "line": "1"}],
]


def test_tool_16_locations_are_places() -> None:
    keeps("TOOL-16", showing(locations=[{"path": "/w/a", "line": 0}, {"path": "/w/b", "line": None}]))
    for wrong in BAD_PLACES:
        breaks("TOOL-16", showing(locations=wrong))
    breaks("TOOL-16", showing(locations=[{"path": "/w/a", "line": 0}], version=2))
