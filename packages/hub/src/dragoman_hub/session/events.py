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
    """`params` are as the agent is to get them, with key and name of the client in `_meta`."""

    key: str
    by: str
    params: Raw
    most: int = 32
    """How many prompts may wait."""


class PromptEdited(_Event, frozen=True):
    key: str
    params: Raw


class PromptWithdrawn(_Event, frozen=True):
    key: str


class CancelReceived(_Event, frozen=True):
    """The turn that runs or is about to run is to end."""


class SteerReceived(_Event, frozen=True):
    """A message into the running turn: a request for the agent, with an id of the hub."""

    key: str
    by: str
    id: int
    frame: bytes


class SteerGivenUp(_Event, frozen=True):
    """The agent's answer to a message is waited for no more."""

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
    """The first event of a session: `process` of the agent has made it, or is asked to load it."""

    agent: str
    cwd: str
    folders: tuple[str, ...]
    session: str
    """The agent's own id for it."""
    process: int
    result: Any = None
    key: str = ""
    """The key of the request that it was made for."""
    last_taken: int = 0
    """The last number of an earlier stream of this name that the agent's host has taken."""
    parent: str = ""
    """The session whose child it is: the agent has made it for its own work."""
    title: str = ""
    is_load: bool = False
    """Whether the agent is still asked to load it: it may not have such a session."""
    source: str = ""
    """The session of another agent that goes on in this one."""
    source_end: int = 0
    """The last entry of that one that counts here."""


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
    that all are pieces of text (see `state.are_chunks`), if that is known. `go_on` says that the last entry
    is the receipt for updates, and that the journal has not been given it: these go in its place.
    """

    frames: Sequence[bytes]
    number: int
    are_chunks: bool = False
    go_on: bool = False


class RequestReceived(_Event, frozen=True):
    """Nobody is asked what an agent asks while its session is being closed, or `is_ending`."""

    frame: bytes
    id: Id
    number: int
    is_ending: bool = False
    """Whether a session for which this one works is being closed."""


class FrameDropped(_Event, frozen=True):
    """A frame of the agent that goes no further: it was answered on the spot."""

    number: int


class AnswerReceived(_Event, frozen=True):
    """The answer to the prompt, or to the message into a turn, that the agent got under `id`."""

    frame: bytes
    id: Id
    number: int
    result: Raw | None = None
    error: Any = None


class AgentReady(_Event, frozen=True):
    """The process is there for the prompt `key`, which it gets as request `id`.
    `reminder_params` are its params with what was said before in front, for a process that does not know it.
    """

    key: str
    id: int
    reminder_params: bytes | None = None


class StartFailed(_Event, frozen=True):
    """There is no process for the prompt `key`."""

    key: str
    error: Any


class AgentBound(_Event, frozen=True):
    """A process knows the session from here on. `note` is what is written down of it: the answer with which
    the session was brought back; None if the stream says it already. It is ignored while the session is being
    closed: the process is told to close it then.
    """

    process: int
    survives: bool
    note: BroughtBack | None = None
    load: int = 0
    """The id of the request by which the process is asked to bring the session back; 0 if it knows it."""
    last_received: int = 0
    """Frames of the process up to this number are older than that request, or than `note`."""
    last_taken: int = 0
    """The last number that its host has of a stream of this name, perhaps of one that was deleted."""


class BroughtBack(_Event, frozen=True):
    session: str
    result: Any
    remembers: bool | None
    """Whether the process knows what was said before; None if clients need not hear of it."""


class AgentUnbound(_Event, frozen=True):
    """The process is let go of on purpose, or has not brought the session back; nothing of it runs there."""


class AgentReleased(_Event, frozen=True):
    """The session is unused: the process gets the order to close it once this is stored; it is loaded again
    when somebody does. A hub that finds no such entry takes the process for one that knows the session.
    """


class AgentGone(_Event, frozen=True):
    """The process has ended, or is not there after a crash. `reason` is empty if nobody knows one."""

    error: Any
    reason: str = ""


class TurnFailed(_Event, frozen=True):
    """The turn that runs cannot be brought to its end."""

    error: Any


class AgentClosed(_Event, frozen=True):
    """The agent has closed the session, or cannot."""


# From the hub itself.


class QuestionAsked(_Event, frozen=True):
    """A question of the hub's own: a request for permission with an id of the hub."""

    frame: bytes
    is_ending: bool = False
    """As with `RequestReceived`."""


class RequestJudged(_Event, frozen=True):
    """The rules' judgement of a question, which is in the audit log. People may know of the question from
    here on, unless an `outcome` says that it needs no people any more.
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
    """`frame` says what the entries so far have come to."""

    frame: bytes


class Draining(_Event, frozen=True):
    """Prompts wait for the next hub from here on."""


class Resumed(_Event, frozen=True):
    """The session was opened after a crash, and its open requests are handled: continue with the queue."""


class NotStored(_Event, frozen=True):
    """The entries behind number `last_stored` are certainly not in the journal; they will be tried again."""

    last_stored: int
    error: Any


class EntriesStored(_Event, frozen=True):
    """The journal has all entries up to `last`. Nobody needs to say so before answers are to be forgotten."""

    last: int


class OwnershipLost(_Event, frozen=True):
    """Another node has the session."""


class TimePassed(_Event, frozen=True):
    """A deadline has passed, also if the clock was set back meanwhile."""

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
    """Frames for the journal, with the next numbers of the stream. `pending` ones are acted upon after a
    crash, as they are said here and not as they are redacted.
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
    """Bring the agent there for this prompt, and say `AgentReady` or `StartFailed`."""

    key: str


class SendToAgent(_Effect, frozen=True):
    """Give `process` this frame, which is stored as entry `after`, unless it has ended. `prompt_id` is the
    id of a prompt: the answer to it belongs to the session.
    """

    frame: bytes
    process: int
    prompt_id: int | None = None


class OpenRequestReceived(_Effect, frozen=True):
    """Entry `after` is a request: provide what it needs, or judge it and send `RequestJudged`."""


class RequestSettled(_Effect, frozen=True):
    """A request is open no more."""

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
    """Tell children that the turn has ended; if `spares_running`, not those that go on without it."""

    spares_running: bool


class DropOriginals(_Effect, frozen=True):
    """Nobody has to act upon these entries any more."""

    sequences: tuple[int, ...]


class CloseInAgent(_Effect, frozen=True):
    """Let the agent close the session, or delete it, and say `AgentClosed`."""

    deletes: bool


class Forget(_Effect, frozen=True):
    """The session is closed: let go of it, and delete its stream if `deletes`."""

    deletes: bool


class ReplaceEntry(_Effect, frozen=True):
    """Store this note in the place of entry `after`, which is not stored yet."""

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
