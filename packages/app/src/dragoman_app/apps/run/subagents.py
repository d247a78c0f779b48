"""Turns the updates of a session and its subagents into events, in the order of their arrival.

The events of the session itself are those of `Narrator`. What a subagent says and does is a `child` event
around the same events, so that a reader who knows no subagents does not take their words for the agent's.
Whenever a subagent begins, changes or ends, a `subagent` event says for whom it works and how it stands.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from msgspec import UNSET
from msgspec.structs import replace

from dragoman.schema import v1
from dragoman.sdk.client.subagents import Subagent, SubagentTree
from dragoman_app.apps.run import events
from dragoman_app.apps.run.events import AnyEvent, InnerEvent, Phase
from dragoman_app.apps.run.narrate import Narrator, now

MOST_LATE = 1000
"""The most waiting updates of subagents outside the turn; the oldest go first."""


class FamilyNarrator:
    """The updates of one session and of all its subagents."""

    def __init__(self) -> None:
        self.session_id = ""
        self._tree = SubagentTree()
        self._narrators: dict[str, Narrator] = {}
        self._late: deque[v1.SessionNotification] = deque(maxlen=MOST_LATE)

    def tell(self, note: v1.SessionNotification, phase: Phase = "turn") -> Iterator[AnyEvent]:
        session_id = note.session_id
        is_own = session_id == self.session_id
        subagent = self._tree.hear(note)
        narrator = self._narrators.setdefault(session_id, Narrator())
        event = narrator.tell(note.update, phase)
        yield event if is_own else self._child_event(session_id, event)
        if subagent is not None:
            yield self._subagent_event(subagent, phase)

    def on_late(self, note: v1.SessionNotification) -> None:
        """Keep an update of a subagent that no turn takes."""
        self._late.append(note)

    def tell_late(self, phase: Phase) -> Iterator[AnyEvent]:
        while self._late:
            yield from self.tell(self._late.popleft(), phase)

    def tell_lost(self) -> Iterator[AnyEvent]:
        """Report the subagents that were still at work at the end."""
        for subagent in self._tree:
            if subagent.is_running:
                yield self._subagent_event(replace(subagent, state="unknown"), "after")

    def _child_event(self, session_id: str, event: InnerEvent) -> events.ChildEvent:
        subagent = self._tree.get(session_id)
        return events.ChildEvent(
            time=event.time,
            session_id=session_id,
            name=session_id if subagent is None else subagent.name,
            inner=event,
        )

    def _subagent_event(self, subagent: Subagent, phase: Phase) -> events.SubagentEvent:
        return events.SubagentEvent(
            time=now(),
            phase=phase,
            session_id=subagent.id,
            parent_id=subagent.parent,
            name=subagent.name,
            requester=self._tree.requester(subagent.id),
            level=len(self._tree.lineage(subagent.id)),
            state=subagent.state or UNSET,
            standing=subagent.standing,
            stop_reason=subagent.stop_reason or UNSET,
            description=subagent.description or UNSET,
            last_line=self._tree.last_line(subagent.id) or UNSET,
        )
