"""One conversation in which every frame that the reference shows occurs, beside the same in v1.

The order is that of the reference's picture: handshake, session, prompt, updates, a question, its answer, the
end of the turn; then the other ways in which a question and a turn can end.
"""

from __future__ import annotations

from typing import Any

SESSION = "s-41"


def _rpc(**members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", **members}


def _update(**update: Any) -> dict[str, Any]:
    return _rpc(method="session/update", params={"sessionId": SESSION, "update": update})


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def same(frame: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return frame, frame


def _chunk(kind: str, block: dict[str, Any], v1: dict[str, Any] | None = None) -> tuple[Any, Any]:
    return _update(sessionUpdate=kind, content=block), _update(sessionUpdate=kind, content=v1 or block)


INITIALIZE = [
    (
        "to_agent",
        _rpc(id=1, method="initialize", params={"protocolVersion": 1, "capabilities": {}}),
        _rpc(id=1, method="initialize", params={"protocolVersion": 1, "clientCapabilities": {}}),
    ),
    (
        "to_client",
        _rpc(id=1, result={"protocolVersion": 1, "capabilities": {"loadSession": False}}),
        _rpc(id=1, result={"protocolVersion": 1, "agentCapabilities": {"loadSession": False}}),
    ),
]

NEW_SESSION = [
    (
        "to_agent",
        *same(_rpc(id=2, method="session/new", params={"cwd": "/srv/garden", "mcpServers": []})),
    ),
    ("to_client", *same(_rpc(id=2, result={"sessionId": SESSION}))),
]

NOTE = {"uri": "file:///srv/garden/notes.md", "mimeType": "text/markdown", "text": "# Beds"}
PICTURE = {"uri": "file:///srv/garden/bed.bin", "blob": "AAEC"}

BLOCKS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    same(_text("water the beds")),
    same({"type": "image", "mimeType": "image/png", "data": "iVBORw=="}),
    same({"type": "audio", "mimeType": "audio/wav", "data": "UklGRg=="}),
    same({"type": "resource_link", "uri": "file:///srv/garden/plan.txt", "name": "plan"}),
    (
        {"type": "resource_link", "uri": "file:///srv/garden/beds/east.txt"},
        {"type": "resource_link", "uri": "file:///srv/garden/beds/east.txt", "name": "east.txt"},
    ),
    ({"type": "embedded_resource", "resource": NOTE}, {"type": "resource", "resource": NOTE}),
    ({"type": "embedded_resource", "resource": PICTURE}, {"type": "resource", "resource": PICTURE}),
    ({"type": "embedded_resource", **NOTE}, {"type": "resource", "resource": NOTE}),
]


def _prompt(number: int, blocks: list[Any]) -> dict[str, Any]:
    return _rpc(id=number, method="session/prompt", params={"sessionId": SESSION, "prompt": blocks})


PROMPT = [
    ("to_agent", _prompt(3, [haven for haven, _ in BLOCKS]), _prompt(3, [v1 for _, v1 in BLOCKS])),
]

CHUNKS = [
    ("to_client", *_chunk(kind, *pair))
    for kind in ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk")
    for pair in BLOCKS
]

DIFF = {"type": "diff", "path": "/srv/garden/beds.py", "oldText": "dry", "newText": "wet"}


def _call(kind: str, name: str, haven_kind: str, v1_kind: str, **more: Any) -> tuple[str, Any, Any]:
    haven = {"id": f"call-{name}", "name": name, "status": "pending", "kind": haven_kind, **more}
    v1 = {
        "toolCallId": f"call-{name}",
        "name": name,
        "title": name,
        "status": "pending",
        "kind": v1_kind,
        **more,
    }
    return "to_client", _update(sessionUpdate=kind, **haven), _update(sessionUpdate=kind, **v1)


def _content(block: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "content", "content": block}]


CALLS = [
    (
        "to_client",
        _update(sessionUpdate="tool_call", id="call-Bare", name="Bare", status="pending"),
        _update(
            sessionUpdate="tool_call", toolCallId="call-Bare", name="Bare", title="Bare", status="pending"
        ),
    ),
    _call("tool_call", "Look", "file", "other", locations=[{"path": "/srv/garden/beds.py", "line": 3}]),
    _call("tool_call", "Mend", "file", "edit", content=[DIFF]),
    _call("tool_call", "Hose", "command", "execute", rawInput={"litres": 4}),
    _call("tool_call", "Find", "search", "search", locations=[{"path": "/srv/garden"}]),
    _call("tool_call", "Rest", "other", "other", rawOutput=["slept"]),
    *[
        (
            "to_client",
            _update(sessionUpdate="tool_call_update", id="call-Hose", status=status),
            _update(sessionUpdate="tool_call_update", toolCallId="call-Hose", status=status),
        )
        for status in ("pending", "in_progress", "completed", "failed")
    ],
    (
        "to_client",
        _update(sessionUpdate="tool_call_update", id="call-Look", content=_content(BLOCKS[5][0])),
        _update(sessionUpdate="tool_call_update", toolCallId="call-Look", content=_content(BLOCKS[5][1])),
    ),
    (  # what was taken for a read turns out to be an edit
        "to_client",
        _update(sessionUpdate="tool_call_update", id="call-Look", content=[DIFF]),
        _update(sessionUpdate="tool_call_update", toolCallId="call-Look", kind="edit", content=[DIFF]),
    ),
]

OTHERS = [
    (
        "to_client",
        *same(
            _update(
                sessionUpdate="plan",
                entries=[{"content": "Fill the can", "priority": "low", "status": "in_progress"}],
            )
        ),
    ),
    (
        "to_client",
        *same(
            _update(
                sessionUpdate="available_commands_update",
                availableCommands=[{"name": "weed", "description": "Pull the weeds"}],
            )
        ),
    ),
    ("to_client", *same(_update(sessionUpdate="current_mode_update", currentModeId="rainy"))),
]

OPTIONS = [
    {"optionId": "yes", "name": "Go on", "kind": "allow_once"},
    {"optionId": "no", "name": "Leave it", "kind": "reject_once"},
]


def _question(request_id: Any, call: dict[str, Any]) -> dict[str, Any]:
    params = {"sessionId": SESSION, "toolCall": call, "options": OPTIONS}
    return _rpc(id=request_id, method="session/request_permission", params=params)


def _asked(request_id: Any, outcome: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    haven = {"id": "call-Mend", "name": "Mend", "status": "pending"}
    v1 = {"toolCallId": "call-Mend", "name": "Mend", "title": "Mend", "status": "pending"}
    return [
        ("to_client", _question(request_id, haven), _question(request_id, v1)),
        ("to_agent", *same(_rpc(id=request_id, result={"outcome": outcome}))),
    ]


QUESTIONS = [
    *_asked("ask-9", {"outcome": "selected", "optionId": "yes"}),
    *_asked("ask-10", {"outcome": "cancelled"}),
]

ENDS = [
    ("to_client", *same(_rpc(id=3, result={"stopReason": "end_turn"}))),
    *[
        step
        for number, reason in enumerate(("max_tokens", "cancelled", "refusal"), 4)
        for step in (
            ("to_agent", *same(_prompt(number, [_text("again")]))),
            ("to_agent", *same(_rpc(method="session/cancel", params={"sessionId": SESSION}))),
            ("to_client", *same(_rpc(id=number, result={"stopReason": reason}))),
        )
    ],
]

CONVERSATION: list[tuple[str, Any, Any]] = [
    *INITIALIZE,
    *NEW_SESSION,
    *PROMPT,
    *CHUNKS,
    *CALLS,
    *OTHERS,
    *QUESTIONS,
    *ENDS,
]
"""Where each frame goes, the frame itself, and the same in v1."""


def legacy(way: str, frame: Any) -> Any:
    """A frame of the reference as the bridge really sent it: another discriminator."""
    if frame.get("method") != "session/update":
        return frame
    update = dict(frame["params"]["update"])
    update["type"] = update.pop("sessionUpdate")
    return {**frame, "params": {**frame["params"], "update": update}}
