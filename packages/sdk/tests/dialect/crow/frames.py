"""Every frame that crow's document shows, in the same shapes and with values of our own."""

from __future__ import annotations

from typing import Any

Frame = dict[str, Any]

SESSION = "7d1c-session"
CALL = "3f-call"

INITIALIZE: Frame = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocol_version": 1,
        "client_capabilities": {},
        "client_info": {"name": "rook", "version": "2.4"},
    },
}
WELCOME: Frame = {
    "jsonrpc": "2.0",
    "id": 1,
    "result": {
        "protocol_version": 1,
        "agent_capabilities": {
            "prompt_capabilities": {"text": True, "image": True, "resource": True},
            "mcp_capabilities": {"http": False, "sse": False},
            "load_session": True,
        },
        "agent_info": {"name": "raven", "title": "The Raven", "version": "3.1"},
    },
}
NEW: Frame = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "session/new",
    "params": {"cwd": "/srv/nest", "mcpServers": []},
}
OPENED: Frame = {"jsonrpc": "2.0", "id": 2, "result": {"sessionId": SESSION}}
PROMPT: Frame = {
    "jsonrpc": "2.0",
    "id": 3,
    "method": "session/prompt",
    "params": {"session_id": SESSION, "prompt": [{"type": "text", "text": "Count the eggs."}]},
}
ENDED: Frame = {"jsonrpc": "2.0", "id": 3, "result": {"stop_reason": "end_turn"}}
LOAD: Frame = {
    "jsonrpc": "2.0",
    "id": 4,
    "method": "session/load",
    "params": {"session_id": SESSION, "cwd": "/srv/nest"},
}
CANCEL: Frame = {"jsonrpc": "2.0", "id": 5, "method": "cancel", "params": {"session_id": SESSION}}
FAILED: Frame = {
    "jsonrpc": "2.0",
    "id": 3,
    "error": {
        "code": -32602,
        "message": "Invalid params",
        "data": {"errors": [{"field": "prompt", "problem": "empty"}]},
    },
}

THOUGHT: Frame = {"@type": "agent_thought_text", "text": "There were three yesterday."}
SAID: Frame = {"@type": "agent_message_text", "text": "There are four."}
STARTED: Frame = {
    "@type": "tool_call_start",
    "tool_call_id": CALL,
    "title": "count",
    "kind": "execute",
    "status": "in_progress",
}
PROGRESSED: Frame = {"@type": "tool_call_update", "tool_call_id": CALL, "status": "completed"}
PLANNED: Frame = {
    "@type": "plan_update",
    "entries": [
        {"content": "Fly there", "priority": "high", "status": "completed"},
        {"content": "Count", "priority": "medium", "status": "in_progress"},
    ],
}
ASKED: Frame = {
    "@type": "permission_request",
    "tool_call_id": CALL,
    "title": "count",
    "arguments": "nest --deep",
    "permission_options": [
        {"id": "approve", "title": "Go on", "is_primary": True},
        {"id": "reject", "title": "Better not"},
    ],
}

UPDATES: list[Frame] = [THOUGHT, SAID, STARTED, PROGRESSED, PLANNED]


def update(fields: Frame, session: str = SESSION) -> Frame:
    """An update as it travels."""
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": fields}}


FRAMES: list[Frame] = [
    INITIALIZE,
    WELCOME,
    NEW,
    OPENED,
    PROMPT,
    update(THOUGHT),
    update(SAID),
    ENDED,
    *UPDATES,
    LOAD,
    CANCEL,
    ASKED,
    FAILED,
]
