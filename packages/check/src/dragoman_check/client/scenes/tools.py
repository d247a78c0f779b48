"""Scenes about tool calls: a complete call with every kind of content, and calls in an unusual order."""

from __future__ import annotations

from dragoman.wire.envelope import JsonObject
from dragoman_check.client.scenes.updates import PIXEL
from dragoman_check.client.turn import StandInTurn, text_block


async def tool_calls(turn: StandInTurn) -> None:
    async with turn.stretch("tool call"):
        _whole_life(turn)
    async with turn.stretch("tool call in pieces"):
        _in_pieces(turn)
    async with turn.stretch("tool call update of an unseen id"):
        turn.update("tool_call_update", toolCallId="never-announced", title="Unseen", status="in_progress")
    async with turn.stretch("tool call of a seen id"):
        turn.update("tool_call", toolCallId="never-announced", title="Seen", status="completed")


def _whole_life(turn: StandInTurn) -> None:
    call, path = turn.call_id(), str(turn.folder / "some file.txt")
    turn.update(
        "tool_call",
        toolCallId=call,
        title="Change a file",
        kind="edit",
        status="pending",
        locations=[{"path": path, "line": 1}, {"path": path}],
        rawInput={"path": path, "nested": [1, None, {"deep": True}]},
    )
    turn.update("tool_call_update", toolCallId=call, status="in_progress", title="Changing a file")
    turn.update("tool_call_update", toolCallId=call, content=_contents(path))
    turn.update("tool_call_update", toolCallId=call, status="completed", rawOutput={"changed": 1})


def _contents(path: str) -> list[JsonObject]:
    return [
        {"type": "content", "content": text_block("It works like this.")},
        {"type": "content", "content": {"type": "image", "data": PIXEL, "mimeType": "image/png"}},
        {"type": "diff", "path": path, "oldText": "old\n", "newText": "new\n"},
        {"type": "diff", "path": f"{path}.new", "oldText": None, "newText": "all of it is new\n"},
    ]


def _in_pieces(turn: StandInTurn) -> None:
    """Every kind and every status, members that are null, and raw values that are not objects."""
    for kind in ("read", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"):
        turn.update("tool_call", toolCallId=turn.call_id(), title=f"A call to {kind}", kind=kind)
        nothing: JsonObject = {"title": None, "kind": None, "content": None, "locations": None}
        turn.update("tool_call_update", toolCallId=turn.last_call, status="in_progress", **nothing)
        turn.update("tool_call_update", toolCallId=turn.last_call, rawInput="text", rawOutput=[1, "two"])
        turn.update("tool_call_update", toolCallId=turn.last_call, status="failed", content=[], locations=[])
