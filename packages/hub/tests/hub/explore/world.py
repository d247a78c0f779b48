"""One session and all that is around it, as one value.

Worlds are hashed by the million, so everything in them is a number, a short text or a tuple; the numbers of
states, batches and journals are those of `tables`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from tests.hub.explore.invariants import SessionHistory
from tests.hub.explore.tables import Item

Action: TypeAlias = tuple[Any, ...]
"""A name and what it is about."""

DELETED = -1
"""The journal of a session that was deleted."""


class Scope(NamedTuple):
    """How often each thing may happen that need not happen."""

    clients: int = 2
    """Each has one prompt."""
    cut: int = 0
    """A client loses its connection, and perhaps its answer."""
    ask: int = 0
    update: int = 0
    cancel: int = 0
    close: int = 0
    delete: int = 0
    crash: int = 0
    fail: int = 0
    """The journal says that it has not stored something."""
    die: int = 0
    start_fails: int = 0
    """An agent cannot be started, or cannot load the session."""
    release: int = 0
    drain: int = 0
    edit: int = 0
    withdraw: int = 0
    again: int = 0
    """How often a client sends a prompt again that was refused."""
    steer: int = 0
    """So many more clients have a message into a turn instead of a prompt."""
    handover: int = 0
    """How often the session is handed to another agent, each time by the same key."""
    deaf: int = 0
    """1 if the host never hears that its frames are stored, and sends them all to the next hub."""
    mortal: int = 0
    """1 if agents have no host, and end with the hub."""


class ProcessModel(NamedTuple):
    """An agent and its host. The host numbers frames, keeps those that no hub has acknowledged, and drops
    what it has taken already.
    """

    number: int = 1
    is_alive: bool = True
    knows: bool = True
    """Whether the session is open in it."""
    loads: bool = False
    """Whether it was asked to load the session, and has not answered."""
    since: int = 1
    """The entry with which it was bound."""
    taken: int = 0
    acknowledged: int = 0
    delivered: int = 0
    frames: tuple[tuple[Any, ...], ...] = ()
    """Those behind `acknowledged`."""
    prompt: tuple[str, int] | tuple[()] = ()
    is_cancelled: bool = False
    asks: str = ""
    """A request without an answer."""
    steers: tuple[tuple[str, int], ...] = ()
    """Messages into turns without an answer, with the ids of their requests."""
    updates: int = 0
    """So many updates has it sent."""

    @property
    def last(self) -> int:
        return self.acknowledged + len(self.frames)


class HubWorld(NamedTuple):
    hub: str
    """`open`: the session is; `away`: it is not; `down`: there is no hub."""
    session: int
    folded: int
    """The fold of all entries, stored or not; it should say what `session` says."""
    journal: int
    dropped: tuple[int, ...]
    """Entries of which only the redacted form is left."""
    waiting: tuple[int, ...]
    """Batches that are not known to be stored."""
    unseen: int
    """So many of them are stored, and the hub does not know yet."""
    stored: int
    outbox: tuple[Item, ...]
    starts: tuple[str, ...]
    """Prompts for which the agent is being brought there."""
    is_loading: bool
    """The hub waits for a process that was asked to load the session."""
    asked: tuple[tuple[int, bool], ...]
    """Questions of the agent, and whether this hub has judged them."""
    closing: bool
    """The agent was told to close the session."""
    closers: int
    """Clients that wait for the close."""
    process: ProcessModel
    clients: tuple[str, ...]
    """`new`, `waits`, `lost` (it has to send its prompt again) or `done`."""
    budget: Scope
    history: SessionHistory


def key_of(client: int) -> str:
    return f"k{client + 1}"
