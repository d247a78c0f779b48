"""Events of a supervised agent, for its listeners.

One type for all, because what is done with them is the same: shown, logged, counted. `kind` says which fields
mean something; `text` says it to a person.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import Struct

from dragoman.errors import DragomanError, PeerDied
from dragoman.schema.v1 import Implementation

log = logging.getLogger(__name__)

EventKind: TypeAlias = Literal[
    "started", "initialized", "died", "restarting", "resumed", "lost_context", "gave_up", "noted"
]


class SupervisionEvent(Struct, frozen=True, kw_only=True):
    """One event of a supervised agent."""

    kind: EventKind
    text: str
    life: int = 0
    """The number of the agent's process: 1 is the first."""

    pid: int | None = None
    """`started`: the process id, if there is a process."""

    error: DragomanError | None = None
    """`died`, `restarting`, `lost_context`, `gave_up`: the reason."""

    in_turn: bool = False
    """`died`: whether a turn was running, which has failed with the same error."""

    delay: float = 0.0
    """`restarting`: the seconds until the restart."""

    session_id: str | None = None
    """`resumed`, `lost_context`: the session's id from now on."""

    former_id: str | None = None
    """`lost_context`: the session's earlier id."""

    how: Literal["resume", "load", "new", None] = None
    """`resumed`, `lost_context`: the method that brought the session back."""

    replayed: int = 0
    """`resumed`: the number of past updates that the agent repeated."""

    stderr: str = ""
    """`died`, `gave_up`: the end of the agent's standard error."""


class EventReporter:
    """Reports events of one agent to a listener. A listener that raises cannot harm the agent."""

    __slots__ = ("_listener", "life")

    def __init__(self, listener: Callable[[SupervisionEvent], None] | None) -> None:
        self._listener = listener
        self.life = 0

    def on_start(self, pid: int | None) -> None:
        text = "the agent was started" if pid is None else f"the agent was started as process {pid}"
        self._tell(SupervisionEvent(kind="started", text=text, life=self.life, pid=pid))

    def on_initialize(self, info: Implementation | None, *, seconds: float, pid: int | None) -> None:
        name = f"{info.name} {info.version}" if info is not None else "an agent without a name"
        text = f"{name} answered after {seconds:.2f} s"
        self._tell(SupervisionEvent(kind="initialized", text=text, life=self.life, pid=pid))

    def on_death(self, error: DragomanError, *, in_turn: bool) -> None:
        text = f"the agent died: {error}"
        self._tell(
            SupervisionEvent(
                kind="died", text=text, life=self.life, error=error, in_turn=in_turn, stderr=words(error)
            )
        )

    def on_restart(self, delay: float, why: DragomanError | None) -> None:
        text = f"the agent is started again in {delay:.1f} s"
        self._tell(SupervisionEvent(kind="restarting", text=text, life=self.life, delay=delay, error=why))

    def on_resume(self, session_id: str, how: Literal["resume", "load"], *, replayed: int) -> None:
        text = f"the session continues in a new process ({how})"
        self._tell(
            SupervisionEvent(
                kind="resumed", text=text, life=self.life, session_id=session_id, how=how, replayed=replayed
            )
        )

    def on_context_lost(self, former_id: str, session_id: str, why: DragomanError) -> None:
        text = f"the agent has lost the earlier conversation of this session: {why}"
        self._tell(
            SupervisionEvent(
                kind="lost_context",
                text=text,
                life=self.life,
                session_id=session_id,
                former_id=former_id,
                how="new",
                error=why,
            )
        )

    def on_give_up(self, error: DragomanError) -> None:
        text = f"the agent is not started again: {error}"
        self._tell(
            SupervisionEvent(kind="gave_up", text=text, life=self.life, error=error, stderr=words(error))
        )

    def note(self, text: str) -> None:
        self._tell(SupervisionEvent(kind="noted", text=text, life=self.life))

    def _tell(self, event: SupervisionEvent) -> None:
        log.info("%s (life %d)", event.kind, event.life)
        if self._listener is None:
            return
        try:
            self._listener(event)
        except Exception:  # whoever listens must not decide over an agent's life by a mistake
            log.exception("a listener failed at %s", event.kind)


def words(error: DragomanError) -> str:
    """Return the last lines of a dead agent's standard error."""
    return error.stderr if isinstance(error, PeerDied) else ""
