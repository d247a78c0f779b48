"""What an agent tells that names no session: something for everybody, or that it has given up a request.

Neither is stored: whoever is away misses the one, and the other is stored as what came of the request.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from dragoman.hub.session.frames import object_of, value_of
from dragoman.wire import Notification
from dragoman.wire.codes import CANCELLED

if TYPE_CHECKING:
    from dragoman.hub.agents.process import AgentProcess
    from dragoman.wire.envelope import Id

log = logging.getLogger(__name__)

COMPLETE = "elicitation/complete"

WITHDRAWALS = 256
"""Requests of one agent that are looked for at once."""

PAUSES = (0.0, 0.05, 0.25, 1.0)
"""Seconds between looks for a request that was made a moment ago, and is perhaps not stored yet."""


def told_beyond(process: AgentProcess, frame: bytes, note: Notification, name: str) -> None:
    """`name` is the session that it is about, which is not ours; empty if it is about none."""
    if name:
        log.info("%s told of no session of ours: %s", process.agent, note.method)
    elif note.method == "$/cancel_request":
        _give_up(process, note)
    elif note.method == COMPLETE or note.method.startswith("_"):
        _tell_everybody(process, frame, is_harmless=note.method == COMPLETE)
    else:
        log.info("%s told of no session: %s", process.agent, note.method)


def _tell_everybody(process: AgentProcess, frame: bytes, *, is_harmless: bool) -> None:
    """Whoever follows a session of this process. One who is confined to some folders is not told what may be
    about others; a slow reader is not told at all.
    """
    for client in {client for session in process.sessions.values() for client in session.followers}:
        if not client.is_full and (is_harmless or not client.grant.roots):
            client.tell(frame + b"\n")


def _give_up(process: AgentProcess, note: Notification) -> None:
    request = value_of(object_of(note.params).get("requestId"))
    session = next(iter(process.sessions.values()), None)
    if not isinstance(request, int | str) or session is None or _settled(process, request):
        return
    if process.withdrawals >= WITHDRAWALS:
        log.info("%s gives up more requests than it has made", process.agent)
    else:
        process.withdrawals += 1
        session.hub.owner.start(_settle_soon(process, request))


async def _settle_soon(process: AgentProcess, request: Id) -> None:
    try:
        for pause in PAUSES:
            await asyncio.sleep(pause)
            if _settled(process, request):
                return
    finally:
        process.withdrawals -= 1


def _settled(process: AgentProcess, request: Id) -> bool:
    """Nobody is to answer it any more; the agent hears the answer that belongs to it. False if there is no
    such request.
    """
    for session in process.sessions.values():
        for sequence, one in session.state.requests.items():
            if one.id == request:
                error = {"code": CANCELLED, "message": "Request cancelled"}
                session.settle(sequence, outcome="cancelled", by="", error=error)
                return True
    return False
