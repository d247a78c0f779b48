"""The modes of the echo agent. They change nothing but what it says about itself: they are there to be
switched.
"""

from __future__ import annotations

from dragoman import AgentSession
from dragoman.errors import ErrorAnswer
from dragoman.schema.v1 import SessionMode, SessionModeState

AVAILABLE = [
    SessionMode(id="plain", name="Plain", description="Echoes"),
    SessionMode(id="bench", name="Bench", description="Echoes too; it is here to be switched to"),
]
AT_FIRST = SessionModeState(current_mode_id=AVAILABLE[0].id, available_modes=AVAILABLE)
INVALID_PARAMS = -32602


def current(session: AgentSession) -> str:
    return str(session.data.get("mode", AT_FIRST.current_mode_id))


def switch(session: AgentSession, mode_id: str) -> None:
    known = [mode.id for mode in AVAILABLE]
    if mode_id not in known:
        raise ErrorAnswer(INVALID_PARAMS, f"Invalid params: no such mode; known are {', '.join(known)}")
    session.data["mode"] = mode_id
