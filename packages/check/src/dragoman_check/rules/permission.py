"""PERM: permission requests and their answers. `refusals` judges what happens after a refusal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from dragoman.wire.envelope import JsonObject
from dragoman_check.calls import ASK, PermissionExchange, permission_exchanges, turn_of
from dragoman_check.conversation import Conversation, ObservedTurn
from dragoman_check.recording import Frame
from dragoman_check.rule import Observation, kept, observe, rule
from dragoman_check.timeline import announced_sessions, has_spoken_after, known_sessions, session_of
from dragoman_check.values import missing_member

KINDS = ("allow_once", "allow_always", "reject_once", "reject_always")
CANCELLED = -32800

UNOBSERVED: dict[str, str] = {
    "PERM-08": "whether a person or a setting gave an answer is not on the wire",
    "PERM-13": "what a client shows of a question is seen on its screen only",
}


@rule("PERM-01", side="agent", fix="Nothing: asking for permission is optional.")
def permission_is_asked_for(conversation: Conversation) -> Iterator[Observation]:
    for question in permission_exchanges(conversation):
        yield kept(question.exchange.request)


@rule(
    "PERM-02",
    side="agent",
    fix="Send sessionId, toolCall with a toolCallId, and options with id, name and kind.",
)
def a_question_is_whole(conversation: Conversation) -> Iterator[Observation]:
    for question in permission_exchanges(conversation):
        fault = _fault(question.exchange.params, conversation.version)
        yield observe(not fault, question.exchange.request, f"{fault} is missing or wrong")


def _fault(params: JsonObject, version: int) -> str:
    if version < 2:
        fault = missing_member(params, sessionId=str, toolCall=dict, options=list)
        fault = fault or ("toolCallId" if type(params["toolCall"].get("toolCallId")) is not str else "")
    else:
        fault = missing_member(params, sessionId=str, title=str, options=list)
    wrong = (
        missing_member(option, optionId=str, name=str, kind=str)
        for option in ([] if fault else params["options"])
    )
    return fault or next((f"{name} of an option" for name in wrong if name), "")


@rule(
    "PERM-03", side="agent", fix="Use allow_once, allow_always, reject_once or reject_always.", versions=(1,)
)
def an_option_is_of_a_known_kind(conversation: Conversation) -> Iterator[Observation]:
    for question in permission_exchanges(conversation):
        if question.options:
            right = all(option.get("kind") in KINDS for option in question.options)
            yield observe(right, question.exchange.request, "kind of an option is not one of the four")


@rule("PERM-04", side="agent", fix="Offer at least one option, each with an id of its own.")
def options_have_ids_of_their_own(conversation: Conversation) -> Iterator[Observation]:
    for question in permission_exchanges(conversation):
        ids = [repr(option.get("optionId")) for option in question.options]
        right = bool(ids) and len(set(ids)) == len(ids)
        yield observe(right, question.exchange.request, "there is no option, or two have the same id")


@rule(
    "PERM-05", side="client", fix='Answer {"outcome": {"outcome": "selected", "optionId": …}} or cancelled.'
)
def an_answer_is_an_outcome(conversation: Conversation) -> Iterator[Observation]:
    for question in permission_exchanges(conversation):
        if not question.exchange.has_result:
            continue
        kind = question.outcome.get("outcome")
        right = kind == "cancelled" or (kind == "selected" and type(question.outcome.get("optionId")) is str)
        right = right or (conversation.version >= 2 and type(kind) is str and kind != "selected")
        yield observe(
            right, question.exchange.answer, "outcome is neither selected with an optionId nor cancelled"
        )


@rule("PERM-06", side="client", fix="Choose one of the options that were offered.", unavoidable=True)
def the_chosen_option_was_offered(conversation: Conversation) -> Iterator[Observation]:
    for question in permission_exchanges(conversation):
        if question.outcome.get("outcome") == "selected" and question.options:
            option_id = question.outcome.get("optionId")
            right = any(option.get("optionId") == option_id for option in question.options)
            request = question.exchange.request
            yield observe(right, question.exchange.answer, "the chosen option was not offered", request)


@rule("PERM-07", side="client", fix="Answer open questions with cancelled when you cancel the turn.")
def questions_of_a_cancelled_turn_are_cancelled(conversation: Conversation) -> Iterator[Observation]:
    cancels = conversation.notes("session/cancel", direction="to_agent")
    for question in permission_exchanges(conversation):
        cancel = _cancel_while_open(cancels, question)
        if cancel is None or _was_withdrawn(conversation, question):
            continue
        answer = question.exchange.answer
        if answer is None:
            if conversation.version < 2 and _went_on(
                conversation, question, cancel
            ):  # later ones wait to be told
                yield observe(False, question.exchange.request, "never answered after the cancel", cancel)
        else:
            right = question.choice == "cancelled"
            yield observe(right, answer, "the turn was cancelled, and the answer is another one", cancel)


def _cancel_while_open(cancels: list[Frame], question: PermissionExchange) -> Frame | None:
    request, answer = question.exchange.request, question.exchange.answer
    return next(
        (
            frame
            for frame in cancels
            if session_of(frame) == question.session
            and request.number < frame.number
            and (answer is None or frame.number < answer.number)
        ),
        None,
    )


def _was_withdrawn(conversation: Conversation, question: PermissionExchange) -> bool:
    """Whether the agent took it back itself: then the official material has two answers to it."""
    request_id = question.exchange.request.message.get("id")
    return any(
        frame.params.get("requestId") == request_id and question.exchange.request.number < frame.number
        for frame in conversation.notes("$/cancel_request", direction="to_client")
    )


def _went_on(conversation: Conversation, question: PermissionExchange, cancel: Frame) -> bool:
    return any(
        turn.session == question.session and turn.exchange.request.number > cancel.number
        for turn in conversation.turns
    )


@rule("PERM-11", side="agent", fix="Ask with a request that has an id, in a turn of the session it names.")
def a_question_belongs_to_a_turn(conversation: Conversation) -> Iterator[Observation]:
    for frame in conversation.notes(ASK, direction="to_client"):
        yield observe(False, frame, "it has no id")
    if conversation.initialize is None:
        return
    for question in permission_exchanges(conversation):
        request = question.exchange.request
        if question.session in announced_sessions(conversation):
            continue
        if question.session not in known_sessions(conversation):
            yield observe(False, request, "it names a session that this connection does not have")
        elif conversation.version < 2:  # in version 2 an agent may work without being asked
            yield observe(
                _turn(conversation, question) is not None, request, "no turn of its session was running"
            )


@rule("PERM-12", side="agent", fix="Match answers to questions by id, in whatever order they come.")
def answers_are_taken_in_any_order(conversation: Conversation) -> Iterator[Observation]:
    for first, second in _overlaps(conversation):
        turns = [_turn(conversation, question) for question in (first, second)]
        overtaken = _number(second) < _number(first)
        if overtaken and all(turn is not None and turn.end is not None for turn in turns):
            fine = all(turn is not None and not turn.exchange.has_error for turn in turns)
            yield observe(
                fine,
                first.exchange.request,
                "answered out of order, and the turn failed",
                second.exchange.request,
            )


@rule("PERM-12", side="client", fix="Answer every question, also if several are open.")
def every_open_question_is_answered(conversation: Conversation) -> Iterator[Observation]:
    for first, second in _overlaps(conversation):
        both = first.is_answered and second.is_answered
        if both:
            yield kept(first.exchange.answer, second.exchange.answer)
        elif first.is_answered != second.is_answered and _is_overdue(conversation, first, second):
            yield observe(
                False,
                first.exchange.request,
                "one of two open questions is never answered",
                second.exchange.request,
            )


def _overlaps(conversation: Conversation) -> Iterator[tuple[PermissionExchange, PermissionExchange]]:
    """Neighbouring questions that were open at the same time."""
    exchanges = permission_exchanges(conversation)
    for first, second in pairwise(exchanges):
        if first.exchange.answer is None or first.exchange.answer.number > second.exchange.request.number:
            yield first, second


def _is_overdue(conversation: Conversation, *pair: PermissionExchange) -> bool:
    """Whether the turn of the one that is open ended, and the client has spoken since."""
    for question in pair:
        turn = None if question.is_answered else _turn(conversation, question)
        if turn is not None and turn.end is not None and has_spoken_after(conversation, turn.end, "client"):
            return not _was_withdrawn(conversation, question)
    return False


def _number(question: PermissionExchange) -> int:
    return question.exchange.answer.number if question.exchange.answer is not None else 0


@rule(
    "PERM-14",
    side="client",
    fix="Answer a question for a session you do not know with an error or cancelled.",
)
def nothing_is_allowed_in_an_unknown_session(conversation: Conversation) -> Iterator[Observation]:
    if conversation.initialize is None:
        return
    for question in permission_exchanges(conversation):
        is_known = question.session in known_sessions(conversation)
        if question.is_answered and not is_known:
            why = "permission was given in a session that was never set up"
            yield observe(not question.is_allowed, question.exchange.answer, why)


def _turn(conversation: Conversation, question: PermissionExchange) -> ObservedTurn | None:
    return turn_of(conversation, question.exchange.request, question.session)
