"""The state of a session, computed from the entries of its stream.

`apply` is the only way in which entries become state, both when the hub writes them and when a later hub
reads them: what the hub believes and what it would believe after a crash are the same. Beside that the
state has what no entry says, because a crash ends it: which prompt is on its way to the agent, whether a
process is bound to the session, and whether the session is being closed.

Nothing here is changed in place. A journal redacts what it stores; `restore` puts originals back where
something is still to be acted upon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from sys import intern
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import UNSET, Raw, Struct
from msgspec.structs import replace

from dragoman.schema import subagent_words
from dragoman.schema.waits import is_for_person
from dragoman.wire import Notification, Request, decode, response
from dragoman.wire.envelope import Id
from dragoman_hub.session.frames import (
    all_begin,
    encode_json,
    object_of,
    ours_in,
    stable_result,
    update_kind,
    update_start,
    value_of,
)
from dragoman_hub.session.notes import StreamNote, read_note

Direction: TypeAlias = Literal["to_agent", "to_client", "note"]

SAVED_STATES = ("closed", "archived")
"""The states in listings of sessions that are not open; lists leave archived ones out."""

Phase: TypeAlias = Literal["open", "closing", "closed", "lost"]
"""`closing`: prompts are refused, the turn is being ended. `closed`: no more events. `lost`: another node has
the session.
"""

TEXT_KINDS = (b"agent_message_chunk", b"agent_thought_chunk")
"""The kinds of nearly all updates; none of them changes the state."""

KEPT_KINDS = frozenset(
    {
        b"current_mode_update",
        b"config_option_update",
        b"available_commands_update",
        b"plan",
        b"usage_update",
        b"session_info_update",
    }
)
"""Updates of which only the latest matters; a client that joins late gets those at once."""

ANNOUNCEMENTS = frozenset(kind.encode() for kind in subagent_words.ANNOUNCEMENTS)
"""Updates with which an agent announces child sessions and reports their fate."""

TITLE = 80
"""The most characters of a title from a prompt, or for a child."""

LONGEST_TITLE = 200
"""The most characters of a title from a client or an agent: it is in every list of sessions."""

SHORTEST_TITLE = 4
"""The least characters of a prompt that may become a title, unless its script says much with few."""

TOOL_CALLS = frozenset({b"tool_call", b"tool_call_update"})
"""Updates about the subject of a later permission request."""

QUESTIONS = frozenset({"session/request_permission", "elicitation/create"})
"""Requests that people answer; all others are for the provider of files and terminals."""

OWN_ID = "hub:"
"""The prefix of ids of the hub's own questions; no agent may use such an id."""

_RESULTS = {
    text: text
    for reason in (b"end_turn", b"cancelled")
    for text in (b'{"stopReason":"%b"}' % reason, b'{"stopReason": "%b"}' % reason)
}
"""Results of nearly all prompts, of which one copy is enough."""

ANSWERS = 64
"""The answers to prompts in memory, for clients that lost theirs; the journal has all of them."""

CHILDREN = 64
"""The most child sessions that an agent may begin in one turn of their parent; it needs a few."""

ALL_CHILDREN = 1024
"""The most child sessions of one session in all its turns."""

REDACTED = "[redacted]"
"""The replacement of a secret in journals."""


class QueuedPrompt(Struct, frozen=True):
    """A prompt that waits for its turn."""

    key: str
    by: str
    params: Raw
    sequence: int = 0
    """The entry with these params."""
    since: int = 0
    """The entry with which it was accepted; different from the one above if it was edited."""
    is_whole: bool = True
    """False if only the redacted form is left, which must not have effects."""


class OpenTurn(Struct, frozen=True):
    """A prompt that was sent to the agent and has no answer."""

    key: str
    by: str
    id: Id
    sequence: int
    lends: tuple[str, ...] = ()
    """Methods that its client answers: the agent waits for the client if it is disconnected."""
    since: int = 0
    """The entry with which it was accepted."""


class OpenSteer(Struct, frozen=True):
    """A message into a running turn that was sent to the agent and has no answer."""

    key: str
    id: int
    sequence: int
    """The entry with the frame for the agent."""
    method: str = ""
    params: Raw = Raw(b"{}")
    by: str = ""
    """The token that sent it."""


class OpenRequest(Struct, frozen=True):
    """An unanswered request of the agent, or a question of the hub itself."""

    sequence: int
    id: Id
    method: str
    params: Raw
    time: float
    expires: float = 0.0
    expiry: Raw | None = None
    """The answer when it expires."""
    rule: str = ""
    """The rule of the policy by which people are asked."""
    assessment: dict[str, Raw] | None = None
    """The risks that the reviewer's rules found, for clients; None until they are known."""
    act: Raw | None = None
    """The judged action, for people."""
    shown_params: Raw | None = None
    """The params with everything that was judged; None if the agent's own are complete."""
    is_whole: bool = True
    """As in `QueuedPrompt`."""
    is_judged: bool = False
    """Whether a question is judged, and the judgement is stored. It ends with the hub: the next hub judges
    the question again before clients see it.
    """

    @property
    def is_own(self) -> bool:
        """Whether it is the hub's own, so that its answer is not for the agent."""
        return is_own_id(self.id)

    @property
    def shown(self) -> Raw:
        """The params for clients."""
        return self.params if self.shown_params is None else self.shown_params

    @property
    def judgement(self) -> dict[str, Raw]:
        """Members for clients besides the params: the judgement and the risks."""
        return {**({} if self.act is None else {"act": self.act}), **(self.assessment or {})}

    @property
    def is_question(self) -> bool:
        return self.method in QUESTIONS

    @property
    def is_visible(self) -> bool:
        """Whether clients may see and answer it: a question only after it is judged."""
        return self.is_judged or not self.is_question


class ChildSession(Struct, frozen=True):
    """A session's record of its child session, which its agent has announced or named."""

    turn: int = 0
    """The turn in which it first appeared."""
    title: str = ""
    can_cancel: bool = False
    """Whether the agent accepts `session/cancel` for it."""
    is_running: bool = False
    """Whether the agent has reported that it works, with or without a turn of the parent."""
    id: str = ""
    """The hub's id for it; empty until it has a stream."""
    made_at: int = 0
    """The entry with that id."""
    work: str = ""
    """The last announced state: `running`, `requires_action`, `idle` and the like."""
    stop_reason: str = ""
    """The stop reason of its last turn, while it is idle."""


class PromptAnswer(Struct, frozen=True, gc=False):
    """The outcome of a prompt, and the entry with it."""

    sequence: int
    key: str
    is_error: bool
    content: bytes
    """The result or the error; empty if the entry has neither."""
    by: str = ""
    """The token that sent the prompt; empty if the entry does not have it."""

    @classmethod
    def read(cls, sequence: int, note: StreamNote) -> PromptAnswer:
        result, error, by = note.result, note.error, intern(note.by)
        if isinstance(result, Raw):
            content = bytes(result)
            return cls(sequence, note.key, False, _RESULTS.get(content, content), by)
        return cls(sequence, note.key, True, bytes(error) if isinstance(error, Raw) else b"", by)

    @property
    def note(self) -> StreamNote:
        """The note of the entry."""
        if not self.is_error:
            return StreamNote("turn_ended", key=self.key, by=self.by, result=Raw(self.content))
        error = Raw(self.content) if self.content else UNSET
        return StreamNote("turn_ended", key=self.key, by=self.by, error=error)

    def to(self, request_id: Id, *, usage: bool) -> bytes:
        """Return the answer for the waiter with this id, who may want the usage."""
        if not self.is_error:
            return response(request_id, stable_result(self.content, usage=usage))
        error = self.content or b'{"code":-32603,"message":"Internal error"}'
        return b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (encode_json(request_id), error)


class EntryView(Protocol):
    """An entry and its position in the stream, as journals return it."""

    @property
    def sequence(self) -> int: ...
    @property
    def direction(self) -> Direction: ...
    @property
    def frame(self) -> bytes: ...
    @property
    def time(self) -> float: ...


class EntryRun(Protocol):
    """Consecutive entries with the same direction and time."""

    @property
    def direction(self) -> Direction: ...
    @property
    def frames(self) -> Sequence[bytes]: ...
    @property
    def time(self) -> float: ...


class SessionState(Struct, frozen=True, kw_only=True):
    """The state of a session. The first part is in its stream, the second ends with the hub."""

    id: str
    last: int = 0
    """The number of the last entry, stored or on its way to the journal."""
    agent: str = ""
    cwd: str = ""
    folders: tuple[str, ...] = ()
    agent_session: str = ""
    """The agent's id of the session."""
    process: int = 0
    """The last process that knew the session, and since which entry; 0 after the order to close it."""
    bound_at: int = 0
    taken_before: int = 0
    """The number after which frames for the process's host begin: it has earlier ones of a stream of this
    name.
    """
    agent_answer: dict[str, Raw] = {}
    """The agent's answer when the session was created or restored."""
    loading: int = 0
    """The id of the request by which the process restores the session; 0 if there is none."""
    is_incomplete: bool = False
    """Whether the agent must load one of its own sessions, and has not confirmed it yet."""
    last_received: int = 0
    """Frames of the process up to this number are in the stream, or not for it."""
    past_process: int = 0
    """The last process of the session, to which that number belongs; 0 while there is one."""
    turn: OpenTurn | None = None
    queue: tuple[QueuedPrompt, ...] = ()
    requests: dict[int, OpenRequest] = {}
    answers: dict[str, PromptAnswer] = {}
    has_old_answers: bool = False
    """Whether there are answers that only the journal has."""
    steers: dict[str, OpenSteer] = {}
    """Unanswered messages into turns, by their keys."""
    steer_answers: dict[str, PromptAnswer] = {}
    """The outcomes of the last messages into turns."""
    latest: dict[bytes, bytes] = {}
    title: str = ""
    has_failed: bool = False
    turns: int = 0
    parent: str = ""
    """The parent session of a child; empty for a session of a client."""
    children: dict[str, ChildSession] = {}
    """Child sessions by the agent's own ids."""
    source: str = ""
    """The session of another agent that continues in this one."""
    is_unbriefed: bool = False
    """Whether no turn with a summary of that session has ended yet."""
    successor: str = ""
    """The session in which another agent continues."""

    phase: Phase = "open"
    start: str = ""
    """The key of the prompt that is on its way to the agent: the first of the queue, or none."""
    is_bound: bool = False
    """Whether a process knows the session now."""
    survives: bool = False
    """Whether that process outlives the hub, so that the next hub can use the numbers of its frames."""
    remind: bool = False
    """Whether the process does not know the earlier messages."""
    is_draining: bool = False
    """Whether prompts wait for the next hub."""
    last_stored: int | None = None
    """The last stored entry; None while the stream is read. Answers after it stay in memory, because they are
    not in the journal.
    """
    closing_process: int | None = None
    """The process that must close the session, and still gets answers to its requests."""
    deletes: bool = False
    """Whether the session is deleted after it is closed."""
    close_by: float = 0.0
    """The time at which a turn that does not end is given up because the session is being closed."""

    @property
    def is_busy(self) -> bool:
        return self.turn is not None or bool(self.start)

    @property
    def waits_for_agent(self) -> bool:
        """Whether a caller waits for an answer of its agent."""
        return self.is_busy or bool(self.loading) or bool(self.steers)

    @property
    def is_calm(self) -> bool:
        """Whether nothing is in progress: no caller waits for the agent, and the agent waits for nothing."""
        return not (self.waits_for_agent or self.queue or self.requests)

    @property
    def waits_for_person(self) -> bool:
        """Whether its agent waits for a person's answer, here or at the client that provides files."""
        return any(is_for_person(request.method) for request in self.requests.values())

    @property
    def questions(self) -> Sequence[OpenRequest]:
        """The open questions for people, without those that are not judged yet."""
        if not self.requests:
            return ()
        return [request for request in self.requests.values() if request.is_question and request.is_judged]

    def visible_request(self, sequence: int) -> OpenRequest | None:
        """Return the open request with this number, if clients may see it."""
        request = self.requests.get(sequence)
        return request if request is not None and request.is_visible else None

    @property
    def withheld_from(self) -> int:
        """The first question that is not judged yet: clients get nothing from there on; 0
        if there is none.
        """
        if not self.requests:
            return 0
        return min((number for number, request in self.requests.items() if not request.is_visible), default=0)

    @property
    def listed_state(self) -> str:
        """The state in listings, in one word."""
        if self.questions:
            return "waiting"
        if not self.is_calm:
            return "running"  # the next hub looks for it after a crash: the agent waits for something
        return "failed" if self.has_failed else "idle"

    def has_open_prompt(self, key: str) -> bool:
        """Whether a prompt with this key waits or runs."""
        is_running = self.turn is not None and self.turn.key == key
        return is_running or any(prompt.key == key for prompt in self.queue)

    def knows_key(self, key: str) -> bool:
        """Whether a prompt with this key is open, or its answer in memory."""
        return key in self.answers or self.has_open_prompt(key)

    @property
    def places(self) -> tuple[str, ...]:
        """All its folders, its working folder first."""
        return (self.cwd, *self.folders)

    def owner_of(self, key: str) -> str:
        """Return the token of the prompt with this key; empty if that is not in memory."""
        prompts = (*((self.turn,) if self.turn is not None else ()), *self.queue)
        owner = next((prompt.by for prompt in prompts if prompt.key == key), "")
        return owner or (self.answers[key].by if key in self.answers else "")

    def owner_of_steer(self, key: str) -> str:
        """Return the same for a message into a turn."""
        if key in self.steers:
            return self.steers[key].by
        return self.steer_answers[key].by if key in self.steer_answers else ""

    def knows_steer(self, key: str) -> bool:
        """Whether a message into a turn with this key is at the agent, or its outcome in memory."""
        return key in self.steers or key in self.steer_answers

    @property
    def current(self) -> OpenTurn | QueuedPrompt | None:
        """The prompt that is at the agent, or on its way to it."""
        return self.turn or (self.queue[0] if self.start else None)

    def child(self, own: str) -> ChildSession:
        """Return the known facts of a child, by the agent's own id."""
        return self.children.get(own) or ChildSession()

    def update(self, kind: bytes) -> dict[str, Raw]:
        """Return the latest update of a kind, its members undecoded."""
        return object_of(object_of(object_of(self.latest.get(kind)).get("params")).get("update"))


_NOTHING: dict[Any, Any] = {}
"""Nothing is changed in place, so all sessions can have the same."""


def new_state(session_id: str) -> SessionState:
    """Return the state of a session without entries."""
    return SessionState(
        id=session_id,
        agent_session=session_id,
        agent_answer=_NOTHING,
        requests=_NOTHING,
        answers=_NOTHING,
        steers=_NOTHING,
        steer_answers=_NOTHING,
        latest=_NOTHING,
        children=_NOTHING,
    )


def is_own_id(request_id: object) -> bool:
    return isinstance(request_id, str) and request_id.startswith(OWN_ID)


def is_name(session_id: str) -> bool:
    """Whether it can be the name of a session's stream."""
    return 0 < len(session_id) <= 200 and session_id.isprintable() and session_id[0] != "@"


# Entries become state.


def fold(state: SessionState, entries: Iterable[EntryView]) -> SessionState:
    """Return the state after these entries, which follow those in this state. A page with runs is read by the
    run.
    """
    runs: Iterable[EntryRun] | None = getattr(entries, "runs", None)
    if runs is not None:
        for run in runs:
            state = apply(state, run.direction, run.frames, run.time)
        return state
    for entry in entries:
        if entry.sequence > state.last:
            state = replace(state, last=entry.sequence - 1)
            state = apply(state, entry.direction, (entry.frame,), entry.time)
    return state


def apply(state: SessionState, direction: Direction, frames: Sequence[bytes], time: float) -> SessionState:
    """Return the state after frames that get the next numbers of its stream."""
    if direction == "to_client":
        return _apply_from_agent(state, frames, time)
    apply_frame = _apply_to_agent if direction == "to_agent" else _apply_note
    for frame in frames:
        state = apply_frame(replace(state, last=state.last + 1), frame)
    return state


def are_chunks(session_id: str, frames: Sequence[bytes]) -> bool:
    """Whether all of these are pieces of text of this session, as nearly all frames are. They change only the
    count of entries.
    """
    return all_begin(frames, *_chunk_starts(session_id))


@lru_cache(8)  # few sessions stream at a time, and thousands are idle
def _chunk_starts(session_id: str) -> tuple[bytes, ...]:
    start = update_start(session_id)
    return tuple(start + kind + b'"' for kind in TEXT_KINDS)


def tool_call_updates(session_id: str, frames: Sequence[bytes]) -> Iterator[Raw]:
    """Return the updates about tool calls in frames of an agent."""
    if are_chunks(session_id, frames):
        return
    start = update_start(session_id)
    for frame in frames:
        kind = update_kind(frame, start)
        if kind is None or kind in TOOL_CALLS:
            update = object_of(object_of(frame).get("params")).get("update")
            name = value_of(object_of(update).get("sessionUpdate"))
            if update is not None and isinstance(name, str) and name.encode() in TOOL_CALLS:
                yield update


def _apply_from_agent(state: SessionState, frames: Sequence[bytes], time: float) -> SessionState:
    first, last = state.last + 1, state.last + len(frames)
    if are_chunks(state.id, frames):
        return replace(state, last=last)
    start = update_start(state.id)
    latest: dict[bytes, bytes] = {}
    requests: dict[int, OpenRequest] = {}
    announcements: list[bytes] = []
    for sequence, frame in enumerate(frames, first):
        kind = update_kind(frame, start)
        if kind is not None:
            if kind in KEPT_KINDS:
                latest[kind] = frame
            elif kind in ANNOUNCEMENTS:
                announcements.append(frame)
            continue
        match decode(frame):
            case Notification(params=params):
                kind_name = value_of(object_of(object_of(params).get("update")).get("sessionUpdate"))
                if isinstance(kind_name, str) and kind_name.encode() in KEPT_KINDS:
                    latest[kind_name.encode()] = frame
                elif isinstance(kind_name, str) and kind_name.encode() in ANNOUNCEMENTS:
                    announcements.append(frame)
            case Request(id=request_id, method=method, params=params):
                raw_params = Raw(b"{}" if params is None else bytes(params))
                requests[sequence] = OpenRequest(sequence, request_id, method, raw_params, time)
    state = replace(
        state,
        last=last,
        latest={**state.latest, **latest} if latest else state.latest,
        requests={**state.requests, **requests} if requests else state.requests,
    )
    for frame in announcements:
        state = _apply_announcement(state, frame)
    # A session that goes on from another one has the title of that. The agent would make one of the brief.
    if b"session_info_update" in latest and not (state.source and state.title):
        title = value_of(state.update(b"session_info_update").get("title"))
        return replace(state, title=title[:LONGEST_TITLE]) if isinstance(title, str) else state
    return state


def _apply_announcement(state: SessionState, frame: bytes) -> SessionState:
    """A `subagent_update`: what it leaves out stays as it was, and null takes it back."""
    content = value_of(object_of(object_of(frame).get("params")).get("update"))
    update = subagent_words.as_subagent_update(content) if isinstance(content, dict) else {}
    name = update.get("sessionId")
    if not isinstance(name, str) or not is_name(name) or name == state.id or not has_room_for(state, name):
        return state
    child = state.children.get(name) or ChildSession(turn=state.turns)
    if "title" in update:
        child = replace(child, title=_short_text(update["title"]))
    if "capabilities" in update:
        child = replace(child, can_cancel=isinstance(_members(update["capabilities"]).get("cancel"), dict))
    if "state" in update:
        members = _members(update["state"])
        child = replace(
            child,
            is_running=members.get("state") in ("running", "requires_action"),
            work=_short_text(members.get("state")),
            stop_reason=_short_text(members.get("stopReason")),
        )
    return _with_child(state, name, child)


def _members(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _short_text(value: object) -> str:
    return value[:TITLE] if isinstance(value, str) else ""


def has_room_for(state: SessionState, child: str) -> bool:
    """Whether this child is known, or may be added."""
    if child in state.children:
        return True
    of_turn = sum(child.turn == state.turns for child in state.children.values())
    return of_turn < CHILDREN and len(state.children) < ALL_CHILDREN


def _apply_child_made(state: SessionState, note: StreamNote) -> SessionState:
    own = note.own or note.session
    child = state.children.get(own) or ChildSession(turn=state.turns)
    return _with_child(state, own, replace(child, id=note.session, made_at=state.last))


def _with_child(state: SessionState, name: str, child: ChildSession) -> SessionState:
    if state.children.get(name) == child:
        return state
    return replace(state, children={**state.children, name: child})


def _apply_to_agent(state: SessionState, frame: bytes) -> SessionState:
    if state.steers:
        state = _apply_steer_frame(state, frame)
    if b'"session/prompt"' not in frame:
        return state
    message = decode(frame)
    if not isinstance(message, Request) or message.method != "session/prompt":
        return state
    ours = ours_in(object_of(message.params))
    key, lends = str(ours.get("key", "")), ours.get("lends")
    turn = OpenTurn(
        key,
        str(ours.get("by", "")),
        message.id,
        state.last,
        tuple(str(method) for method in lends) if isinstance(lends, list) else (),
        next((prompt.since for prompt in state.queue if prompt.key == key), 0),
    )
    return replace(state, turn=turn, turns=state.turns + 1, queue=_without(state.queue, key))


def _apply_steering(state: SessionState, note: StreamNote) -> SessionState:
    steer = OpenSteer(note.key, int(note.request or "0"), state.last + 1, by=note.by)
    return replace(state, steers={**state.steers, note.key: steer})


def _apply_steer_frame(state: SessionState, frame: bytes) -> SessionState:
    """It stands behind the note with its key."""
    steer = next((steer for steer in state.steers.values() if steer.sequence == state.last), None)
    message = None if steer is None else decode(frame)
    if steer is None or not isinstance(message, Request) or message.params is None:
        return state
    steer = replace(steer, method=message.method, params=Raw(bytes(message.params)))
    return replace(state, steers={**state.steers, steer.key: steer})


def _apply_steered(state: SessionState, note: StreamNote) -> SessionState:
    answers = {**state.steer_answers, note.key: PromptAnswer.read(state.last, note)}
    while len(answers) > ANSWERS:
        del answers[next(iter(answers))]
    steers = {key: steer for key, steer in state.steers.items() if key != note.key}
    return replace(state, steers=steers or _NOTHING, steer_answers=answers)


def _apply_note(state: SessionState, frame: bytes) -> SessionState:
    note = read_note(frame)
    reader = None if note is None else _NOTES.get(note.hub)
    return state if reader is None or note is None else reader(state, note)


def _apply_heard(state: SessionState, note: StreamNote) -> SessionState:
    return replace(state, last_received=max(state.last_received, note.n))


def _apply_turn_ended(state: SessionState, note: StreamNote) -> SessionState:
    ran = state.turn is not None and state.turn.key == note.key
    was_open = ran or any(prompt.key == note.key for prompt in state.queue)
    answers = {**state.answers, note.key: PromptAnswer.read(state.last, note)}
    # Nobody asks for an answer by a key of which only the redacted form is left.
    has_old_answers = state.has_old_answers or REDACTED in note.key or len(answers) > ANSWERS
    return replace(
        state,
        turn=None if ran else state.turn,
        queue=_without(state.queue, note.key),
        # A prompt that was taken back, or refused, says nothing of how the last turn ended.
        has_failed=isinstance(note.error, Raw) if was_open else state.has_failed,
        is_unbriefed=state.is_unbriefed and not (ran and isinstance(note.result, Raw)),
        answers=latest_answers(answers, keep_after=state.last_stored),
        has_old_answers=has_old_answers,
    )


def latest_answers(
    answers: dict[str, PromptAnswer], *, keep_after: int | None = None
) -> dict[str, PromptAnswer]:
    """Return the latest answers in memory, and all after the entry `keep_after`."""
    if len(answers) <= ANSWERS:
        return answers
    # By number: the end of a refused prompt is written in the place of that prompt.
    first = sorted([answer.sequence for answer in answers.values()], reverse=True)[ANSWERS] + 1
    first = first if keep_after is None else min(first, keep_after + 1)
    return {key: answer for key, answer in answers.items() if answer.sequence >= first}


def _apply_judged(state: SessionState, note: StreamNote) -> SessionState:
    request = state.requests.get(int(note.request or "0"))
    if request is None:
        return state
    members: dict[str, Raw] = {"risks": note.risks} if isinstance(note.risks, Raw) else {}
    if note.risks_note:
        members["risksNote"] = Raw(encode_json(note.risks_note))
    return with_request(state, replace(request, assessment=members))


def _apply_settled(state: SessionState, note: StreamNote) -> SessionState:
    sequence = int(note.request or "0")
    if sequence not in state.requests:
        return state
    requests = {at: request for at, request in state.requests.items() if at != sequence}
    return replace(state, requests=requests or _NOTHING)


def _apply_queued(state: SessionState, note: StreamNote) -> SessionState:
    if not isinstance(note.params, Raw):
        return state
    prompt = QueuedPrompt(note.key, note.by, Raw(bytes(note.params)), state.last, state.last)
    return replace(state, queue=(*state.queue, prompt))


def _apply_edited(state: SessionState, note: StreamNote) -> SessionState:
    if not isinstance(note.params, Raw):
        return state
    params, last = Raw(bytes(note.params)), state.last
    queue = tuple(
        replace(prompt, params=params, sequence=last, is_whole=True) if prompt.key == note.key else prompt
        for prompt in state.queue
    )
    return replace(state, queue=queue)


def _apply_made(state: SessionState, note: StreamNote) -> SessionState:
    base = replace(
        state,
        agent=intern(note.agent),
        cwd=intern(note.cwd),
        folders=tuple(note.folders),
        taken_before=note.taken,
        parent=note.parent,
        source=note.source,
        is_unbriefed=bool(note.source),
    )
    return replace(_apply_bound(base, note), is_incomplete=note.load)


def _apply_loading(state: SessionState, note: StreamNote) -> SessionState:
    # Numbers of another process's frames have nothing to do with those before.
    return replace(
        state,
        process=note.n,
        past_process=0,
        bound_at=state.last,
        taken_before=note.taken or state.taken_before,
        loading=int(note.request or "0"),
        last_received=0,
    )


def _apply_bound(state: SessionState, note: StreamNote) -> SessionState:
    answer = object_of(note.result) if isinstance(note.result, Raw) else None
    if not (state.loading and state.process == note.n):
        state = _apply_loading(state, note)
    return replace(
        state,
        loading=0,
        is_incomplete=False,
        agent_session=state.id if note.session == state.id else note.session or state.agent_session,
        agent_answer=state.agent_answer
        if answer is None
        else {name: Raw(bytes(raw)) for name, raw in answer.items()} or _NOTHING,
    )


_NOTES: Mapping[str, Callable[[SessionState, StreamNote], SessionState]] = {
    "heard": _apply_heard,
    "turn_ended": _apply_turn_ended,
    "steering": _apply_steering,
    "steered": _apply_steered,
    "judged": _apply_judged,
    "settled": _apply_settled,
    "queued": _apply_queued,
    "taken": _apply_queued,
    "edited": _apply_edited,
    "withdrawn": lambda state, note: replace(state, queue=_without(state.queue, note.key)),
    "made": _apply_made,
    "child": _apply_child_made,
    "bound": _apply_bound,
    "loading": _apply_loading,
    "released": lambda state, note: replace(_without_process(state), bound_at=state.last, loading=0),
    "folders": lambda state, note: replace(state, folders=tuple(note.folders)),
    # A hub that finds this has only to delete the stream: the one before it did not come to that.
    "deleted": lambda state, note: replace(state, phase="closed", deletes=True),
    "continued": lambda state, note: replace(state, successor=note.session),
    "renamed": lambda state, note: replace(state, title=note.title),
}
"""What changes with each kind of note; the others only tell clients something."""


def _without(queue: tuple[QueuedPrompt, ...], key: str) -> tuple[QueuedPrompt, ...]:
    return tuple(prompt for prompt in queue if prompt.key != key)


def with_request(state: SessionState, request: OpenRequest) -> SessionState:
    """Return the same session with another form of one of its requests."""
    return replace(state, requests={**state.requests, request.sequence: request})


# Originals.


def restore(
    state: SessionState, originals: Mapping[int, bytes], is_redacted: Callable[[bytes], bool]
) -> SessionState:
    """Put the original text in place of a redacted one, where it has effects."""
    requests = {
        sequence: _restored_request(request, originals.get(sequence, b""), is_redacted)
        for sequence, request in state.requests.items()
    }
    queue = tuple(
        _restored_prompt(prompt, originals.get(prompt.sequence, b""), is_redacted) for prompt in state.queue
    )
    return replace(state, requests=requests or _NOTHING, queue=queue)


def with_listing(
    state: SessionState,
    *,
    title: str,
    cwd: str,
    is_closed: bool,
    is_redacted: Callable[[bytes], bool],
) -> SessionState:
    """Return the state with the facts from a listing. Names in a stream may be redacted, because a folder's
    name may look like a key; those in listings are not. A folder with only a redacted name is left out, until
    a client sends it again.
    """
    is_cwd_lost = is_redacted(state.cwd.encode(errors="replace"))
    return replace(
        _without_process(state) if is_closed else state,  # whoever knew a closed one was told to forget it
        title=state.title or title,
        cwd=(cwd or state.cwd) if is_cwd_lost else state.cwd,
        folders=tuple(folder for folder in state.folders if not is_redacted(folder.encode(errors="replace"))),
    )


def _without_process(state: SessionState) -> SessionState:
    return replace(state, process=0, past_process=state.process or state.past_process)


def _restored_request(
    request: OpenRequest, original: bytes, is_redacted: Callable[[bytes], bool]
) -> OpenRequest:
    message = decode(original)
    if isinstance(message, Request) and message.params is not None:
        return replace(request, params=Raw(bytes(message.params)))
    return replace(request, is_whole=not is_redacted(bytes(request.params)))


def _restored_prompt(
    prompt: QueuedPrompt, original: bytes, is_redacted: Callable[[bytes], bool]
) -> QueuedPrompt:
    note = read_note(original)
    if note is not None and isinstance(note.params, Raw):
        return replace(prompt, params=Raw(bytes(note.params)))
    return replace(prompt, is_whole=not is_redacted(bytes(prompt.params)))
