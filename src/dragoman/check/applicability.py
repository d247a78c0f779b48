"""Which requirements bind a peer at all: those about a capability bind whoever advertised it.

An area is about one capability; a few of its requirements are about not having it, and bind everybody.
"""

from __future__ import annotations

from dragoman.check.manifest import Requirement, Side
from dragoman.check.story import Story

_AGENT: dict[str, tuple[str, ...]] = {
    "LOAD": ("loadSession",),
    "RES": ("sessionCapabilities", "resume"),
    "CLO": ("sessionCapabilities", "close"),
    "LST": ("sessionCapabilities", "list"),
    "DEL": ("sessionCapabilities", "delete"),
    "ADIR": ("sessionCapabilities", "additionalDirectories"),
}
"""Area → what the agent must have advertised for its agent-side requirements."""

_CLIENT: dict[str, tuple[str, ...]] = {"ELIC": ("elicitation",), "TERM": ("terminal",)}

WITHOUT: frozenset[str] = frozenset({"LOAD-10", "DEL-06", "ELIC-01"})
"""Requirements that are about not having the capability."""

REMOTE = frozenset({"HTTP", "WS"})


def why_not_applicable(requirement: Requirement, stories: list[Story], side: Side) -> str:
    """Empty if it applies."""
    if requirement.id in WITHOUT or not stories:
        return ""
    if requirement.area in REMOTE and side != "server":
        return "the peer was reached over stdio"
    if side == "agent" and requirement.area in _AGENT:
        path = _AGENT[requirement.area]
        if not any(story.agent_can(*path) not in (None, False) for story in stories):
            return f"the agent did not advertise {'.'.join(path)}"
    if side == "client" and requirement.area in _CLIENT:
        path = _CLIENT[requirement.area]
        if not any(story.client_can(*path) not in (None, False) for story in stories):
            return f"the client did not advertise {'.'.join(path)}"
    return ""
