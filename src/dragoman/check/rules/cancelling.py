"""CAN: session/cancel.

Nobody can tell from outside when an agent has read a notification. What is held against an agent was proved
by what it did: it was waiting for the client when the cancel came, it withdrew a request of its own, it
answered something that was asked later, or time enough went by. Without a proof the turn may have ended
first, and nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.check.lives import (
    BAD_PARAMS,
    announced,
    has_clock,
    is_fair,
    is_open,
    known_sessions,
    lived_on,
    marked,
    noted,
    ran_at,
    reason_of,
    running,
    session_of,
    spoke_after,
    text,
)
from dragoman.check.manifest import Side
from dragoman.check.recording import Frame
from dragoman.check.replies import QUIET, is_marked, loose, proof, told
from dragoman.check.rule import Seen, kept_if, rule
from dragoman.check.rules.first import rule_v1
from dragoman.check.rules.turns import REASONS, late_updates
from dragoman.check.story import Exchange, Story, Turn

UNOBSERVED: dict[str, str] = {
    "CAN-03": "how a client shows unfinished tool calls after a cancel is seen on its screen only",
}

READ_SECONDS = 2.0
"""After so long an agent that reads at all has read a notification."""
SOON_SECONDS = 5.0
LATE_SECONDS = 10.0

ABORTED = re.compile(r"\b(cancell?ed|abort(ed)?|interrupted)\b", re.IGNORECASE)
"""How errors sound that are none."""


def cancels(story: Story) -> list[Frame]:
    return [frame for frame in noted(story, "session/cancel", "to_agent") if session_of(frame)]


def hit(story: Story, cancel: Frame) -> Turn | None:
    """The turn that a cancel is for: the first that is running; more may be waiting behind it."""
    turns = running(story, cancel.number, session_of(cancel))
    first = turns[0] if turns else None
    if first is None or any(
        other.number < cancel.number and ran_at(first, other.number) and session_of(other) == first.session
        for other in cancels(story)
    ):
        return None  # it was cancelled before
    return first


def was_read(story: Story, cancel: Frame, turn: Turn) -> bool:
    """Whether something proves that the agent had read a cancel before it ended the turn."""
    end = turn.exchange.answer
    last = end.number if end is not None else story.frames[-1].number + 1
    if was_waiting(story, cancel, turn):
        return True
    if any(cancel.number < frame.number < last for frame in _withdrawn_by(story, turn)):
        return True
    if any(_is_later(one, cancel, last) for one in story.calls(direction="to_agent")):
        return True
    return end is not None and has_clock(story) and end.at - cancel.at >= READ_SECONDS


def was_waiting(story: Story, frame: Frame, turn: Turn) -> bool:
    """Whether a turn was waiting for the client when a frame was sent: it cannot have ended before its answer
    was read, and that came after the frame.
    """
    return any(
        session_of(one) == turn.session
        and turn.exchange.request.number < one.request.number < frame.number
        and (one.answer is None or one.answer.number > frame.number)
        for one in story.calls(direction="to_client")
    )


def _withdrawn_by(story: Story, turn: Turn) -> list[Frame]:
    """Where the agent takes back what it asked for a turn."""
    asked = [
        one
        for one in story.calls(direction="to_client")
        if session_of(one) == turn.session and one.request.number > turn.exchange.request.number
    ]
    return [
        frame
        for frame in noted(story, "$/cancel_request", "to_client")
        if any(_same(frame.params.get("requestId"), one) for one in asked)
    ]


def _is_later(one: Exchange, cancel: Frame, last: int) -> bool:
    answered = one.answer is not None and one.answer.number < last
    return answered and one.request.number > cancel.number


def _judged(story: Story) -> Iterator[tuple[Frame, Turn]]:
    """Cancels with their turns, as far as an answer tells something."""
    for cancel in cancels(story):
        turn = hit(story, cancel)
        if turn is None or turn.exchange.answer is None:
            continue
        if reason_of(turn) == "cancelled" or was_read(story, cancel, turn):
            yield cancel, turn


@rule("CAN-01", side="client", fix="Send session/cancel as a notification with the session's id.")
def a_cancel_is_a_notification(story: Story) -> Iterator[Seen]:
    for frame in story.frames:
        if frame.method == "session/cancel" and frame.direction == "to_agent":
            right = frame.is_notification and bool(session_of(frame))
            yield kept_if(right, frame, "it has an id, or names no session")


@rule("CAN-02", side="agent", fix="Never answer a notification.")
def a_cancel_is_not_answered(story: Story) -> Iterator[Seen]:
    for frame in noted(story, "session/cancel", "to_agent"):
        yield from stays_quiet(story, frame)


def stays_quiet(story: Story, note: Frame) -> Iterator[Seen]:
    """Whether a notification got no answer. One without an id belongs to it if nothing else waits for one: no
    line that is no message, no notification of another method.
    """
    side: Side = "agent" if note.direction == "to_agent" else "client"
    for answer in loose(story, side):
        if note.number < answer.number and not is_marked(story, answer, QUIET):
            meant = _unread(story, side, answer)
            if note in meant:
                if all(one.method == note.method for one in meant):
                    yield kept_if(False, note, "a notification was answered", answer)
                return
    if proof(story, side).after(note.number) is not None or spoke_after(story, note, side):
        yield kept_if(True, note, "")


def _unread(story: Story, side: Side, answer: Frame) -> list[Frame]:
    """The notifications before a frame that a side need not have read before it."""
    known = proof(story, side)
    return [
        one
        for one in told(story, side)
        if one.is_notification
        and one.number < answer.number
        and (known.after(one.number) or answer.number) >= answer.number
    ]


@rule_v1("CAN-04", side="client", fix="Answer open permission requests with cancelled when you cancel.")
def open_questions_are_answered_with_cancelled(story: Story) -> Iterator[Seen]:
    for cancel in cancels(story):
        for one in story.calls("session/request_permission", direction="to_client"):
            if session_of(one) != session_of(cancel) or one.request.number > cancel.number:
                continue
            if one.answer is not None and one.answer.number > cancel.number and not _withdrawn(story, one):
                outcome = one.result.get("outcome")
                right = type(outcome) is dict and outcome.get("outcome") == "cancelled"
                yield kept_if(right, one.answer, "not answered with cancelled", cancel, one.request)
            elif one.answer is None and _turn_is_over(story, cancel):
                yield kept_if(False, one.request, "never answered, although the turn was cancelled", cancel)


def _withdrawn(story: Story, one: Exchange) -> bool:
    """Whether the agent itself took its question back before it was answered."""
    return any(
        frame.params.get("requestId") == one.request.message["id"]
        and one.answer is not None
        and frame.number < one.answer.number
        for frame in noted(story, "$/cancel_request", "to_client")
    )


def _turn_is_over(story: Story, cancel: Frame) -> bool:
    """Whether the client did something new after the cancelled turn was answered."""
    turn = hit(story, cancel)
    end = turn.exchange.answer if turn is not None else None
    return end is not None and spoke_after(story, end, "client")


@rule_v1("CAN-05", side="agent", fix="Stop the model and the tools as soon as a cancel arrives.")
def a_cancelled_turn_ends_soon(story: Story) -> Iterator[Seen]:
    for cancel in cancels(story):
        turn = hit(story, cancel)
        end = turn.exchange.answer if turn is not None else None
        if end is not None and has_clock(story):
            took = end.at - cancel.at
            if took <= SOON_SECONDS or took > LATE_SECONDS:
                yield kept_if(took <= SOON_SECONDS, cancel, f"the turn went on for {took:.0f} s", end)


@rule_v1("CAN-06", side="agent", fix="Answer a cancelled prompt with stopReason cancelled.")
def a_cancelled_turn_is_answered_so(story: Story) -> Iterator[Seen]:
    for cancel, turn in _judged(story):
        right = reason_of(turn) == "cancelled"
        yield kept_if(right, turn.exchange.answer, "a cancelled turn ended otherwise", cancel)
    for cancel in cancels(story):
        lost = hit(story, cancel)
        if lost is not None and lost.exchange.answer is None and _is_given_up(story, lost, cancel):
            yield kept_if(False, cancel, "a cancelled turn was never answered", lost.exchange.request)


def _is_given_up(story: Story, lost: Turn, cancel: Frame) -> bool:
    """Whether a scene waited in vain, or the session was prompted anew and answered."""
    if marked(story, lost.exchange.request, "cancelled", "cancelled while asked", "cancelled at once"):
        return True
    return any(
        turn.session == session_of(cancel)
        and turn.exchange.request.number > cancel.number
        and turn.exchange.has_result
        for turn in story.turns
    )


@rule_v1("CAN-07", side="agent", fix="Catch what an abort raises, and answer with stopReason cancelled.")
def an_abort_is_no_error(story: Story) -> Iterator[Seen]:
    for cancel in cancels(story):
        turn = hit(story, cancel)
        if turn is None or turn.exchange.answer is None:
            continue
        error = turn.exchange.answer.message.get("error")
        said = text(error.get("message")) if type(error) is dict else ""
        if turn.exchange.has_result or was_read(story, cancel, turn) or ABORTED.search(said):
            right = turn.exchange.has_result
            yield kept_if(right, turn.exchange.answer, "a cancelled turn was answered with an error", cancel)


@rule_v1("CAN-08", side="agent", fix="Send what is left to tell before the cancelled prompt is answered.")
def updates_after_a_cancel_come_before_the_answer(story: Story) -> Iterator[Seen]:
    for cancel in cancels(story):
        turn = hit(story, cancel)
        if turn is not None and turn.exchange.has_result and turn.exchange.answer is not None:
            late = late_updates(story, turn)
            if late or spoke_after(story, turn.exchange.answer, "agent"):
                yield kept_if(not late, turn.exchange.answer, "an update comes after the answer", *late[:1])


@rule_v1("CAN-09", side="client", fix="Go on taking updates of tool calls after a cancel.")
def a_client_takes_updates_after_its_cancel(story: Story) -> Iterator[Seen]:
    late = [
        frame
        for cancel in cancels(story)
        for turn in running(story, cancel.number, session_of(cancel))
        for frame in turn.updates("tool_call", "tool_call_update")
        if frame.number > cancel.number
    ]
    yield from lived_on(story, late, "an update of a tool call after its cancel")


@rule_v1("CAN-10", side="agent", fix="Forget a cancel that finds no turn.")
def a_cancel_without_a_turn_spares_the_next(story: Story) -> Iterator[Seen]:
    for cancel in cancels(story):
        session = session_of(cancel)
        if running(story, cancel.number, session) or is_open(story, session, cancel.number) is not True:
            continue
        turn = next((one for one in story.turns if _begins_after(one, cancel)), None)
        if turn is not None and turn.exchange.has_result and not was_stopped(story, turn):
            right = reason_of(turn) != "cancelled"
            yield kept_if(right, turn.exchange.answer, "an old cancel has hit a new turn", cancel)


def _begins_after(turn: Turn, frame: Frame) -> bool:
    return turn.session == session_of(frame) and turn.exchange.request.number > frame.number


def was_stopped(story: Story, turn: Turn) -> bool:
    """Whether anything told the agent to stop a turn while it ran."""
    return _stop(story, turn) is not None


def _stop(story: Story, turn: Turn) -> int | None:
    """The number of the first frame that tells the agent to stop a turn."""
    ends = story.calls("session/close", "session/delete", "session/archive", direction="to_agent")
    told = [one.request for one in ends] + noted(story, "session/cancel", "to_agent")
    stops = [frame.number for frame in told if session_of(frame) == turn.session]
    stops += [
        frame.number
        for frame in noted(story, "$/cancel_request", "to_agent")
        if _same(frame.params.get("requestId"), turn.exchange)
    ]
    return min((number for number in stops if ran_at(turn, number)), default=None)


def _same(chosen: object, exchange: Exchange) -> bool:
    own = exchange.request.message.get("id")
    return type(chosen) is type(own) and chosen == own


@rule("CAN-11", side="agent", fix="Ignore a cancel for a session that is not known.")
def a_cancel_for_nobody_is_ignored(story: Story) -> Iterator[Seen]:
    for cancel in cancels(story):
        if session_of(cancel) not in known_sessions(story):
            yield from stays_quiet(story, cancel)


@rule_v1("CAN-12", side="agent", fix="Cancel only the session that is named.")
def the_neighbour_is_not_cancelled(story: Story) -> Iterator[Seen]:
    for cancel in cancels(story):
        own = hit(story, cancel)
        done = own.exchange.answer if own is not None else None
        for turn in running(story, cancel.number):
            if turn.session == session_of(cancel) or turn.session in announced(story):
                continue
            stop, end = _stop(story, turn), turn.exchange.answer
            if end is not None and turn.exchange.has_result and (stop is None or end.number < stop):
                right = reason_of(turn) != "cancelled"
                yield kept_if(right, end, "another session was cancelled", cancel)
            elif stop is not None and done is not None and cancel.number < done.number < stop:
                yield kept_if(True, done, "", cancel)  # it ran on until it was stopped itself


@rule_v1("CAN-13", side="agent", fix="Keep a session usable after a cancel.")
def a_cancelled_session_can_be_used(story: Story) -> Iterator[Seen]:
    for turn in story.turns:
        if reason_of(turn) != "cancelled" or turn.exchange.answer is None:
            continue
        following = next((one for one in story.turns if _is_next(one, turn)), None)
        if following is None or not is_fair(story, following.exchange):
            continue
        number = following.exchange.request.number
        if is_open(story, turn.session, number) is True and following.exchange.code != BAD_PARAMS:
            right = following.exchange.has_result
            yield kept_if(
                right, following.exchange.answer, "the turn after a cancel failed", turn.exchange.answer
            )


def _is_next(other: Turn, turn: Turn) -> bool:
    end = turn.exchange.answer
    return other.session == turn.session and end is not None and other.exchange.request.number > end.number


@rule_v1("CAN-14", side="agent", fix="Answer a turn that ended before the cancel with its own reason.")
def a_turn_that_ended_first_has_its_own_reason(story: Story) -> Iterator[Seen]:
    for cancel in cancels(story):
        turn = hit(story, cancel)
        if turn is None or turn.exchange.answer is None or reason_of(turn) == "cancelled":
            continue
        if not was_read(story, cancel, turn):
            right = reason_of(turn) in REASONS
            yield kept_if(right, turn.exchange.answer, "the answer has no reason of its own", cancel)


@rule_v1("CAN-15", side="agent", fix="Withdraw only requests of your own that are open.")
def open_requests_are_withdrawn_after_a_cancel(story: Story) -> Iterator[Seen]:
    for frame in noted(story, "$/cancel_request", "to_client"):
        if any(cancel.number < frame.number for cancel in cancels(story)):
            asked = story.calls(direction="to_client")
            mine = any(_same(frame.params.get("requestId"), one) for one in asked)
            yield kept_if(mine, frame, "what is withdrawn was never asked")
