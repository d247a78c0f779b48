"""Updates that name child sessions: those of the schema, and those of an early draft that some agents use.

| the draft says | the schema says |
|---|---|
| `subagent_spawned` | `subagent_update`, with the state `running` |
| `subagentSessionId`, `name`, `task` | `sessionId`, `title`, `description` |
| `capabilities.cancel: true` | `capabilities.cancel: {}` |
| `subagent_state_update`: `completed`, `failed`, `cancelled` | the state `idle`, with a stop reason |

This is the one place that knows the words of the draft. What is none of them is left as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SPAWNED = "subagent_spawned"
_STATE = "subagent_state_update"

_STATES: dict[str, dict[str, str]] = {
    "completed": {"state": "idle", "stopReason": "end_turn"},
    "failed": {"state": "idle", "stopReason": "error"},
    "cancelled": {"state": "idle", "stopReason": "cancelled"},
}

ANNOUNCEMENTS = ("subagent_update", _SPAWNED, _STATE)
"""Updates that announce a child session, or report its fate."""

NAMES_IN_UPDATES: dict[str, tuple[str, ...]] = {
    "subagent_update": ("sessionId",),
    _SPAWNED: ("subagentSessionId",),
    _STATE: ("subagentSessionId",),
    "session_message": ("senderSessionId", "recipientSessionId"),
    "session_message_chunk": ("senderSessionId", "recipientSessionId"),
}
"""Updates that name other sessions than their own, with the fields that name them."""


def as_subagent_update(update: Mapping[str, Any]) -> dict[str, Any]:
    """Return the update in the schema's form, if it is in the form of the draft."""
    kind = update.get("sessionUpdate")
    if kind not in (_SPAWNED, _STATE):
        return dict(update)
    members: dict[str, Any] = {
        "sessionUpdate": "subagent_update",
        "sessionId": update.get("subagentSessionId"),
    }
    if kind == _STATE:
        return members | {"state": _STATES.get(str(update.get("state")), {"state": "unknown"})}
    capabilities = update.get("capabilities")
    can_cancel = isinstance(capabilities, Mapping) and capabilities.get("cancel") is True
    return members | {
        "title": update.get("name"),
        "description": update.get("task"),
        "state": {"state": "running"},
        "capabilities": {"cancel": {}} if can_cancel else {},
    }
