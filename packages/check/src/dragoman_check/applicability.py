"""Which requirements apply to a peer, and which of them a conversation can test.

Requirements about a capability bind whoever advertised it.

An area is about one capability; a few of its requirements are about not having it, and bind everybody.
Version 2 knows the same things by other names, and some areas not at all.
"""

from __future__ import annotations

from dragoman_check.conversation import Conversation, Exchange
from dragoman_check.manifest import Requirement, Side
from dragoman_check.values import is_absolute

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
"""Requirements about a missing capability."""

GONE: frozenset[str] = frozenset({"LOAD", "MODE", "FS", "TERM"})
"""Areas that version 2 does not have."""

STAY: frozenset[str] = frozenset({"FS-01", "TERM-01"})
"""Requirements about unadvertised capabilities, which apply in every version."""

REMOTE = frozenset({"HTTP", "WS"})

_WITHOUT_SESSION = frozenset({"RPC", "INIT", "AUTH", "EXT", "ERR", "STD", "LEN"}) | REMOTE
"""Areas that show before there is a session."""

_BY_HANDSHAKE = frozenset({"SES-13", "DEL-06", "LOAD-10"})
"""Requirements of other areas that the capabilities of an agent show, or that are about not having them."""

_METHODS: dict[str, str] = {
    "LOAD": "session/load",
    "RES": "session/resume",
    "CLO": "session/close",
    "LST": "session/list",
    "DEL": "session/delete",
}
"""Area → the request without which an agent shows nothing of it."""

_BY_UPDATE = frozenset({"LST-14"})
"""Requirements of such an area that updates show."""

NEVER_SHOWN = "the recordings do not show it"
NO_METHOD = -32601


def why_not_applicable(requirement: Requirement, conversations: list[Conversation], side: Side) -> str:
    """Return why a requirement does not apply; empty if it applies to one of the conversations."""
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


def why_not_exercised(requirement: Requirement, conversations: list[Conversation], side: Side) -> str:
    """Return why a requirement can't be tested at all; empty if it can.

    An agent that opens no session, or does not know the method, keeps many rules by doing nothing.
    """
    if side != "agent" or requirement.area in _WITHOUT_SESSION or requirement.id in _BY_HANDSHAKE:
        return ""
    if not any(map(_has_session, conversations)):
        tries = [call for conversation in conversations for call in _plain_tries(conversation)]
        if tries:
            return f"session/new was answered with {tries[0].code}, and no session was opened"
    method = _METHODS.get(requirement.area)
    if method is None or requirement.id in _BY_UPDATE:
        return ""
    calls = [call for conversation in conversations for call in conversation.calls(method)]
    if calls and all(call.code == NO_METHOD for call in calls):
        return f"{method} was answered with {NO_METHOD}"
    return "" if calls else f"{method} was never called"


def _has_session(conversation: Conversation) -> bool:
    """Whether a session was opened, or is used in a recording that begins later."""
    opened = conversation.calls("session/new", "session/load", "session/resume", "session/prompt")
    return any(call.has_result for call in opened) or bool(conversation.updates())


def _plain_tries(conversation: Conversation) -> list[Exchange]:
    """Requests for a session that nothing is wrong with, and that were refused."""
    return [
        call
        for call in conversation.calls("session/new", direction="to_agent")
        if call.has_error
        and is_absolute(call.params.get("cwd"))
        and call.params.get("mcpServers") == []
        and not call.params.get("additionalDirectories")
    ]
