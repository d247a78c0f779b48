"""The modes of the echo agent. They change nothing but what it says about itself: there is something to
switch.
"""

from __future__ import annotations

from dragoman.errors import ErrorAnswer
from dragoman.schema.v1 import SessionMode, SessionModeState

AVAILABLE = [
    SessionMode(id="plain", name="Plain", description="Echoes"),
    SessionMode(id="bench", name="Bench", description="Echoes too; it is here to be switched to"),
]
INVALID_PARAMS = -32602


class Modes:
    """Which session is in which mode."""

    def __init__(self) -> None:
        self._changed: dict[str, str] = {}  # only those that left the first mode or came back to it

    def get(self, session_id: str) -> str:
        return self._changed.get(session_id, AVAILABLE[0].id)

    def set(self, session_id: str, mode_id: str) -> None:
        known = [mode.id for mode in AVAILABLE]
        if mode_id not in known:
            raise ErrorAnswer(INVALID_PARAMS, f"Invalid params: no such mode; known are {', '.join(known)}")
        self._changed[session_id] = mode_id

    def forget(self, session_id: str) -> None:
        self._changed.pop(session_id, None)

    def state(self, session_id: str) -> SessionModeState:
        return SessionModeState(current_mode_id=self.get(session_id), available_modes=AVAILABLE)
