"""Child sessions: an agent works in a session that it created itself, for a session of a client.

An agent announces a child with a `subagent_update` of the parent. The child becomes a session with a stream
of its own. Its requests are judged and answered like those of any session, in the parent's folders; only the
agent works in it. A child's stream exists before the parent's stream names it, and the name is stored before
what the agent says of the child: whoever reads the name finds the child, and no child is without a parent.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from dragoman.errors import Elsewhere, ErrorAnswer, JournalDamaged, JournalError
from dragoman.wire.codes import NOT_FOUND
from dragoman_hub.engine.lifecycle import agents_name, reserve_id
from dragoman_hub.engine.live_session import EngineHub, LiveSession, SessionFollower, SessionProcess
from dragoman_hub.engine.log import STORE_SECONDS
from dragoman_hub.engine.ports import Position
from dragoman_hub.session import events as ev
from dragoman_hub.session.state import (
    CHILDREN,
    ChildSession,
    SessionState,
    has_room_for,
    is_name,
    new_state,
)

log = logging.getLogger(__name__)

FIND_TRIES = 30
FIND_SECONDS = 1.0
"""The number and the seconds of searches for an agent's session in a journal that fails."""

DEPTH = 8
"""The most levels of children below a session; real agents have one or two."""

OPEN_CHILDREN = 1024
"""The most open children of one process."""

REST_SECONDS = 300.0
"""The seconds after which a quiet child is put to rest, if the hub's settings have no time for that."""

CLOSED_AT_ONCE = 8

MAIN_SESSION = "main session"
"""The name of a client's session where its children are named."""


RENAMED = 8
"""The most sessions to try of those that an agent has given one id: it may reuse its ids."""

T = TypeVar("T")


async def _with_retries(session_id: str, read: Callable[[], Awaitable[T]]) -> T:
    """A journal that fails is asked again: what the agent says waits until the session is read."""
    for _ in range(FIND_TRIES):
        try:
            return await read()
        except JournalDamaged:
            raise
        except JournalError as error:
            log.warning("session %s cannot be read for its agent: %s", session_id, error)
        await asyncio.sleep(FIND_SECONDS)
    return await read()


class ChildSessions:
    """The child sessions of one hub: creates them, lets clients follow them, and ends them with their
    parents.
    """

    def __init__(self, hub: EngineHub) -> None:
        self._hub = hub
        self._full_parents: set[str] = set()  # parents with too many children, for one line in the log each

    # An agent speaks of a session that is not open in its process.

    async def find(self, process: SessionProcess, own: str) -> None:
        """Open the child that the agent calls `own`, or create it."""
        if not await self._find(process, own, keeps_name=True):
            # Its stream has appeared meanwhile: a hub that was killed had it made, and the journal was slow.
            await self._find(process, own, keeps_name=False)

    async def _find(self, process: SessionProcess, own: str, *, keeps_name: bool) -> bool:
        """False if `keeps_name`, and no new session can have this name."""
        try:
            if await self._open_renamed(process, own):
                return True
            session = await self._open_session(own)
        except ErrorAnswer as error:
            # An agent that loads a session tells what was: a child's past is in its stream.
            is_replaying = any(session.is_replaying for session in process.sessions.values())
            if error.code == NOT_FOUND and not is_replaying:
                return await self._adopt(process, own, keeps_name=keeps_name)
        except (JournalError, Elsewhere):
            pass  # nobody knows whose it is, or another node does
        else:
            try:
                await self._on_existing(process, own, session)
            except JournalError:  # its parent is closed, or another node's: nobody hears the child
                if session.process is process:
                    session.unbind()
                    process.forget(session)
        return True

    async def _open_renamed(self, process: SessionProcess, own: str) -> bool:
        """Open the session that the process knows by another id than ours; False if there is none."""
        listing = await _with_retries(
            own, lambda: self._hub.journal.list(session=own, agent=process.agent, limit=RENAMED)
        )
        for info in listing.streams:
            if info.stream == own:
                continue
            try:
                session = await self._open_session(info.stream)
            except (ErrorAnswer, Elsewhere, JournalDamaged):
                continue  # it is another node's by now, or gone
            if session.process is process and process.own_ids.get(session.id) == own:
                return True
            if session.state.past_process == process.process_id and session.state.agent_session == own:
                process.skip_stored(own, session.state.last_received)
                return True
        return False

    async def _open_session(self, session_id: str) -> LiveSession:
        return await _with_retries(session_id, lambda: self._hub.session(session_id, may_load=True))

    async def _on_existing(self, process: SessionProcess, own: str, session: LiveSession) -> None:
        state = session.state
        if state.past_process == process.process_id:
            process.skip_stored(own, state.last_received)
        if not state.parent:
            if state.agent != process.agent:  # another agent's session has the same name
                await self._adopt(process, own)
            return
        parent = self._parent_of(process, own)
        is_its_own = state.agent == process.agent
        # Agents that the hub reaches over a network have no process here that would tell them apart.
        if is_its_own and state.process == process.process_id:
            self._join(session, process, own)
            parent = parent or await self._open_parent(state)
        elif is_its_own and parent is not None and parent.id == state.parent:  # by a later process
            self._join(session, process, own, is_later=True)
        else:
            await self._adopt(process, own)
            return
        await self._name_in(parent, session.id, own)

    async def _name_in(self, parent: LiveSession | None, session_id: str, own: str) -> None:
        """Store the child's name with its parent. Raises `JournalError` if the parent takes nothing more."""
        event = ev.ChildMade(session=session_id, own=own)
        if parent is None or parent.dispatch(event) not in ("done", "known"):
            raise JournalError("the parent is closed")
        await parent.wait_until_stored()

    async def _open_parent(self, state: SessionState) -> LiveSession | None:
        try:
            return self._hub.sessions.get(state.parent) or await self._hub.session(state.parent)
        except (ErrorAnswer, JournalError, Elsewhere):
            return None

    def _join(
        self, session: LiveSession, process: SessionProcess, own: str, *, is_later: bool = False
    ) -> None:
        if session.process is None and own not in process.abandoned_ids and session.state.phase == "open":
            note = ev.BroughtBack(session=own, result={}, remembers=None) if is_later else None
            process.join(session, own, note=note)
        self.on_open(session)

    def _parent_of(self, process: SessionProcess, own: str) -> LiveSession | None:
        """The session that has announced the child. Late words about a session that was deleted must not make
        another one, so whatever nobody announced is not a child.
        """
        there = [session for session in process.sessions.values() if session.state.phase == "open"]
        parents = [session for session in there if own in session.state.children]
        return parents[-1] if parents else None

    async def _adopt(self, process: SessionProcess, own: str, *, keeps_name: bool = False) -> bool:
        """As with `_find`."""
        parent = self._parent_of(process, own) if is_name(own) else None
        if parent is None:
            return True
        async with self._hub.opening(f"@children of {parent.id}"):  # children are counted one by one
            child = parent.state.children.get(own)
            if child is not None and child.id:
                session = self._hub.sessions.get(child.id)
                if session is not None:
                    self._join(session, process, own)
            elif self._has_room(process, parent, own) and parent.state.phase == "open":
                async with reserve_id(self._hub, own) as session_id:
                    if keeps_name and session_id != own:
                        return False
                    session = LiveSession(self._hub, new_state(session_id), listed_state="idle")
                    async with session.binding:  # it does not rest before the process is bound to it
                        await self._make(process, parent, session, own)
        return True

    def _has_room(self, process: SessionProcess, parent: LiveSession, own: str) -> bool:
        is_room = (
            has_room_for(parent.state, own)
            and sum(bool(session.state.parent) for session in process.sessions.values()) < OPEN_CHILDREN
            and len(self._hub.sessions) < self._hub.options.sessions
            and sum(1 for _ in parent.ancestors()) <= DEPTH
        )
        if not is_room:
            self._warn(parent)
        return is_room

    def _warn(self, parent: LiveSession) -> None:
        if parent.id not in self._full_parents:
            self._full_parents.add(parent.id)
            log.warning(
                "agent %s has more child sessions in session %s than the hub keeps: the others are not shown",
                parent.state.agent,
                parent.id,
            )

    async def _make(
        self, process: SessionProcess, parent: LiveSession, session: LiveSession, own: str
    ) -> None:
        hub, state, session_id = self._hub, parent.state, session.id
        session.lease = await hub.ownership.claim(session_id)
        hub.sessions[session_id] = session
        event = ev.SessionMade(
            agent=state.agent,
            cwd=state.cwd,
            folders=state.folders,
            session=own,
            process=process.process_id,
            last_taken=process.last_number(session_id),
            parent=parent.id,
            title=state.child(own).title,
        )
        session.dispatch(event)
        try:
            await session.log.flush(STORE_SECONDS)
            title = session.state.title
            await hub.journal.describe(
                session_id,
                agent=state.agent,
                cwd=state.cwd,
                state="idle",
                title=title,
                session=agents_name(own, session_id),
            )
            await self._name_in(parent, session_id, own)
        except JournalError as error:
            log.warning("a child of session %s could not be stored: %s", parent.id, error)
            hub.sessions.pop(session_id, None)
            await session.aclose()
            await hub.ownership.release(session.lease)
            return
        hub.on_session_change(session)
        if not process.over:
            process.join(session, own)  # last: what the agent has said of it meanwhile follows at once

    # Clients.

    def on_open(self, child: LiveSession) -> None:
        """Let the followers of the parent follow a child that is open again."""
        parent = self._hub.sessions.get(child.state.parent)
        if parent is None:
            return
        made_at = self.entry_of(parent, child).made_at
        for follower in parent.followers:
            if made_at and follower.position.sequence >= made_at:
                follower.follow_child(child, Position(child.last_visible))

    def on_attached(self, follower: SessionFollower) -> None:
        """Handle a client that follows a session from the middle: it also follows the open children."""
        for child in list(self.open_children(follower.session)):
            made_at = self.entry_of(follower.session, child).made_at
            if 0 < made_at <= follower.position.sequence:
                follower.follow_child(child, Position(child.last_visible))

    async def attach(self, parent: SessionFollower, session_id: str) -> None:
        """Send a client the events of a child that it now knows of, from its beginning. A client that does
        not know child sessions only gets the questions of the child that need people.
        """
        child = self._hub.sessions.get(session_id)
        if child is None and not parent.follows_children:
            return  # nothing is open there
        try:
            child = child or await self._hub.session(session_id)
        except (ErrorAnswer, JournalError, Elsewhere) as error:
            log.info("child session %s is not shown to a client: %s", session_id, error)
            return
        parent.follow_child(child, Position(0))

    def on_detached(self, follower: SessionFollower) -> None:
        """Handle a client that no longer follows the parent: it follows only the children
        that it requested.
        """
        for child in list(self.open_children(follower.session)):
            own = child.follower_of(follower.client)
            if own is not None and own.through is follower:
                own.detach()

    # What a session knows of its children.

    def entry_of(self, parent: LiveSession, child: LiveSession) -> ChildSession:
        return parent.state.child(child.state.agent_session)

    def requester(self, session: LiveSession) -> str:
        """Return the chain of sessions that ask: `linter, for reviewer, for main session`; empty for a
        session of a client.
        """
        children = [each for each in session.ancestors() if each.state.parent]
        names = [" ".join(child.title.split()) or child.id for child in children]
        return ", for ".join([*names, MAIN_SESSION]) if names else ""

    def tree(self, session: LiveSession) -> list[dict[str, object]]:
        """Return all open subagents of a session, each child before its own children."""
        lines: list[dict[str, object]] = []
        for child in self.open_children(session):
            record = self.entry_of(session, child)
            line = {
                "sessionId": child.id,
                "parent": session.id,
                "title": child.title,
                "state": record.work,
                "stopReason": record.stop_reason,
                "asking": len(child.state.questions),
            }
            lines += [{name: value for name, value in line.items() if value}, *self.tree(child)]
        return lines

    def open_children(self, parent: LiveSession) -> Iterator[LiveSession]:
        for record in parent.state.children.values():
            child = self._hub.sessions.get(record.id) if record.id else None
            if child is not None and child.state.parent == parent.id:
                yield child

    def on_change(self, parent: LiveSession, before: SessionState) -> None:
        """Handle new messages of the agent about its children."""
        if len(parent.state.children) == CHILDREN > len(before.children):
            self._warn(parent)
        for own, record in parent.state.children.items():
            earlier = before.child(own)
            child = self._hub.sessions.get(record.id) if record.id else None
            if child is not None and record.title and record.title != earlier.title:
                child.dispatch(ev.Renamed(title=record.title))
            elif child is not None and record.work != earlier.work:
                self._hub.on_session_change(child)

    def may_cancel(self, child: LiveSession) -> bool:
        parent = self._hub.sessions.get(child.state.parent)
        return parent is not None and self.entry_of(parent, child).can_cancel

    # Effects, and ends.

    def carry_out(self, parent: LiveSession, effect: ev.ChildAnnounced | ev.EndChildRequests) -> None:
        if isinstance(effect, ev.EndChildRequests):
            self.end_requests(parent, spares_running=effect.spares_running)
        elif parent.process is not None:
            parent.process.seek_child(effect.own)

    def end_requests(self, parent: LiveSession, *, spares_running: bool) -> None:
        for child in list(self.open_children(parent)):
            if not (spares_running and self.entry_of(parent, child).is_running):
                child.dispatch(ev.ParentTurnEnded())

    async def is_orphaned(self, child: SessionState) -> bool:
        """Whether a crash came between storing the end of the turn and informing the child."""
        parent = await self._open_parent(child)
        if parent is None:
            return True
        return parent.root.state.turn is None and not parent.state.child(child.agent_session).is_running

    async def close(self, parent: LiveSession, *, deletes: bool) -> None:
        """Close the children of a session before it: a close that a crash has interrupted
        is requested again.
        """
        at_once = asyncio.Semaphore(CLOSED_AT_ONCE)

        async def end(session_id: str) -> None:
            async with at_once:
                try:
                    child = await self._hub.session(session_id)
                    if child.state.parent == parent.id:
                        await child.close(deletes=deletes)
                except (ErrorAnswer, JournalError, Elsewhere) as error:
                    log.info("child session %s is not closed with its parent: %s", session_id, error)

        await asyncio.gather(*(end(child.id) for child in parent.state.children.values() if child.id))

    def rest_unused(self, *, seconds: float) -> None:
        """Forget quiet children; they are opened again when their agent sends messages about them."""
        now = asyncio.get_running_loop().time()
        for child in list(self._hub.sessions.values()):
            if child.state.parent and now - child.used >= (seconds or REST_SECONDS) and self._can_rest(child):
                for follower in child.followers:
                    follower.detach()
                process = child.unbind()
                if process is not None:
                    process.forget(child)
                self._hub.resting(child)

    def _can_rest(self, child: LiveSession) -> bool:
        state = child.state
        is_asked_for = any(follower.through is None for follower in child.followers)
        is_quiet = not (state.requests or state.queue or is_asked_for) and child.root.state.turn is None
        is_stored = child.log.last == state.last and state.phase == "open"
        return is_quiet and is_stored and not any(other.state.requests for other in self.open_children(child))
