"""The events of a run, as data: one type for each kind.

This is the schema of `--format json`, version 1: each event is one line of JSON with its name in `event` and
its moment in `time`. The first event of a run is `start`, which alone carries `schema`; the last is `end`.
Within one version, fields and events may be added; none changes its meaning or goes away. docs/run.md
describes every event and field, and a test compares it with this page.

Agent's objects (`update`, `block`, `content`, …) are passed on as the protocol has them. Fields that are not
known are left out.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

SCHEMA = 1

AgentJson: TypeAlias = Any
"""A value of the agent as in the protocol: encoded already, or plain data."""

Phase: TypeAlias = Literal["before", "turn", "after", "replay"]
"""The time of an update: before the turn, in it, after its answer, or while a session was loaded."""


class RunEvent(Struct, frozen=True, kw_only=True, tag_field="event", rename="camel", omit_defaults=True):
    """The fields of every event."""

    time: str


class StartEvent(RunEvent, frozen=True, kw_only=True, tag="start"):
    """The run begins; no process has started yet."""

    schema: int
    version: str
    agent: str
    cwd: str
    sandbox: str = ""
    """The sandbox around the agent's own processes: `off`, `read-only` or `workspace`."""
    command_sandbox: str = ""
    """The chosen sandbox for commands in our terminals; `auto` by default."""


class AgentEvent(RunEvent, frozen=True, kw_only=True, tag="agent"):
    """The agent has answered `initialize`."""

    name: str | None = None
    version: str | None = None
    title: str | None = None
    protocol_version: int
    capabilities: AgentJson
    auth_methods: list[str] = []


class SessionEvent(RunEvent, frozen=True, kw_only=True, tag="session"):
    """A session is open."""

    session_id: str
    how: Literal["new", "loaded", "resumed"]
    modes: AgentJson | UnsetType = UNSET
    config_options: AgentJson | UnsetType = UNSET


class HandoverEvent(RunEvent, frozen=True, kw_only=True, tag="handover"):
    """Another agent continues the work of the first one."""

    from_agent: str
    agent: str
    reason: str
    lost: list[str] = []


class PhaseEvent(RunEvent, frozen=True, kw_only=True):
    """The fields of every event about an update."""

    phase: Phase = "turn"


class PieceEvent(PhaseEvent, frozen=True, kw_only=True):
    """The fields of every event about a piece of text."""

    text: str
    message_id: str | None = None


class UpdateEvent(PhaseEvent, frozen=True, kw_only=True, tag="update"):
    """An update without an event of its own, and further fields of those with one."""

    kind: str
    update: AgentJson


class TextEvent(PieceEvent, frozen=True, kw_only=True, tag="text"):
    """A piece of the agent's text."""


class ThoughtEvent(PieceEvent, frozen=True, kw_only=True, tag="thought"):
    """A piece of the agent's thoughts."""


class UserEvent(PieceEvent, frozen=True, kw_only=True, tag="user"):
    """A piece of the user's text, as the agent repeats it."""


class ContentEvent(PhaseEvent, frozen=True, kw_only=True, tag="content"):
    """Content of a message that is not text."""

    role: Literal["agent", "thought", "user"]
    block: AgentJson
    message_id: str | None = None


class ToolEvent(PhaseEvent, frozen=True, kw_only=True, tag="tool"):
    """The current state of a tool call. The fields after `status` are present if this update has them."""

    id: str
    title: str
    kind: str
    status: str
    name: str | None = None
    content: AgentJson | UnsetType = UNSET
    locations: AgentJson | UnsetType = UNSET
    raw_input: AgentJson | UnsetType = UNSET
    raw_output: AgentJson | UnsetType = UNSET


class PlanEvent(PhaseEvent, frozen=True, kw_only=True, tag="plan"):
    """The whole current plan."""

    entries: AgentJson


class UsageEvent(PhaseEvent, frozen=True, kw_only=True, tag="usage"):
    """The used part of the context, and the session's cost so far."""

    used: int
    size: int
    cost: AgentJson | UnsetType = UNSET


class NoticeEvent(PhaseEvent, frozen=True, kw_only=True, tag="notice"):
    """A notice of the agent for the user."""

    severity: str
    title: str
    description: str | None = None


class SubagentEvent(PhaseEvent, frozen=True, kw_only=True, tag="subagent"):
    """A subagent's session: it began, changed, or ended."""

    session_id: str
    parent_id: str
    name: str
    requester: str
    """Its name, and its chain of parents up to the main session."""
    level: int
    """1 for a direct subagent of the run's session, 2 for a subagent of that one, and so on."""
    state: str | UnsetType = UNSET
    standing: str
    """The state in a word or two."""
    stop_reason: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    last_line: str | UnsetType = UNSET


class ChildEvent(RunEvent, frozen=True, kw_only=True, tag="child"):
    """An event of a subagent's own session."""

    session_id: str
    name: str
    inner: InnerEvent


class DecisionEvent(RunEvent, frozen=True, kw_only=True, tag="decision"):
    """A request or an effect of the agent was allowed or denied."""

    what: str
    method: str
    kind: str
    paths: list[str] = []
    outcome: str
    by: str
    rule: str
    why: str
    remedy: str | None = None
    """The command line that allows it."""
    requester: str | None = None


class SteerEvent(RunEvent, frozen=True, kw_only=True, tag="steer"):
    """A line of standard input was sent during the turn (`--steer`); `outcome` is its fate, `failed` if it
    was not sent.
    """

    text: str
    outcome: Literal["delivered", "queued", "will_restart", "failed"]
    message: str | None = None


class QuestionEvent(RunEvent, frozen=True, kw_only=True, tag="question"):
    """The agent asks the user a question; `action` is the answer, `open` means that nobody could answer."""

    request: AgentJson
    action: str
    requester: str | None = None


class NoteEvent(RunEvent, frozen=True, kw_only=True, tag="note"):
    """A note of Dragoman for the user."""

    level: Literal["info", "warning", "error"]
    message: str


class StderrEvent(RunEvent, frozen=True, kw_only=True, tag="stderr"):
    """A line of the agent's standard error; only with `--verbose`."""

    text: str


class ChangedFileEntry(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One file of `changes`."""

    path: str
    kind: Literal["added", "modified", "removed"]
    lines_added: int = 0
    lines_removed: int = 0
    binary: bool = False
    diff: str | None = None
    reverted: bool = False
    decision: Literal["file", "command", "denied", "none"] = "file"
    """The decision about it: the file, a command that may have changed it, a denial, or none."""


class ChangesEvent(RunEvent, frozen=True, kw_only=True, tag="changes"):
    """All differences on disk since the turn began, by any program."""

    files: list[ChangedFileEntry]
    notes: list[str] = []
    unasked: list[str] = []
    """Paths of changes without approval, or after a denial."""
    asking_mode: str | None = None
    """A mode of the agent that asks first, if there are such changes."""


class EndEvent(RunEvent, frozen=True, kw_only=True, tag="end"):
    """The run is over; the process ends with `status`."""

    outcome: str
    status: int
    seconds: float
    stop_reason: str | None = None
    session_id: str | None = None
    message: str | None = None
    usage: AgentJson | UnsetType = UNSET


InnerEvent: TypeAlias = (
    UpdateEvent
    | TextEvent
    | ThoughtEvent
    | UserEvent
    | ContentEvent
    | ToolEvent
    | PlanEvent
    | UsageEvent
    | NoticeEvent
)
"""The events of a session's updates."""

AnyEvent: TypeAlias = (
    StartEvent
    | AgentEvent
    | SessionEvent
    | HandoverEvent
    | UpdateEvent
    | TextEvent
    | ThoughtEvent
    | UserEvent
    | ContentEvent
    | ToolEvent
    | PlanEvent
    | UsageEvent
    | NoticeEvent
    | SubagentEvent
    | ChildEvent
    | DecisionEvent
    | SteerEvent
    | QuestionEvent
    | NoteEvent
    | StderrEvent
    | ChangesEvent
    | EndEvent
)
