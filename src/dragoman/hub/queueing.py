"""Prompts that wait for their turn: changed in their place, or taken back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import Raw

from dragoman.hub.frames import encoded, merged
from dragoman.hub.notes import note

if TYPE_CHECKING:
    from dragoman.hub.session import HubSession
    from dragoman.journal import Stored

CANCELLED = b'{"stopReason":"cancelled"}'


def edit(session: HubSession, key: str, params: dict[str, Raw]) -> None:
    """Another prompt in the place of this one, unless it is on its way already."""
    for one in session.memory.queue:
        if one.key == key and not session.is_starting(key):
            one.params = Raw(encoded(merged(params, {"key": key, "by": one.by})))
            one.is_whole = True
            members = {"key": key, "by": one.by, "prompt": params.get("prompt"), "params": one.params}
            edited = note("edited", **members)
            session.log.add([("note", edited)], partial(session.on_queued, one), pending=True)


def withdraw(session: HubSession, key: str) -> bool:
    """Take a prompt back; whoever waits for it hears that it was cancelled. False if it is too late."""
    memory = session.memory
    if key in session.lookups:
        session.lookups.cancel(key)
        return True
    if session.is_starting(key) or session.is_ending(key):
        return False
    if not any(one.key == key for one in memory.queue):
        return False
    taken_back = [one for one in memory.queue if one.key == key]
    memory.queue = [one for one in memory.queue if one.key != key]
    session.ending.add(key)  # who sends it again waits for its end, and does not begin it anew
    session.log.add([("note", note("withdrawn", key=key))])

    def withdrawn(stored: Stored) -> None:
        failed = memory.failed  # how the last turn that was run has ended
        memory.see([stored])
        memory.failed = failed
        session.ending.discard(key)
        session.pending.settle(*(one.sequence for one in taken_back))
        session.changed()

    session.log.add([("note", note("turn_ended", key=key, result=Raw(CANCELLED)))], withdrawn)
    return True
