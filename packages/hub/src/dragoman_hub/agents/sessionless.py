"""Messages of an agent without a session: notifications for all clients, and cancelled requests.

Neither is stored: whoever is away misses the one, and the other is stored as what came of the request.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from dragoman.wire import Notification
from dragoman.wire.codes import CANCELLED
from dragoman.wire.envelope import Id
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.session.frames import object_of, value_of

log = logging.getLogger(__name__)

COMPLETE = "elicitation/complete"
AUTH_STATUS = "auth/status_update"

WITHDRAWALS = 256
"""The most requests of one agent to search for at once."""

PAUSES = (0.0, 0.05, 0.25, 1.0)
"""The seconds between searches for a new request that may not be stored yet."""


class SessionlessNotifications:
    """The notifications of one process without a session. `sessions` are its loaded ones."""

    def __init__(self, agent: str, sessions: Mapping[str, LiveSession]) -> None:
        self._agent = agent
        self._sessions = sessions
        self._withdrawals = 0  # requests that it has given up, and that are looked for

    def on_notification(self, frame: bytes, note: Notification, name: str) -> None:
        """Handle a notification about the session `name`, which the hub does not have; empty if it names
        none.
        """
        if name:
            log.info("ignored %s of agent %s: unknown session", note.method, self._agent)
        elif note.method == "$/cancel_request":
            self._on_withdrawal(note)
        elif note.method in (COMPLETE, AUTH_STATUS) or note.method.startswith("_"):
            self._tell_everybody(frame, is_harmless=note.method == COMPLETE)
        else:
            log.info("ignored %s of agent %s: it names no session", note.method, self._agent)

    def _tell_everybody(self, frame: bytes, *, is_harmless: bool) -> None:
        """Whoever follows a session of this process. One who is confined to some folders is not told what may
        be about others; a slow reader is not told at all.
        """
        followers = (follower for session in self._sessions.values() for follower in session.followers)
        for client in {follower.client for follower in followers}:
            if not client.is_full and (is_harmless or not client.grant.roots):
                client.tell(frame + b"\n")

    def _on_withdrawal(self, note: Notification) -> None:
        request_id = value_of(object_of(note.params).get("requestId"))
        session = next(iter(self._sessions.values()), None)
        if not isinstance(request_id, int | str) or session is None or self._cancel(request_id):
            return
        if self._withdrawals >= WITHDRAWALS:
            log.info("agent %s withdraws more requests than it has made", self._agent)
        else:
            self._withdrawals += 1
            session.hub.owner.start(self._cancel_soon(request_id))

    async def _cancel_soon(self, request_id: Id) -> None:
        try:
            for pause in PAUSES:
                await asyncio.sleep(pause)
                if self._cancel(request_id):
                    return
        finally:
            self._withdrawals -= 1

    def _cancel(self, request_id: Id) -> bool:
        """Nobody is to answer it any more; the agent hears the answer that belongs to it. False if there is
        no such request.
        """
        for session in self._sessions.values():
            for sequence, request in session.state.requests.items():
                if request.id == request_id:
                    error = {"code": CANCELLED, "message": "Request cancelled"}
                    session.settle(sequence, outcome="cancelled", by="", error=error)
                    return True
        return False
