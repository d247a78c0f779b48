"""One conversation in which every frame that the guide shows occurs, beside the same in v1."""

from __future__ import annotations

from typing import Any

SESSION = "review-77"


def _rpc(**members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", **members}


def _update(**update: Any) -> dict[str, Any]:
    return _rpc(method="session/update", params={"sessionId": SESSION, "update": update})


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


TOOL = {
    "name": "countLines",
    "description": "Tells how long a text is",
    "inputSchema": {
        "type": "object",
        "properties": {"name": {"type": "string", "description": "Of the text"}},
        "required": ["name"],
    },
}
SERVER = {"name": "proof-reader", "version": "3.2.1"}

FILES = {"fs": {"readTextFile": True, "writeTextFile": False}, "terminal": True}
INTRODUCED = {"protocolVersion": 1, "agentInfo": SERVER, "agentCapabilities": {}, "authMethods": []}
CANCEL = _rpc(method="session/cancel", params={"sessionId": SESSION})


def _prompt(number: int) -> dict[str, Any]:
    params = {"sessionId": SESSION, "prompt": [_text("Is this text any good?")]}
    return _rpc(id=number, method="session/prompt", params=params)


def _whole(number: int, *blocks: dict[str, Any], role: str = "assistant") -> tuple[str, Any, list[Any]]:
    """A whole message, which is the number-th of the conversation."""
    kind = "user_message_chunk" if role == "user" else "agent_message_chunk"
    chunks = [_update(sessionUpdate=kind, messageId=f"message-{number}", content=block) for block in blocks]
    return "to_client", _update(sessionUpdate="message", role=role, content=list(blocks)), chunks


def _same(way: str, frame: dict[str, Any]) -> tuple[str, Any, list[Any]]:
    return way, frame, [frame]


IMAGE = {"type": "image", "mimeType": "image/png", "data": "iVBORw=="}
KINDS = ("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other")
STATUSES = ("in_progress", "completed", "failed", "pending")
STOP_REASONS = ("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled")

CONVERSATION: list[tuple[str, Any, list[Any]]] = [
    _same(
        "to_agent",
        _rpc(id=1, method="initialize", params={"protocolVersion": 1, "clientCapabilities": FILES}),
    ),
    (
        "to_client",
        _rpc(id=1, result={"protocolVersion": 1, "capabilities": {"tools": [TOOL]}, "serverInfo": SERVER}),
        [_rpc(id=1, result=INTRODUCED)],
    ),
    _same("to_agent", _rpc(id=2, method="session/new", params={"cwd": "/srv/texts", "mcpServers": []})),
    _same("to_client", _rpc(id=2, result={"sessionId": SESSION})),
    _same("to_agent", _prompt(3)),
    _whole(1, _text("Let me see.")),
    _whole(2, _text("This is what it looks like:"), IMAGE, _text("Hm.")),
    _whole(3, _text("Is this text any good?"), role="user"),
    _same("to_client", _update(sessionUpdate="agent_message_chunk", content=_text("Reading on"))),
    _same(
        "to_client",
        _update(
            sessionUpdate="plan",
            entries=[
                {"content": "Read it", "priority": "high", "status": "in_progress"},
                {"content": "Judge it", "priority": "low", "status": "pending"},
            ],
        ),
    ),
    *[
        _same(
            "to_client",
            _update(
                sessionUpdate="tool_call",
                toolCallId=f"use-{kind}",
                title=f"To {kind}",
                kind=kind,
                status="pending",
            ),
        )
        for kind in KINDS
    ],
    *[
        _same("to_client", _update(sessionUpdate="tool_call_update", toolCallId="use-read", status=status))
        for status in STATUSES
    ],
    _same(
        "to_client",
        _update(
            sessionUpdate="tool_call_update",
            toolCallId="use-read",
            status="completed",
            content=[{"type": "content", "content": _text("Twelve lines, two of them empty.")}],
        ),
    ),
    (
        "to_client",
        _rpc(id=3, result={"stopReason": "end_turn", "content": [_text("It will do.")]}),
        [
            _update(sessionUpdate="agent_message_chunk", messageId="message-4", content=_text("It will do.")),
            _rpc(id=3, result={"stopReason": "end_turn"}),
        ],
    ),
    *[
        step
        for number, reason in enumerate(STOP_REASONS, 4)
        for step in (
            _same("to_agent", _prompt(number)),
            _same("to_agent", CANCEL),
            _same("to_client", _rpc(id=number, result={"stopReason": reason})),
        )
    ],
]
"""Where each frame goes, the frame itself, and the same in v1."""
