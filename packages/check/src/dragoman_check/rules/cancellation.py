"""CAN: session/cancel.

Nobody can tell from outside when an agent has read a notification. What is held against an agent was proved
by what it did: it was waiting for the client when the cancel came, it withdrew a request of its own, or it
answered something that was asked later. Without a proof the turn may have ended first, and nothing is said:
time proves nothing, because no page says how soon an agent reads or answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman_check.conversation import Conversation, Exchange, ObservedTurn
from dragoman_check.manifest import Side
from dragoman_check.recording import Frame
from dragoman_check.replies import QUIET, frames_to, is_in_any_stretch, proof, refusals_without_line
from dragoman_check.rule import Observation, kept, observe, rule, rule_v1
from dragoman_check.rules.turns import REASONS, late_updates
from dragoman_check.timeline import (
    BAD_PARAMS,
    announced_sessions,
    frame_after,
    has_clock,
    has_spoken_after,
    is_fair,
    is_in_stretch,
    is_open,
    is_running_at,
    known_sessions,
    notifications_of,
    observe_survival,
    reason_of,
    running_turns,
    session_of,
)
from dragoman_check.values import text

UNOBSERVED: dict[str, str] = {
    "CAN-03": "how a client shows unfinished tool calls after a cancel is seen on its screen only",
}

SOON_SECONDS = 5.0
LATE_SECONDS = 10.0

WAITS = ("cancelled", "cancelled while asked", "cancelled at once")
"""Stretches in which a scene waits for the end of a cancelled turn."""

ABORTED = re.compile(r"\b(cancell?ed|abort(ed)?|interrupted)\b", re.IGNORECASE)
"""Texts of errors that are only a cancelled turn."""


def cancels(conversation: Conversation) -> list[Frame]:
    return [
        frame for frame in notifications_of(conversation, "session/cancel", "to_agent") if session_of(frame)
    ]


def cancelled_turn(conversation: Conversation, cancel: Frame) -> ObservedTurn | None:
    """Return the turn of a cancel: the first running one; more may be waiting after it."""
    turns = running_turns(conversation, cancel.number, session_of(cancel))
    first = turns[0] if turns else None
    if first is None or any(
        earlier.number < cancel.number
        and is_running_at(first, earlier.number)
        and session_of(earlier) == first.session
        for earlier in cancels(conversation)
    ):
        return None  # it was cancelled before
    return first


def was_read(conversation: Conversation, cancel: Frame, turn: ObservedTurn) -> bool:
    """Whether it is proven that the agent had read a cancel before it ended the turn."""
    end = turn.end
    last = end.number if end is not None else conversation.frames[-1].number + 1
    if was_waiting(conversation, cancel, turn):
        return True
    if any(cancel.number < frame.number < last for frame in _withdrawn_by(conversation, turn)):
        return True
    return any(_is_later(call, cancel, last) for call in conversation.calls(direction="to_agent"))


def was_waiting(conversation: Conversation, frame: Frame, turn: ObservedTurn) -> bool:
    """Whether a turn was waiting for the client when a frame was sent: it can't have ended before it read its
    answer, which came after the frame.
    """
    return any(
        session_of(call) == turn.session
        and turn.exchange.request.number < call.request.number < frame.number
        and (call.answer is None or call.answer.number > frame.number)
        for call in conversation.calls(direction="to_client")
    )


def _withdrawn_by(conversation: Conversation, turn: ObservedTurn) -> list[Frame]:
    """Where the agent takes back what it asked for a turn."""
    requests = [
        call
        for call in conversation.calls(direction="to_client")
        if session_of(call) == turn.session and call.request.number > turn.exchange.request.number
    ]
    return [
        frame
        for frame in notifications_of(conversation, "$/cancel_request", "to_client")
        if any(_same(frame.params.get("requestId"), request) for request in requests)
    ]


def _is_later(exchange: Exchange, cancel: Frame, last: int) -> bool:
    is_answered = exchange.answer is not None and exchange.answer.number < last
    return is_answered and exchange.request.number > cancel.number


def _cancels_to_judge(conversation: Conversation) -> Iterator[tuple[Frame, ObservedTurn]]:
    """Cancels with their turns, as far as an answer shows something."""
    for cancel in cancels(conversation):
        turn = cancelled_turn(conversation, cancel)
        if turn is None or turn.exchange.answer is None:
            continue
        if reason_of(turn) == "cancelled" or was_read(conversation, cancel, turn):
            yield cancel, turn


@rule("CAN-01", side="client", fix="Send session/cancel as a notification with the session's id.")
def a_cancel_is_a_notification(conversation: Conversation) -> Iterator[Observation]:
    for frame in conversation.frames:
        if frame.method == "session/cancel" and frame.direction == "to_agent":
            right = frame.is_notification and bool(session_of(frame))
            yield observe(right, frame, "session/cancel has an id, or no sessionId")


@rule("CAN-02", side="agent", fix="Never answer a notification.")
def a_cancel_is_not_answered(conversation: Conversation) -> Iterator[Observation]:
    for frame in notifications_of(conversation, "session/cancel", "to_agent"):
        yield from stays_quiet(conversation, frame)


def stays_quiet(conversation: Conversation, note: Frame) -> Iterator[Observation]:
    """Whether a notification got no answer. An answer without an id belongs to it if no other line may cause
    one: no line that is not a message, no notification of another method.
    """
    side: Side = "agent" if note.direction == "to_agent" else "client"
    for answer in refusals_without_line(conversation, side):
        if note.number < answer.number and not is_in_any_stretch(conversation, answer, QUIET):
            candidates = _unread(conversation, side, answer)
            if note in candidates:
                if all(candidate.method == note.method for candidate in candidates):
                    yield observe(False, note, "a notification was answered", answer)
                return
    reader = frame_after(conversation, side, note)
    if reader is not None:
        yield kept(note, reader)


def _unread(conversation: Conversation, side: Side, answer: Frame) -> list[Frame]:
    """The notifications before a frame that a side need not have read before it."""
    proven = proof(conversation, side)
    return [
        frame
        for frame in frames_to(conversation, side)
        if frame.is_notification
        and frame.number < answer.number
        and (proven.after(frame.number) or answer.number) >= answer.number
    ]


@rule_v1("CAN-04", side="client", fix="Answer open permission requests with cancelled when you cancel.")
def open_questions_are_answered_with_cancelled(conversation: Conversation) -> Iterator[Observation]:
    for cancel in cancels(conversation):
        for call in conversation.calls("session/request_permission", direction="to_client"):
            if session_of(call) != session_of(cancel) or call.request.number > cancel.number:
                continue
            if (
                call.answer is not None
                and call.answer.number > cancel.number
                and not _withdrawn(conversation, call)
            ):
                outcome = call.result.get("outcome")
                right = type(outcome) is dict and outcome.get("outcome") == "cancelled"
                yield observe(
                    right,
                    call.answer,
                    "the permission request was not answered with outcome cancelled",
                    cancel,
                    call.request,
                )
            elif call.answer is None and _turn_is_over(conversation, cancel):
                yield observe(False, call.request, "never answered, although the turn was cancelled", cancel)


def _withdrawn(conversation: Conversation, exchange: Exchange) -> bool:
    """Whether the agent itself took its question back before it was answered."""
    return any(
        frame.params.get("requestId") == exchange.request.message["id"]
        and exchange.answer is not None
        and frame.number < exchange.answer.number
        for frame in notifications_of(conversation, "$/cancel_request", "to_client")
    )


def _turn_is_over(conversation: Conversation, cancel: Frame) -> bool:
    """Whether the client did something new after the cancelled turn was answered."""
    turn = cancelled_turn(conversation, cancel)
    end = turn.exchange.answer if turn is not None else None
    return end is not None and has_spoken_after(conversation, end, "client")


@rule_v1("CAN-05", side="agent", fix="Stop the model and the tools as soon as a cancel arrives.")
def a_cancelled_turn_ends_soon(conversation: Conversation) -> Iterator[Observation]:
    for cancel in cancels(conversation):
        turn = cancelled_turn(conversation, cancel)
        end = turn.exchange.answer if turn is not None else None
        if end is not None and has_clock(conversation):
            took = end.at - cancel.at
            if took <= SOON_SECONDS or took > LATE_SECONDS:
                yield observe(took <= SOON_SECONDS, cancel, f"the turn went on for {took:.0f} s", end)
        elif turn is not None and end is None and is_in_stretch(conversation, cancel, *WAITS):
            yield observe(False, cancel, "the turn was not answered in time", turn.exchange.request)


@rule_v1("CAN-06", side="agent", fix="Answer a cancelled prompt with stopReason cancelled.")
def a_cancelled_turn_is_answered_so(conversation: Conversation) -> Iterator[Observation]:
    for cancel, turn in _cancels_to_judge(conversation):
        right = reason_of(turn) == "cancelled"
        yield observe(
            right, turn.exchange.answer, "a cancelled turn did not end with stopReason cancelled", cancel
        )
    for cancel in cancels(conversation):
        lost_turn = cancelled_turn(conversation, cancel)
        if (
            lost_turn is not None
            and lost_turn.exchange.answer is None
            and _is_given_up(conversation, lost_turn, cancel)
        ):
            yield observe(False, cancel, "a cancelled turn was never answered", lost_turn.exchange.request)


def _is_given_up(conversation: Conversation, lost_turn: ObservedTurn, cancel: Frame) -> bool:
    """Whether the session was prompted anew and answered, so that no answer can be on its way."""
    return any(
        turn.session == session_of(cancel)
        and turn.exchange.request.number > cancel.number
        and turn.exchange.has_result
        for turn in conversation.turns
    )


@rule_v1("CAN-07", side="agent", fix="Catch what an abort raises, and answer with stopReason cancelled.")
def an_abort_is_no_error(conversation: Conversation) -> Iterator[Observation]:
    for cancel in cancels(conversation):
        turn = cancelled_turn(conversation, cancel)
        if turn is None or turn.exchange.answer is None:
            continue
        error = turn.exchange.answer.message.get("error")
        message = text(error.get("message")) if type(error) is dict else ""
        if turn.exchange.has_result or was_read(conversation, cancel, turn) or ABORTED.search(message):
            right = turn.exchange.has_result
            yield observe(right, turn.exchange.answer, "a cancelled turn was answered with an error", cancel)


@rule_v1("CAN-08", side="agent", fix="Send all remaining updates before you answer the cancelled prompt.")
def updates_after_a_cancel_come_before_the_answer(conversation: Conversation) -> Iterator[Observation]:
    for cancel in cancels(conversation):
        turn = cancelled_turn(conversation, cancel)
        if turn is not None and turn.exchange.has_result and turn.exchange.answer is not None:
            late, shown = late_updates(conversation, turn), turn.updates()
            if late or (shown and has_spoken_after(conversation, turn.exchange.answer, "agent")):
                why = "an update comes after the answer"
                yield observe(not late, turn.exchange.answer, why, cancel, *(late or shown)[:1])


@rule_v1("CAN-09", side="client", fix="Accept updates of tool calls after a cancel.")
def a_client_takes_updates_after_its_cancel(conversation: Conversation) -> Iterator[Observation]:
    late = [
        frame
        for cancel in cancels(conversation)
        for turn in running_turns(conversation, cancel.number, session_of(cancel))
        for frame in turn.updates("tool_call", "tool_call_update")
        if frame.number > cancel.number
    ]
    yield from observe_survival(conversation, late, "an update of a tool call after its cancel")


@rule_v1("CAN-10", side="agent", fix="Forget a cancel that finds no turn.")
def a_cancel_without_a_turn_spares_the_next(conversation: Conversation) -> Iterator[Observation]:
    for cancel in cancels(conversation):
        session = session_of(cancel)
        if (
            running_turns(conversation, cancel.number, session)
            or is_open(conversation, session, cancel.number) is not True
        ):
            continue
        turn = next((turn for turn in conversation.turns if _begins_after(turn, cancel)), None)
        if turn is not None and turn.exchange.has_result and not was_stopped(conversation, turn):
            right = reason_of(turn) != "cancelled"
            yield observe(right, turn.exchange.answer, "a cancel that came before this turn ended it", cancel)


def _begins_after(turn: ObservedTurn, frame: Frame) -> bool:
    return turn.session == session_of(frame) and turn.exchange.request.number > frame.number


def was_stopped(conversation: Conversation, turn: ObservedTurn) -> bool:
    """Whether the client stopped a turn while it ran."""
    return _stop(conversation, turn) is not None


def _stop(conversation: Conversation, turn: ObservedTurn) -> int | None:
    """The number of the first frame that stops a turn."""
    ends = conversation.calls("session/close", "session/delete", "session/archive", direction="to_agent")
    frames_to = [end.request for end in ends] + notifications_of(conversation, "session/cancel", "to_agent")
    stops = [frame.number for frame in frames_to if session_of(frame) == turn.session]
    stops += [
        frame.number
        for frame in notifications_of(conversation, "$/cancel_request", "to_agent")
        if _same(frame.params.get("requestId"), turn.exchange)
    ]
    return min((number for number in stops if is_running_at(turn, number)), default=None)


def _same(request_id: object, exchange: Exchange) -> bool:
    own = exchange.request.message.get("id")
    return type(request_id) is type(own) and request_id == own


@rule("CAN-11", side="agent", fix="Ignore a cancel for a session that is not known.")
def a_cancel_for_nobody_is_ignored(conversation: Conversation) -> Iterator[Observation]:
    for cancel in cancels(conversation):
        if session_of(cancel) not in known_sessions(conversation):
            yield from stays_quiet(conversation, cancel)


@rule_v1("CAN-12", side="agent", fix="Cancel only the session that is named.")
def the_neighbour_is_not_cancelled(conversation: Conversation) -> Iterator[Observation]:
    for cancel in cancels(conversation):
        own = cancelled_turn(conversation, cancel)
        own_end = own.exchange.answer if own is not None else None
        for turn in running_turns(conversation, cancel.number):
            if turn.session == session_of(cancel) or turn.session in announced_sessions(conversation):
                continue
            stop, end = _stop(conversation, turn), turn.exchange.answer
            if end is not None and turn.exchange.has_result and (stop is None or end.number < stop):
                right = reason_of(turn) != "cancelled"
                yield observe(right, end, "another session was cancelled as well", cancel)
            elif stop is not None and own_end is not None and cancel.number < own_end.number < stop:
                yield kept(own_end, cancel)  # it ran on until it was stopped itself


@rule_v1("CAN-13", side="agent", fix="Keep a session usable after a cancel.")
def a_cancelled_session_can_be_used(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        if reason_of(turn) != "cancelled" or turn.exchange.answer is None:
            continue
        following = next(
            (other_turn for other_turn in conversation.turns if _is_next(other_turn, turn)), None
        )
        if following is None or not is_fair(conversation, following.exchange):
            continue
        number = following.exchange.request.number
        if is_open(conversation, turn.session, number) is True and following.exchange.code != BAD_PARAMS:
            right = following.exchange.has_result
            yield observe(
                right, following.exchange.answer, "the turn after a cancel failed", turn.exchange.answer
            )


def _is_next(later: ObservedTurn, turn: ObservedTurn) -> bool:
    end = turn.exchange.answer
    return later.session == turn.session and end is not None and later.exchange.request.number > end.number


@rule_v1("CAN-14", side="agent", fix="Answer a turn that ended before the cancel with its own reason.")
def a_turn_that_ended_first_has_its_own_reason(conversation: Conversation) -> Iterator[Observation]:
    for cancel in cancels(conversation):
        turn = cancelled_turn(conversation, cancel)
        if turn is None or turn.exchange.answer is None or reason_of(turn) == "cancelled":
            continue
        if not was_read(conversation, cancel, turn):
            right = reason_of(turn) in REASONS
            yield observe(right, turn.exchange.answer, "the answer has no stopReason of its own", cancel)


@rule_v1("CAN-15", side="agent", fix="Withdraw only requests of your own that are open.")
def open_requests_are_withdrawn_after_a_cancel(conversation: Conversation) -> Iterator[Observation]:
    for frame in notifications_of(conversation, "$/cancel_request", "to_client"):
        if any(cancel.number < frame.number for cancel in cancels(conversation)):
            requests = conversation.calls(direction="to_client")
            mine = any(_same(frame.params.get("requestId"), request) for request in requests)
            yield observe(mine, frame, "$/cancel_request names a request that was never sent")
