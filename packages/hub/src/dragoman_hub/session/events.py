"""All events of a session, and all actions that a session may request.

Events are what `step` is given. Effects are what it gives back beside entries: each names the entry that
must be stored before it is done (`after`), so that nothing happens that a crash could undo. An effect that
was stored and not done before a crash is done again, and whoever has had it drops it: an agent host knows
the number of the last frame that it took, a start finds its prompt in the queue, a question is judged again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from msgspec import Raw, Struct

from dragoman.wire.envelope import Id
from dragoman_hub.session.state import Direction, OpenRequest


class _Event(Struct, frozen=True, kw_only=True, gc=False):
    pass


# From clients.


class PromptReceived(_Event, frozen=True):
    """`params` are in the form for the agent, with key and name of the client in `_meta`."""

    key: str
    by: str
    params: Raw
    most: int = 32
    """The most prompts that may wait."""


class PromptEdited(_Event, frozen=True):
    key: str
    params: Raw


class PromptWithdrawn(_Event, frozen=True):
    key: str


class CancelReceived(_Event, frozen=True):
    """End the running turn, or the one that is about to run."""


class SteerReceived(_Event, frozen=True):
    """A message into the running turn: a request for the agent, with an id of the hub."""

    key: str
    by: str
    id: int
    frame: bytes


class SteerGivenUp(_Event, frozen=True):
    """The hub no longer waits for the agent's answer to a message."""

    key: str
    reason: str


class RequestAnswered(_Event, frozen=True):
    """An agent's request was answered; the first answer counts."""

    sequence: int
    outcome: str
    by: str = ""
    result: Raw | None = None
    error: Any = None
    reason: str = ""


class SessionMade(_Event, frozen=True):
    """The first event of a session: `process` of the agent has created it, or must load it."""

    agent: str
    cwd: str
    folders: tuple[str, ...]
    session: str
    """The agent's own id for it."""
    process: int
    result: Any = None
    key: str = ""
    """The key of the request that created it."""
    last_taken: int = 0
    """The last number of an earlier stream of this name that the agent's host has taken."""
    parent: str = ""
    """The parent session of a child, which the agent has created for its own work."""
    title: str = ""
    is_load: bool = False
    """Whether the agent must still load it: it may not have such a session."""
    source: str = ""
    """The session of another agent that continues in this one."""
    source_end: int = 0
    """The last entry of that session that counts here."""


class Renamed(_Event, frozen=True):
    title: str


class ContinuedElsewhere(_Event, frozen=True):
    """Another agent continues this session in a new one."""

    session: str
    agent: str
    by: str


class FoldersChanged(_Event, frozen=True):
    folders: tuple[str, ...]


class CloseReceived(_Event, frozen=True):
    """Close the session, and delete it afterwards if `deletes`. A turn has until `by` to end."""

    by: float
    deletes: bool = False


class ChildMade(_Event, frozen=True):
    """The agent works in a child session of this one, and the child's stream exists."""

    session: str
    own: str
    """The agent's own id for it."""


class ParentTurnEnded(_Event, frozen=True):
    """The turn for which a child session works has ended or was cancelled, so its requests end."""


class FrameForAgent(_Event, frozen=True):
    """A request or notification of a client that only the agent understands."""

    frame: bytes


class FrameForClients(_Event, frozen=True):
    """An update or an answer that everybody who follows the session sees, and the note behind it, if any."""

    frame: bytes
    note: bytes = b""


# From the agent.


class UpdatesReceived(_Event, frozen=True):
    """A run of notifications; `number` is that of the last one among the process's frames. `are_chunks` says
    that all are pieces of text (see `state.are_chunks`), if known. `go_on` says that the last entry is the
    receipt for updates, and not in the journal yet: these replace it.
    """

    frames: Sequence[bytes]
    number: int
    are_chunks: bool = False
    go_on: bool = False


class RequestReceived(_Event, frozen=True):
    """A request of the agent. While its session is being closed, or `is_ending`, no person is asked."""

    frame: bytes
    id: Id
    number: int
    is_ending: bool = False
    """Whether a parent session is being closed."""


class FrameDropped(_Event, frozen=True):
    """A frame of the agent that is not passed on: it was answered at once."""

    number: int


class AnswerReceived(_Event, frozen=True):
    """The answer to the prompt, or to the message into a turn, that the agent got under `id`."""

    frame: bytes
    id: Id
    number: int
    result: Raw | None = None
    error: Any = None


class AgentReady(_Event, frozen=True):
    """The process is ready for the prompt `key`, which it gets as request `id`. `reminder_params` are its
    params with a summary in front, for a process that does not know the session.
    """

    key: str
    id: int
    reminder_params: bytes | None = None


class StartFailed(_Event, frozen=True):
    """There is no process for the prompt `key`."""

    key: str
    error: Any


class AgentBound(_Event, frozen=True):
    """A process knows the session from now on. `note` is the stored answer with which the session was
    restored; None if the stream has it already. The event is ignored while the session is being closed: then
    the process gets the order to close it.
    """

    process: int
    survives: bool
    note: BroughtBack | None = None
    load: int = 0
    """The id of the request to restore the session; 0 if the process knows it."""
    last_received: int = 0
    """Frames of the process up to this number are older than that request, or than `note`."""
    last_taken: int = 0
    """The last number of a stream of this name that its host has, perhaps of a deleted one."""


class BroughtBack(_Event, frozen=True):
    session: str
    result: Any
    remembers: bool | None
    """Whether the process knows the earlier messages; None if clients need not know."""


class AgentUnbound(_Event, frozen=True):
    """The process was freed on purpose, or has not restored the session; it runs no work of it."""


class AgentReleased(_Event, frozen=True):
    """The session is unused: the process gets the order to close it after this is stored; it is loaded again
    on demand. A hub that finds no such entry assumes that the process knows the session.
    """


class AgentGone(_Event, frozen=True):
    """The process has ended, or is missing after a crash. `reason` is empty if unknown."""

    error: Any
    reason: str = ""


class TurnFailed(_Event, frozen=True):
    """The running turn can't be completed."""

    error: Any


class AgentClosed(_Event, frozen=True):
    """The agent has closed the session, or can't."""


# From the hub itself.


class QuestionAsked(_Event, frozen=True):
    """A question of the hub itself: a permission request with an id of the hub."""

    frame: bytes
    is_ending: bool = False
    """As in `RequestReceived`."""


class RequestJudged(_Event, frozen=True):
    """The rules' judgement of a question, which is in the audit log. From now on people may see the question,
    unless an `outcome` says that none are needed.
    """

    sequence: int
    rule: str = ""
    assessment: dict[str, Raw] | None = None
    act: Raw | None = None
    shown_params: Raw | None = None
    expires: float = 0.0
    expiry: Raw | None = None
    outcome: str = ""
    by: str = ""
    result: Raw | None = None
    error: Any = None


class RequestAssessed(_Event, frozen=True):
    """Risks that the reviewer's rules found after clients got a request."""

    sequence: int
    members: dict[str, Any]


class CheckpointTaken(_Event, frozen=True):
    """`frame` holds the state after the entries so far."""

    frame: bytes


class Draining(_Event, frozen=True):
    """Prompts wait for the next hub from now on."""


class Resumed(_Event, frozen=True):
    """The session was opened after a crash, and its open requests are handled: continue with the queue."""


class NotStored(_Event, frozen=True):
    """The entries after number `last_stored` are certainly not in the journal; they will be tried again."""

    last_stored: int
    error: Any


class EntriesStored(_Event, frozen=True):
    """The journal has all entries up to `last`. Only needed before answers may be forgotten."""

    last: int


class OwnershipLost(_Event, frozen=True):
    """Another node owns the session."""


class TimePassed(_Event, frozen=True):
    """A deadline has passed, even if the clock was set back in the meantime."""

    due: float = 0.0


Event: TypeAlias = (
    PromptReceived
    | PromptEdited
    | PromptWithdrawn
    | CancelReceived
    | SteerReceived
    | SteerGivenUp
    | RequestAnswered
    | SessionMade
    | Renamed
    | ContinuedElsewhere
    | FoldersChanged
    | CloseReceived
    | ChildMade
    | ParentTurnEnded
    | FrameForAgent
    | FrameForClients
    | UpdatesReceived
    | RequestReceived
    | FrameDropped
    | AnswerReceived
    | AgentReady
    | StartFailed
    | AgentBound
    | AgentUnbound
    | AgentReleased
    | AgentGone
    | TurnFailed
    | AgentClosed
    | QuestionAsked
    | RequestJudged
    | RequestAssessed
    | CheckpointTaken
    | Draining
    | Resumed
    | NotStored
    | EntriesStored
    | OwnershipLost
    | TimePassed
)


class NewEntry(Struct, frozen=True, gc=False):
    """Frames for the journal, with the next numbers of the stream. `pending` ones have effects after a crash,
    in their original form, not the redacted one.
    """

    direction: Direction
    frames: Sequence[bytes]
    time: float
    pending: bool = False


# What is to be done.


class _Effect(Struct, frozen=True, kw_only=True, gc=False):
    after: int
    """The entry that must be stored before."""


class StartTurn(_Effect, frozen=True):
    """Prepare the agent for this prompt, then send `AgentReady` or `StartFailed`."""

    key: str


class SendToAgent(_Effect, frozen=True):
    """Send this frame to `process`, unless it has ended; the frame is stored as entry `after`. `prompt_id` is
    the id of a prompt, whose answer belongs to the session.
    """

    frame: bytes
    process: int
    prompt_id: int | None = None


class OpenRequestReceived(_Effect, frozen=True):
    """Entry `after` is a request: provide what it needs, or judge it and send `RequestJudged`."""


class RequestSettled(_Effect, frozen=True):
    """A request is no longer open."""

    request: OpenRequest
    outcome: str
    by: str
    result: Raw | None


class TurnEnded(_Effect, frozen=True):
    """A prompt has its answer."""

    key: str


class SteerEnded(_Effect, frozen=True):
    """A message into a turn has its outcome."""

    key: str


class ChildAnnounced(_Effect, frozen=True):
    """The agent has announced a child session: see that it has a stream."""

    own: str


class EndChildRequests(_Effect, frozen=True):
    """Tell children that the turn has ended; if `spares_running`, not those that continue without it."""

    spares_running: bool


class DropOriginals(_Effect, frozen=True):
    """These entries need no more action: drop their originals."""

    sequences: tuple[int, ...]


class CloseInAgent(_Effect, frozen=True):
    """Let the agent close or delete the session, then send `AgentClosed`."""

    deletes: bool


class Forget(_Effect, frozen=True):
    """The session is closed: free it, and delete its stream if `deletes`."""

    deletes: bool


class ReplaceEntry(_Effect, frozen=True):
    """Store this note in place of entry `after`, which is not stored yet."""

    frame: bytes


class RefusePrompt(_Effect, frozen=True):
    """Tell the waiter that this prompt was not accepted."""

    key: str
    error: Any


Effect: TypeAlias = (
    StartTurn
    | SendToAgent
    | OpenRequestReceived
    | RequestSettled
    | TurnEnded
    | SteerEnded
    | ChildAnnounced
    | EndChildRequests
    | DropOriginals
    | CloseInAgent
    | Forget
    | ReplaceEntry
    | RefusePrompt
)
