"""CRQ: `$/cancel_request`, with which a side cancels its own request."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman_check.conversation import Conversation, Exchange
from dragoman_check.manifest import Side
from dragoman_check.recording import Direction, Frame
from dragoman_check.rule import Observation, direction_from, kept, observe, rule, rule_v1
from dragoman_check.rules.cancellation import ABORTED, cancels, stays_quiet
from dragoman_check.rules.turns import late_updates
from dragoman_check.timeline import (
    CANCELLED,
    NO_METHOD,
    has_spoken_after,
    is_in_stretch,
    is_ready,
    notifications_of,
    session_of,
)
from dragoman_check.values import text


def _heard_by(side: Side) -> Direction:
    return direction_from("client" if side == "agent" else "agent")


def withdrawals(conversation: Conversation, direction: Direction) -> list[Frame]:
    return notifications_of(conversation, "$/cancel_request", direction)


def is_id(value: object, exchange: Exchange) -> bool:
    """Whether it is the id of a request, by type and value."""
    own = exchange.request.message.get("id")
    return type(value) is type(own) and value == own


def _withdrawn_request(conversation: Conversation, frame: Frame) -> Exchange | None:
    """The request that is taken back: the last with this id before."""
    requests = [
        call
        for call in conversation.calls(direction=frame.direction)
        if "requestId" in frame.params
        and is_id(frame.params["requestId"], call)
        and call.request.number < frame.number
    ]
    return requests[-1] if requests else None


def _is_pending(exchange: Exchange, frame: Frame) -> bool:
    return exchange.answer is None or exchange.answer.number > frame.number


def _again(conversation: Conversation, exchange: Exchange) -> list[Frame]:
    """Further answers under the id of a request."""
    return [
        frame
        for frame in conversation.stray_answers
        if frame.direction != exchange.request.direction
        and is_id(frame.message.get("id"), exchange)
        and exchange.answer is not None
        and frame.number > exchange.answer.number
    ]


@rule("CRQ-01", fix="Send $/cancel_request as a notification with the id of a request of your own.")
def a_withdrawal_names_a_request_of_its_sender(
    conversation: Conversation, side: Side
) -> Iterator[Observation]:
    for frame in conversation.frames:
        if frame.method == "$/cancel_request" and frame.direction == direction_from(side):
            right = frame.is_notification and _withdrawn_request(conversation, frame) is not None
            yield observe(right, frame, "$/cancel_request has an id, or names no request of its sender")


@rule("CRQ-02", fix="Never answer a notification.")
def a_withdrawal_is_not_answered(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for frame in withdrawals(conversation, _heard_by(side)):
        if _withdrawn_request(conversation, frame) is not None:
            yield from stays_quiet(conversation, frame)


@rule("CRQ-03", fix="Answer a request that was taken back once: with its result or with -32800.")
def what_was_taken_back_is_answered_once(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for frame in withdrawals(conversation, _heard_by(side)):
        request = _withdrawn_request(conversation, frame)
        if request is None or not _is_pending(request, frame):
            continue
        again = _again(conversation, request)
        if request.answer is None:
            if is_in_stretch(conversation, request.request, "withdrawn"):
                yield observe(False, request.request, "never answered after it was taken back", frame)
        elif request.has_result or request.code == CANCELLED or again or _sounds_aborted(request):
            right = not again and (request.has_result or request.code == CANCELLED)
            yield observe(right, request.answer, "not answered once, with data or -32800", frame, *again[:1])


def _sounds_aborted(exchange: Exchange) -> bool:
    error = exchange.answer.message.get("error") if exchange.answer is not None else None
    return type(error) is dict and bool(ABORTED.search(text(error.get("message"))))


@rule_v1(
    "CRQ-04",
    side="agent",
    fix="Send the updates of a withdrawn prompt before its answer.",
)
def updates_of_a_withdrawn_prompt_come_before_its_answer(conversation: Conversation) -> Iterator[Observation]:
    for frame in withdrawals(conversation, "to_agent"):
        for turn in conversation.turns:
            if _withdrawn_request(conversation, frame) == turn.exchange and _is_pending(turn.exchange, frame):
                late = late_updates(conversation, turn)
                if late or has_spoken_after(conversation, turn.exchange.answer, "agent"):
                    yield observe(
                        not late, turn.exchange.answer, "an update comes after the answer", *late[:1]
                    )


@rule("CRQ-05", fix="Answer what was cancelled with error code -32800.")
def what_was_cancelled_has_the_code_for_it(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for call in conversation.calls(direction=_heard_by(side)):
        if call.code == CANCELLED or _sounds_aborted(call):
            yield observe(
                call.code == CANCELLED,
                call.answer,
                "a cancelled request was answered with a code other than -32800",
            )


@rule("CRQ-06", fix="Ignore $/cancel_request for what is answered already.")
def a_withdrawal_that_comes_late_does_nothing(
    conversation: Conversation, side: Side
) -> Iterator[Observation]:
    for frame in withdrawals(conversation, _heard_by(side)):
        request = _withdrawn_request(conversation, frame)
        if request is not None and not _is_pending(request, frame):
            again = [answer for answer in _again(conversation, request) if answer.number > frame.number]
            if again or has_spoken_after(conversation, frame, side):
                yield observe(not again, frame, "a request was answered again", *again[:1])


@rule("CRQ-07", fix="Ignore $/cancel_request with an id that is not known or makes no sense.")
def a_withdrawal_of_nothing_is_ignored(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for frame in withdrawals(conversation, _heard_by(side)):
        if _withdrawn_request(conversation, frame) is None:
            yield from stays_quiet(conversation, frame)


@rule_v1("CRQ-08", fix='Compare ids by type and value: 1 and "1" are two.')
def the_text_of_a_number_is_another_id(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for frame in withdrawals(conversation, _heard_by(side)):
        request_id = frame.params.get("requestId")
        if _withdrawn_request(conversation, frame) is not None or not isinstance(request_id, int | str):
            continue
        for call in conversation.calls(direction=frame.direction):
            own = call.request.message.get("id")
            alike = isinstance(own, int | str) and str(own) == str(request_id)
            if alike and call.request.number < frame.number and _is_pending(call, frame):
                yield from _observe_untouched(conversation, call, frame)


def _observe_untouched(conversation: Conversation, exchange: Exchange, frame: Frame) -> Iterator[Observation]:
    """Whether a request went on after a withdrawal that only looks like its own."""
    stops = [
        stop_frame for stop_frame in cancels(conversation) if session_of(stop_frame) == session_of(exchange)
    ]
    stops += [
        stop_frame
        for stop_frame in withdrawals(conversation, frame.direction)
        if _withdrawn_request(conversation, stop_frame) == exchange
    ]
    stop = next(
        (stop_frame.number for stop_frame in stops if stop_frame.number > exchange.request.number), None
    )
    is_cancelled = exchange.code == CANCELLED or exchange.result.get("stopReason") == "cancelled"
    if exchange.answer is not None and is_cancelled and (stop is None or exchange.answer.number < stop):
        yield observe(False, frame, "a request with another id was cancelled", exchange.answer)
    elif exchange.answer is not None:
        yield kept(frame)


@rule_v1("CRQ-09", side="agent", fix="Answer a withdrawn prompt with -32800 or stopReason cancelled.")
def a_withdrawn_prompt_is_cancelled(conversation: Conversation) -> Iterator[Observation]:
    for frame in withdrawals(conversation, "to_agent"):
        prompt = _withdrawn_request(conversation, frame)
        if (
            prompt is not None
            and prompt.method == "session/prompt"
            and prompt.answer
            and _is_pending(prompt, frame)
        ):
            is_cancelled = prompt.code == CANCELLED or prompt.result.get("stopReason") == "cancelled"
            if is_cancelled or prompt.has_error:
                yield observe(is_cancelled, prompt.answer, "answered with another error", frame)


@rule_v1("CRQ-10", side="client", fix="Answer a withdrawn permission request with outcome cancelled.")
def a_withdrawn_question_is_cancelled(conversation: Conversation) -> Iterator[Observation]:
    for frame in withdrawals(conversation, "to_client"):
        question = _withdrawn_request(conversation, frame)
        if (
            question is None
            or question.method != "session/request_permission"
            or not _is_pending(question, frame)
        ):
            continue
        if question.answer is not None:
            outcome = question.result.get("outcome")
            is_cancelled = type(outcome) is dict and outcome.get("outcome") == "cancelled"
            yield observe(
                is_cancelled or question.code == CANCELLED,
                question.answer,
                "answered with something else",
                frame,
            )


@rule("CRQ-11", fix="Answer unknown requests whose method begins with $/ with -32601.")
def an_unknown_dollar_request_is_refused(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for call in conversation.calls(direction=_heard_by(side)):
        unknown = call.method.startswith("$/") and call.method != "$/cancel_request"
        if unknown and call.answer is not None and is_ready(conversation, call.request):
            yield observe(call.code == NO_METHOD, call.request, "not answered with -32601", call.answer)
