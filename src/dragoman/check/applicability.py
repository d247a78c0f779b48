"""Which requirements bind a peer at all: those about a capability bind whoever advertised it.

An area is about one capability; a few of its requirements are about not having it, and bind everybody.
Version 2 knows the same things by other names, and some areas not at all.
"""

from __future__ import annotations

from dragoman.check.conversation import Conversation
from dragoman.check.manifest import Requirement, Side

_AGENT: dict[str, tuple[str, ...]] = {
    "LOAD": ("loadSession",),
    "RES": ("sessionCapabilities", "resume"),
    "CLO": ("sessionCapabilities", "close"),
    "LST": ("sessionCapabilities", "list"),
    "DEL": ("sessionCapabilities", "delete"),
    "ADIR": ("sessionCapabilities", "additionalDirectories"),
}
"""Area → what the agent must have advertised for its agent-side requirements."""

_AGENT_V2: dict[str, tuple[str, ...]] = {
    "RES": ("session",),
    "CLO": ("session",),
    "LST": ("session",),
    "DEL": ("session", "delete"),
    "ADIR": ("session", "additionalDirectories"),
}

_CLIENT: dict[str, tuple[str, ...]] = {"ELIC": ("elicitation",), "TERM": ("terminal",)}

WITHOUT: frozenset[str] = frozenset({"LOAD-10", "DEL-06", "ELIC-01"})
"""Requirements that are about not having the capability."""

GONE: frozenset[str] = frozenset({"LOAD", "MODE", "FS", "TERM"})
"""Areas that version 2 does not have."""

STAY: frozenset[str] = frozenset({"FS-01", "TERM-01"})
"""That what was not lent is not used holds in every version."""

REMOTE = frozenset({"HTTP", "WS"})


def why_not_applicable(requirement: Requirement, conversations: list[Conversation], side: Side) -> str:
    """Empty if it applies: to one of the conversations is enough."""
    if requirement.area in REMOTE and side != "server" and conversations:
        return "the peer was reached over stdio"
    greeted_conversations = [
        conversation
        for conversation in conversations
        if conversation.initialize is not None and conversation.initialize.has_result
    ]
    reasons = [
        _why_not(requirement, conversation, side) for conversation in greeted_conversations or conversations
    ]
    return reasons[0] if reasons and all(reasons) else ""


def _why_not(requirement: Requirement, conversation: Conversation, side: Side) -> str:
    area, second = requirement.area, conversation.version >= 2
    if second and area in GONE and requirement.id not in STAY:
        return "version 2 of the protocol does not have it"
    if requirement.id in WITHOUT:
        return ""
    if side == "agent":
        path = (_AGENT_V2 if second else _AGENT).get(area)
        if path is not None and conversation.agent_can(*path) in (None, False):
            return f"the agent did not advertise {'.'.join(path)}"
    if side == "client" and area in _CLIENT and conversation.client_can(*_CLIENT[area]) in (None, False):
        return f"the client did not advertise {'.'.join(_CLIENT[area])}"
    return ""
