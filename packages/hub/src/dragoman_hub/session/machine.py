"""The state machine of a session: `step` computes what follows from an event.

The state of a step is the fold of all entries so far, stored or not. Entries of one step are stored
together, and its effects are done when they are. So whatever a session promises is decided here, in one
place and without waiting for anything: a prompt has one end, one prompt at a time is with the agent, a
request gets one answer, a question is open for nobody before it is judged, and a session that is being closed
takes nothing new.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec import Raw
from msgspec.structs import replace

from dragoman.wire import notification, request
from dragoman.wire.codes import CANCELLED as REQUEST_CANCELLED
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_REQUEST
from dragoman_hub.session import events as ev
from dragoman_hub.session.events import Effect, Event, NewEntry
from dragoman_hub.session.frames import answer_frame, encode_json, object_of, prompt_texts
from dragoman_hub.session.notes import encode_receipt, note
from dragoman_hub.session.state import (
    OWN_ID,
    SHORTEST_TITLE,
    TITLE,
    Direction,
    OpenRequest,
    SessionState,
    apply,
    has_room_for,
    is_own_id,
    latest_answers,
    with_request,
)
from dragoman_hub.session.steering import (
    MOST_STEERS,
    accept_steer,
    answer_steer,
    data_of,
    doubt_steer,
    doubt_steers,
)

CANCELLED = Raw(b'{"stopReason":"cancelled"}')
CANCELLED_PERMISSION = Raw(b'{"outcome":{"outcome":"cancelled"}}')
CANCELLED_ELICITATION = Raw(b'{"action":"cancel"}')

REDACTED_PROMPT = (
    "the prompt was not run: the hub was stopped while it waited, and only its redacted form is stored; "
    "send it again"
)

Verdict: TypeAlias = Literal["done", "ignored", "accepted", "known", "closing", "full", "child"]


class StepResult(NamedTuple):
    """The effects of an event. The verdict is for its sender."""

    state: SessionState
    entries: tuple[NewEntry, ...] = ()
    effects: tuple[Effect, ...] = ()
    verdict: Verdict = "done"
    replaces_receipt: bool = False
    """Whether the entries replace the last one before them, a receipt."""


def step(state: SessionState, event: Event, now: float) -> StepResult:
    """Compute the effects of an event. `now` is the time of the entries, and decides what is due."""
    if state.phase in ("closed", "lost"):
        # A prompt that has its answer is not refused: whoever sends it again takes a refusal for "not run".
        has_answer = (isinstance(event, ev.PromptReceived) and event.key in state.answers) or (
            isinstance(event, ev.SteerReceived) and event.key in state.steer_answers
        )
        return StepResult(state, verdict="known" if has_answer else "closing")
    work = _StepWork(state, now)
    verdict = _HANDLERS[type(event)](work, event)
    return StepResult(work.state, tuple(work.entries), tuple(work.effects), verdict, work.replaces_receipt)


def prompt_verdict(state: SessionState, key: str, most: int) -> Verdict:
    """Return the verdict on a new prompt with this key."""
    if state.knows_key(key):
        return "known"
    if state.parent:
        return "child"
    if state.phase != "open":
        return "closing"
    return "full" if len(state.queue) >= most else "accepted"


def steer_verdict(state: SessionState, key: str) -> Verdict:
    """Return the verdict on a new message into the turn with this key."""
    if state.knows_steer(key):
        return "known"
    if state.parent:
        return "child"
    if state.phase != "open":
        return "closing"
    if not state.is_bound:
        return "ignored"
    return "full" if len(state.steers) >= MOST_STEERS else "accepted"


class _StepWork:
    """One step while it is made."""

    __slots__ = ("effects", "entries", "now", "replaces_receipt", "state")

    def __init__(self, state: SessionState, now: float) -> None:
        self.state = state
        self.now = now
        self.replaces_receipt = False
        self.entries: list[NewEntry] = []
        self.effects: list[Effect] = []

    def append(self, direction: Direction, *frames: bytes, pending: bool = False) -> int:
        """Returns the number of the last one."""
        self.entries.append(NewEntry(direction, frames, self.now, pending))
        self.state = apply(self.state, direction, frames, self.now)
        return self.state.last

    def append_known(self, direction: Direction, frames: Sequence[bytes], **changes: int) -> None:
        """The short way of frames of which it is known what `apply` would make of them: nothing but these
        changes, beside the count of entries.
        """
        self.entries.append(NewEntry(direction, frames, self.now))
        self.state = replace(self.state, last=self.state.last + len(frames), **changes)

    def note(self, kind: str, *, pending: bool = False, **members: object) -> int:
        return self.append("note", note(kind, **members), pending=pending)

    def say(self, frame: bytes, *, prompt_id: int | None = None, wire_frame: bytes | None = None) -> None:
        """Give the agent a frame, once it is stored."""
        sequence = self.append("to_agent", frame, pending=self.state.survives)
        closing_process = self.state.closing_process
        process = self.state.process if closing_process is None else closing_process
        self.do(
            ev.SendToAgent(after=sequence, frame=wire_frame or frame, process=process, prompt_id=prompt_id)
        )

    def do(self, effect: Effect) -> None:
        self.effects.append(effect)


# Prompts.


def _prompt_received(work: _StepWork, event: ev.PromptReceived) -> Verdict:
    state = work.state
    verdict = prompt_verdict(state, event.key, event.most)
    if verdict != "accepted":
        return verdict
    waits = state.is_busy or state.queue or state.is_draining
    shown = {"prompt": object_of(event.params).get("prompt")} if waits else {}  # in the queue of every client
    work.note(
        "queued" if waits else "taken",
        pending=True,
        key=event.key,
        by=event.by,
        **shown,
        params=event.params,
    )
    _begin_next(work)
    return verdict


def _prompt_edited(work: _StepWork, event: ev.PromptEdited) -> Verdict:
    before = next((prompt for prompt in work.state.queue if prompt.key == event.key), None)
    if before is None or work.state.start == event.key:
        return "ignored"
    members = {"key": event.key, "by": before.by, "prompt": object_of(event.params).get("prompt")}
    last = work.note("edited", pending=True, **members, params=event.params)
    work.do(ev.DropOriginals(after=last, sequences=(before.sequence,)))
    return "done"


def _prompt_withdrawn(work: _StepWork, event: ev.PromptWithdrawn) -> Verdict:
    return "done" if _withdraw(work, event.key) else "ignored"


def _withdraw(work: _StepWork, key: str) -> bool:
    """Take a prompt back, unless it is on its way already."""
    waiting = next((prompt for prompt in work.state.queue if prompt.key == key), None)
    if waiting is None or work.state.start == key:
        return False
    work.note("withdrawn", key=key)
    last = work.note("turn_ended", key=key, result=CANCELLED)
    work.do(ev.DropOriginals(after=last, sequences=(waiting.sequence,)))
    work.do(ev.TurnEnded(after=last, key=key))
    return True


def _begin_next(work: _StepWork) -> None:
    """The next prompt, if one waits and nothing is in its way."""
    while True:
        state = work.state
        if not state.queue or state.is_busy or state.is_draining or state.phase != "open":
            return
        first = state.queue[0]
        if first.is_whole:
            work.state = replace(state, start=first.key)
            work.do(ev.StartTurn(after=state.last, key=first.key))
            return
        _write_end(work, first.key, by=first.by, error=_internal_error(REDACTED_PROMPT))


def _agent_ready(work: _StepWork, event: ev.AgentReady) -> Verdict:
    state = work.state
    if state.start != event.key or not state.is_bound:
        return "ignored"
    prompt = state.queue[0]
    params = bytes(prompt.params)
    work.state = replace(state, start="", remind=False)
    frame = request(event.id, "session/prompt", params)[:-1]
    reminder_params = event.reminder_params
    wire_frame = (
        None if reminder_params is None else request(event.id, "session/prompt", reminder_params)[:-1]
    )
    work.say(frame, prompt_id=event.id, wire_frame=wire_frame)
    work.do(ev.DropOriginals(after=work.state.last, sequences=(prompt.sequence,)))
    if not work.state.title:
        title = title_of(prompt.params)
        if title:
            work.note("renamed", title=title)
    return "done"


def _start_failed(work: _StepWork, event: ev.StartFailed) -> Verdict:
    state = work.state
    if state.start != event.key:
        return "ignored"
    _end_prompt(work, event.key, by=state.queue[0].by, error=event.error)
    return "done"


def _answer_received(work: _StepWork, event: ev.AnswerReceived) -> Verdict:
    turn = work.state.turn
    steer = next((steer for steer in work.state.steers.values() if steer.id == event.id), None)
    if steer is not None and not _is_known(work.state, event.number):
        answer_steer(work, steer, event)
        _mark_heard(work, event.number)
        return "done"
    if turn is None or turn.id != event.id or _is_known(work.state, event.number):
        return "ignored"
    work.append("to_client", event.frame)
    if event.error is not None:
        _end_prompt(work, turn.key, by=turn.by, error=event.error)
    else:
        _end_prompt(work, turn.key, by=turn.by, result=event.result)
    _mark_heard(work, event.number)
    return "done"


def _steer_received(work: _StepWork, event: ev.SteerReceived) -> Verdict:
    verdict = steer_verdict(work.state, event.key)
    if verdict == "accepted":
        accept_steer(work, event)
    return verdict


def _steer_given_up(work: _StepWork, event: ev.SteerGivenUp) -> Verdict:
    if event.key not in work.state.steers:
        return "ignored"
    doubt_steer(work, event.key, event.reason)
    return "done"


def _cancel_received(work: _StepWork, event: ev.CancelReceived) -> Verdict:
    cancel = _cancel_child if work.state.parent else _cancel
    return "done" if cancel(work) else "ignored"


def _cancel_child(work: _StepWork) -> bool:
    """A child has no turn that the hub knows of: the agent ends what it does there."""
    if not work.state.is_bound:
        return False
    work.say(notification("session/cancel", encode_json({"sessionId": work.state.id}))[:-1])
    _end_requests(work)
    return True


def _cancel(work: _StepWork) -> bool:
    """A prompt that is on its way ends at once; the start goes on for those behind it. A turn that runs
    ends when the agent says so.
    """
    state = work.state
    if state.start:
        _end_prompt(work, state.start, by=state.queue[0].by, result=CANCELLED)
        return True
    if state.turn is None or not state.is_bound:
        return False
    work.say(notification("session/cancel", encode_json({"sessionId": state.id}))[:-1])
    for open_request in work.state.requests.values():
        if open_request.is_question:
            _cancel_request(work, open_request)
    _end_child_requests(work, spares_running=False)
    return True


def _end_prompt(work: _StepWork, key: str, **ending: object) -> None:
    """The end of the prompt that runs or is on its way, and what comes behind it."""
    _write_end(work, key, **ending)
    _begin_next(work)
    _close_if_quiet(work)


def _write_end(work: _StepWork, key: str, **ending: Any) -> None:
    for open_request in work.state.requests.values():
        _cancel_request(work, open_request)
    waiting = tuple(prompt.sequence for prompt in work.state.queue if prompt.key == key)
    if work.state.start == key:
        work.state = replace(work.state, start="")
    last = work.note("turn_ended", key=key, **ending)
    if waiting:
        work.do(ev.DropOriginals(after=last, sequences=waiting))
    work.do(ev.TurnEnded(after=last, key=key))
    _end_child_requests(work, spares_running=True)


# Child sessions.


def _child_made(work: _StepWork, event: ev.ChildMade) -> Verdict:
    if work.state.child(event.own).id:
        return "known"
    if not has_room_for(work.state, event.own):
        return "full"
    work.note("child", session=event.session, own=event.own)
    return "done"


def _parent_turn_ended(work: _StepWork, event: ev.ParentTurnEnded) -> Verdict:
    if not work.state.parent:
        return "ignored"
    _end_requests(work)
    return "done"


def _end_requests(work: _StepWork) -> None:
    """Of a child, and of its own children."""
    for open_request in work.state.requests.values():
        _cancel_request(work, open_request)
    _end_child_requests(work, spares_running=False)


def _end_child_requests(work: _StepWork, *, spares_running: bool) -> None:
    if any(child.id for child in work.state.children.values()):
        work.do(ev.EndChildRequests(after=work.state.last, spares_running=spares_running))


# What the agent says and asks.


def _is_known(state: SessionState, number: int) -> bool:
    """Whether a frame of the process is already in the stream: it repeats frames that were not
    acknowledged.
    """
    return state.survives and number <= state.last_received


def _mark_heard(work: _StepWork, number: int) -> None:
    """With the frame itself: both are stored or none."""
    state = work.state
    if state.survives:  # what `apply` makes of the note, which is written with nearly every event
        work.append_known("note", (encode_receipt(number),), last_received=max(state.last_received, number))


def _updates_received(work: _StepWork, event: ev.UpdatesReceived) -> Verdict:
    state, frames = work.state, event.frames
    fresh = event.number - state.last_received if state.survives else len(frames)
    if fresh <= 0:
        return "ignored"
    if event.go_on and state.survives:
        # One receipt for all that is stored together: what the first one says, the last one says too.
        work.replaces_receipt = True
        work.state = replace(state, last=state.last - 1)
    if event.are_chunks:  # they change nothing but the count of entries
        fresh_frames = frames if fresh >= len(frames) else frames[-fresh:]
        work.append_known("to_client", fresh_frames)
    else:
        work.append("to_client", *frames[-fresh:])
    if work.state.children is not state.children:
        for own in [own for own in work.state.children if own not in state.children]:
            work.do(ev.ChildAnnounced(after=work.state.last, own=own))
    _mark_heard(work, event.number)
    return "done"


def _request_received(work: _StepWork, event: ev.RequestReceived) -> Verdict:
    if _is_known(work.state, event.number):
        return "ignored"
    if is_own_id(event.id):
        why = f"Invalid request: ids that begin with {OWN_ID!r} are for questions of the hub"
        work.say(answer_frame(event.id, None, {"code": INVALID_REQUEST, "message": why}))
    else:
        _open_request(work, event.frame, is_ending=event.is_ending)
    _mark_heard(work, event.number)
    return "done"


def _open_request(work: _StepWork, frame: bytes, *, is_ending: bool) -> None:
    """A question that comes while the session is being closed is cancelled at once: the agent would wait for
    people, and the close for the agent. Files and terminals are lent to the end.
    """
    last = work.append("to_client", frame, pending=True)
    open_request = work.state.requests.get(last)
    if open_request is not None and open_request.is_question and (is_ending or work.state.phase != "open"):
        _cancel_request(work, open_request)
    else:
        work.do(ev.OpenRequestReceived(after=last))


def _frame_dropped(work: _StepWork, event: ev.FrameDropped) -> Verdict:
    if _is_known(work.state, event.number):
        return "ignored"
    _mark_heard(work, event.number)
    return "done"


def _question_asked(work: _StepWork, event: ev.QuestionAsked) -> Verdict:
    _open_request(work, event.frame, is_ending=event.is_ending)
    return "done"


def _request_answered(work: _StepWork, event: ev.RequestAnswered) -> Verdict:
    open_request = work.state.requests.get(event.sequence)
    # Nobody answers what is not judged yet; it may end without an answer.
    if open_request is None or (event.outcome == "answered" and not open_request.is_visible):
        return "ignored"
    _settle(
        work,
        event.sequence,
        outcome=event.outcome,
        by=event.by,
        result=event.result,
        error=event.error,
        reason=event.reason,
    )
    return "done"


def _settle(
    work: _StepWork,
    sequence: int,
    *,
    outcome: str,
    by: str = "",
    result: Raw | None = None,
    error: object = None,
    reason: str = "",
) -> None:
    open_request = work.state.requests[sequence]
    members: dict[str, Any] = {"request": str(sequence), "by": by, "outcome": outcome}
    if reason:
        members["reason"] = reason
    is_heard = work.state.is_bound or work.state.closing_process is not None
    if (result is not None or error is not None) and is_heard and not open_request.is_own:
        work.say(answer_frame(open_request.id, result, error))
    if result is not None and open_request.is_question:
        members["result"] = result
    last = work.note("settled", **members)
    work.do(ev.DropOriginals(after=last, sequences=(sequence,)))
    work.do(ev.RequestSettled(after=last, request=open_request, outcome=outcome, by=by, result=result))


def _cancel_request(work: _StepWork, open_request: OpenRequest) -> None:
    """Nobody decides this any more, because the turn ends. The agent gets its answer all the same."""
    sequence, method = open_request.sequence, open_request.method
    if not open_request.is_question:
        error = {"code": REQUEST_CANCELLED, "message": "Request cancelled: the turn has ended"}
        _settle(work, sequence, outcome="cancelled", error=error)
    elif method == "session/request_permission":
        _settle(work, sequence, outcome="cancelled", result=CANCELLED_PERMISSION)
    else:
        _settle(work, sequence, outcome="cancelled", result=CANCELLED_ELICITATION)


def _request_judged(work: _StepWork, event: ev.RequestJudged) -> Verdict:
    open_request = work.state.requests.get(event.sequence)
    if open_request is None or open_request.is_visible:
        return "ignored"
    if event.outcome:
        _settle(
            work,
            event.sequence,
            outcome=event.outcome,
            by=event.by,
            result=event.result,
            error=event.error,
        )
        return "done"
    open_request = replace(
        open_request,
        is_judged=True,
        rule=event.rule,
        assessment=open_request.assessment if event.assessment is None else event.assessment,
        act=event.act,
        shown_params=event.shown_params,
        expires=event.expires,
        expiry=event.expiry,
    )
    work.state = with_request(work.state, open_request)
    return "done"


def _request_assessed(work: _StepWork, event: ev.RequestAssessed) -> Verdict:
    if event.sequence not in work.state.requests:
        return "ignored"
    work.note("judged", request=str(event.sequence), **event.members)
    return "done"


# Processes come and go.


def _agent_bound(work: _StepWork, event: ev.AgentBound) -> Verdict:
    if work.state.phase != "open":  # the start of a prompt that the close has ended
        return "ignored"
    state = replace(work.state, is_bound=True, survives=event.survives)
    if state.process != event.process:  # it counts its frames anew
        state = replace(state, process=event.process, past_process=0, last_received=0)
    work.state = state
    back = event.note
    # The host ignores numbers that it has had: those of a stream of this name that was deleted are not ours.
    is_stale = event.last_taken > state.taken_before + state.last
    members: dict[str, Any] = {"taken": event.last_taken} if is_stale else {}
    if event.load:
        work.note("loading", n=event.process, request=str(event.load), **members)
    if back is not None:
        work.note("bound", session=back.session, result=back.result, n=event.process, **members)
    if event.last_received:
        _mark_heard(work, event.last_received)
    if back is not None and back.remembers is not None:
        work.note("agent_back", remembers=back.remembers)
        work.state = replace(work.state, remind=not back.remembers)
    return "done"


def _agent_unbound(work: _StepWork, event: ev.AgentUnbound) -> Verdict:
    _unbind(work)
    return "done"


def _unbind(work: _StepWork) -> None:
    """A process that has not brought the session back does not know it: the next hub must not think so."""
    work.state = replace(work.state, is_bound=False)
    doubt_steers(work, "the session was taken from its agent")
    if work.state.loading:
        work.note("released")


def _agent_released(work: _StepWork, event: ev.AgentReleased) -> Verdict:
    doubt_steers(work, "the session was closed in its agent")
    work.note("released")
    work.state = replace(work.state, is_bound=False)
    return "done"


def _agent_gone(work: _StepWork, event: ev.AgentGone) -> Verdict:
    """A turn ends with the process, and is not repeated."""
    doubt_steers(work, event.reason or "the agent has ended", data_of(event.error))
    _unbind(work)
    work.state = replace(work.state, closing_process=None)
    for sequence in work.state.requests:
        _settle(work, sequence, outcome="agent_gone")
    turn = work.state.turn
    if turn is not None:
        if event.reason:
            work.note("agent_gone", reason=event.reason)
        _end_prompt(work, turn.key, by=turn.by, error=event.error)
    return "done"


def _turn_failed(work: _StepWork, event: ev.TurnFailed) -> Verdict:
    turn = work.state.turn
    if turn is None:
        return "ignored"
    _end_prompt(work, turn.key, by=turn.by, error=event.error)
    return "done"


def _session_resumed(work: _StepWork, event: ev.Resumed) -> Verdict:
    _begin_next(work)
    return "done"


# The end of a session.


def _close_received(work: _StepWork, event: ev.CloseReceived) -> Verdict:
    state = work.state
    is_first = state.phase == "open"
    work.state = replace(
        state,
        phase="closing",
        deletes=state.deletes or event.deletes,
        close_by=event.by if is_first else state.close_by,
    )
    if not is_first:
        return "done"
    if state.parent:  # the agent is not told to close a child, so it waits for its answers
        _end_requests(work)
    for waiting in state.queue:
        _withdraw(work, waiting.key)
    if not _cancel(work):
        _close_if_quiet(work)
    return "done"


def _close_if_quiet(work: _StepWork) -> None:
    state = work.state
    if state.phase == "closing" and not state.is_busy:
        if state.is_bound:
            for open_request in state.requests.values():  # an agent need not know `session/close`
                _cancel_request(work, open_request)
            doubt_steers(work, "the session was closed")
            # Before the agent hears of it: after a crash nobody knows whether it has closed the session.
            work.note("released")
            work.state = replace(work.state, is_bound=False, closing_process=state.process)
        work.do(ev.CloseInAgent(after=work.state.last, deletes=state.deletes))


def _agent_closed(work: _StepWork, event: ev.AgentClosed) -> Verdict:
    if work.state.phase != "closing":
        return "ignored"
    for sequence in work.state.requests:
        _settle(work, sequence, outcome="cancelled")
    if work.state.deletes:
        work.note("deleted")
    last = work.note("closed")
    work.state = replace(work.state, phase="closed", is_bound=False)
    work.do(ev.Forget(after=last, deletes=work.state.deletes))
    return "done"


def _time_passed(work: _StepWork, event: ev.TimePassed) -> Verdict:
    now = max(work.now, event.due)
    for sequence, pending in work.state.requests.items():
        if pending.expires and pending.expires <= now:
            _settle(work, sequence, outcome="expired", result=pending.expiry)
    turn = work.state.turn
    if turn is not None and work.state.phase == "closing" and work.state.close_by <= now:
        _end_prompt(work, turn.key, by=turn.by, result=CANCELLED)
    return "done"


# The journal and other nodes.


def _not_stored(work: _StepWork, event: ev.NotStored) -> Verdict:
    """Prompts that are not stored are refused, and gone: their entries say so when they are stored. A
    prompt that was stored stays where it is.
    """
    turn = work.state.turn
    if turn is not None and turn.since > event.last_stored:  # its agent does not know of it
        work.state = replace(work.state, turn=None, turns=work.state.turns - 1)
        _refuse(work, turn.key, turn.since, event.error)
        work.do(ev.ReplaceEntry(after=turn.sequence, frame=encode_receipt(0)))
        _close_if_quiet(work)
    for prompt in work.state.queue:
        if prompt.since > event.last_stored:
            _refuse(work, prompt.key, prompt.since, event.error)
    return "done"


def _refuse(work: _StepWork, key: str, sequence: int, error: object) -> None:
    frame = note("turn_ended", key=key, error=error)
    state = work.state
    # Folded where it stands: entries behind it keep their numbers.
    refused_state = apply(replace(state, last=sequence - 1), "note", (frame,), work.now)
    work.state = replace(
        refused_state,
        last=state.last,
        has_failed=state.has_failed,
        start="" if state.start == key else state.start,
    )
    work.do(ev.ReplaceEntry(after=sequence, frame=frame))
    work.do(ev.RefusePrompt(after=0, key=key, error=error))


def _entries_stored(work: _StepWork, event: ev.EntriesStored) -> Verdict:
    answers = latest_answers(work.state.answers, keep_after=event.last)
    work.state = replace(work.state, last_stored=event.last, answers=answers)
    return "done"


def _ownership_lost(work: _StepWork, event: ev.OwnershipLost) -> Verdict:
    work.state = replace(work.state, phase="lost", is_bound=False)
    return "done"


# What is only written down.


def _folders_changed(work: _StepWork, event: ev.FoldersChanged) -> Verdict:
    """In the middle of a turn nothing is changed."""
    if event.folders == work.state.folders or work.state.is_busy:
        return "ignored"
    work.note("folders", folders=list(event.folders))
    return "done"


def _session_made(work: _StepWork, event: ev.SessionMade) -> Verdict:
    members: dict[str, Any] = {"agent": event.agent, "cwd": event.cwd, "folders": list(event.folders)}
    if event.result is not None:
        members["result"] = event.result
    if event.last_taken:
        members["taken"] = event.last_taken
    if event.key:
        members["key"] = event.key
    if event.parent:
        members["parent"] = event.parent
    if event.is_load:
        members["load"] = True
    if event.source:
        members |= {"source": event.source, "sourceEnd": event.source_end}
    work.note("made", **members, session=event.session, n=event.process)
    if event.title:
        work.note("renamed", title=event.title)
    return "done"


def _session_renamed(work: _StepWork, event: ev.Renamed) -> Verdict:
    work.note("renamed", title=event.title)
    return "done"


def _continued_elsewhere(work: _StepWork, event: ev.ContinuedElsewhere) -> Verdict:
    if work.state.successor == event.session:
        return "known"
    work.note("continued", session=event.session, agent=event.agent, by=event.by)
    return "done"


def _frame_for_agent(work: _StepWork, event: ev.FrameForAgent) -> Verdict:
    if not work.state.is_bound:
        return "ignored"
    work.say(event.frame)
    return "done"


def _frame_for_clients(work: _StepWork, event: ev.FrameForClients) -> Verdict:
    work.append("to_client", event.frame)
    if event.note:
        work.append("note", event.note)
    return "done"


def _checkpoint_taken(work: _StepWork, event: ev.CheckpointTaken) -> Verdict:
    work.append("note", event.frame)
    return "done"


def _draining(work: _StepWork, event: ev.Draining) -> Verdict:
    work.state = replace(work.state, is_draining=True)
    return "done"


_HANDLERS: Mapping[type[Event], Callable[[_StepWork, Any], Verdict]] = {
    ev.UpdatesReceived: _updates_received,
    ev.PromptReceived: _prompt_received,
    ev.PromptEdited: _prompt_edited,
    ev.PromptWithdrawn: _prompt_withdrawn,
    ev.CancelReceived: _cancel_received,
    ev.SteerReceived: _steer_received,
    ev.SteerGivenUp: _steer_given_up,
    ev.RequestAnswered: _request_answered,
    ev.SessionMade: _session_made,
    ev.Renamed: _session_renamed,
    ev.ContinuedElsewhere: _continued_elsewhere,
    ev.FoldersChanged: _folders_changed,
    ev.CloseReceived: _close_received,
    ev.ChildMade: _child_made,
    ev.ParentTurnEnded: _parent_turn_ended,
    ev.FrameForAgent: _frame_for_agent,
    ev.FrameForClients: _frame_for_clients,
    ev.RequestReceived: _request_received,
    ev.FrameDropped: _frame_dropped,
    ev.AnswerReceived: _answer_received,
    ev.AgentReady: _agent_ready,
    ev.StartFailed: _start_failed,
    ev.AgentBound: _agent_bound,
    ev.AgentUnbound: _agent_unbound,
    ev.AgentReleased: _agent_released,
    ev.AgentGone: _agent_gone,
    ev.TurnFailed: _turn_failed,
    ev.AgentClosed: _agent_closed,
    ev.QuestionAsked: _question_asked,
    ev.RequestJudged: _request_judged,
    ev.RequestAssessed: _request_assessed,
    ev.CheckpointTaken: _checkpoint_taken,
    ev.Draining: _draining,
    ev.Resumed: _session_resumed,
    ev.NotStored: _not_stored,
    ev.EntriesStored: _entries_stored,
    ev.OwnershipLost: _ownership_lost,
    ev.TimePassed: _time_passed,
}


LONGEST_OPENING = 4096
"""The characters of a prompt in which its title is searched."""


def title_of(params: Raw) -> str:
    """Return the title of a session: its first prompt with content; `go` and `hi` do not count."""
    for text in map(str.strip, prompt_texts(params, LONGEST_OPENING)):
        if text:
            line = text.splitlines()[0].strip()
            if line.isascii() and len(line) < SHORTEST_TITLE:
                return ""
            return line if len(line) <= TITLE else _shorten(line)
    return ""


def _shorten(line: str) -> str:
    """The beginning, up to the end of a word if one ends near."""
    head = line[: TITLE - 1]
    words, _, _ = head.rpartition(" ")
    return (words if len(words) > TITLE // 2 else head).rstrip(" ,;:.") + "…"


def _internal_error(why: str) -> dict[str, Any]:
    return {"code": INTERNAL_ERROR, "message": f"Internal error: {why}"}
