"""RPC: the envelope of messages: versions, ids, results and errors, and names.

How a side takes what others say is judged in `requests`; numbers and paths are judged in `places`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman_check.conversation import Conversation, Exchange
from dragoman_check.manifest import Side
from dragoman_check.recording import Frame
from dragoman_check.replies import (
    QUIET,
    frames_from,
    frames_to,
    ids_inside,
    is_in_any_stretch,
    proof,
    refusals_without_line,
    requests_to,
    strays,
)
from dragoman_check.rule import Observation, direction_from, kept, observe, observe_each, rule
from dragoman_check.walks import KINDS, Member, camel, names, noted_members

LONGEST_MESSAGE = 400
"""The most characters of an error's message: far more than one short sentence needs."""

INT64 = range(-(2**63), 2**63)
_SNAKE = re.compile(r"_?[a-z][a-z0-9_]*")

UNOBSERVED: dict[str, str] = {
    "RPC-22": "what runs at the same time may end in any order; where the protocol fixes an order, the areas"
    " of turns, loading and cancelling judge it",
}


def messages(conversation: Conversation, side: Side) -> list[Frame]:
    """Return messages of a side that are objects."""
    return [frame for frame in frames_from(conversation, side) if type(frame.json) is dict]


def begins(conversation: Conversation) -> bool:
    """Whether the recording contains the beginning of the conversation."""
    first = next((frame for frame in conversation.frames if frame.is_request), None)
    return first is not None and (first.method == "initialize" or bool(conversation.recording.marks))


@rule("RPC-01", fix='Write "jsonrpc": "2.0" into every message.')
def every_message_names_the_version(conversation: Conversation, side: Side) -> Iterator[Observation]:
    def why(frame: Frame) -> str:
        return "" if frame.message.get("jsonrpc") == "2.0" else 'jsonrpc is missing or is not "2.0"'

    yield from observe_each(messages(conversation, side), why)


@rule(
    "RPC-02",
    fix="Give every request a method that is a string, and an id that is a whole number or a string.",
)
def a_request_has_an_id_and_a_method(conversation: Conversation, side: Side) -> Iterator[Observation]:
    def why(frame: Frame) -> str:
        if type(frame.message["method"]) is not str:
            return "method is not a string"
        request_id = frame.message.get("id")
        if type(request_id) is int:
            return "" if request_id in INT64 else "id is not a 64-bit integer"
        return (
            ""
            if request_id is None or type(request_id) is str
            else "id is neither a whole number nor a string"
        )

    yield from observe_each(
        (frame for frame in messages(conversation, side) if "method" in frame.message), why
    )


@rule(
    "RPC-03", fix="Answer under the id of the request: the same type, the same value, once.", unavoidable=True
)
def an_answer_repeats_the_id_of_a_request(conversation: Conversation, side: Side) -> Iterator[Observation]:
    answers = [request.answer for request in requests_to(conversation, side)]
    yield from (kept(answer) for answer in answers if answer is not None)
    reply_numbers = {stray.reply.number for stray in strays(conversation, side) if stray.reply is not None}
    reply_numbers |= {
        frame.number for frame in refusals_without_line(conversation, side)
    }  # judged with RPC-05
    inside = ids_inside(conversation, side)
    for frame in conversation.stray_answers:
        if frame.direction != direction_from(side):
            continue
        if "id" not in frame.message:
            yield Observation(
                False, (frame.number,), "an answer without an id; where none is known it is null"
            )
        elif (
            begins(conversation)
            and frame.number not in reply_numbers
            and repr(frame.message["id"]) not in inside
        ):
            yield Observation(False, (frame.number,), _why_unasked(frame, requests_to(conversation, side)))


def _why_unasked(frame: Frame, exchanges: list[Exchange]) -> str:
    answer_id = frame.message["id"]
    before = [request.request.message["id"] for request in exchanges if request.request.number < frame.number]
    if any(type(request_id) is type(answer_id) and request_id == answer_id for request_id in before):
        return "a request was answered a second time"
    if any(str(request_id) == str(answer_id) for request_id in before):
        return "the id is of another type than the id of the request"
    return "no request has this id"


@rule("RPC-04", fix="Write either result or error into an answer, and leave the other one out.")
def an_answer_has_one_of_result_and_error(conversation: Conversation, side: Side) -> Iterator[Observation]:
    def why(frame: Frame) -> str:
        halves = ("result" in frame.message) + ("error" in frame.message)
        return "" if halves == 1 else "both result and error" if halves else "neither result nor error"

    answers = (frame for frame in messages(conversation, side) if "method" not in frame.message)
    yield from observe_each((frame for frame in answers if frame.is_answer or "id" in frame.message), why)


@rule("RPC-05", fix="Send no answer to a notification, not even an error.", unavoidable=True)
def a_notification_is_never_answered(conversation: Conversation, side: Side) -> Iterator[Observation]:
    notes = [frame for frame in frames_to(conversation, side) if frame.is_notification]
    proven = proof(conversation, side)
    yield from (kept(frame) for frame in notes if proven.after(frame.number) is not None)
    for answer in refusals_without_line(conversation, side):
        if is_in_any_stretch(conversation, answer, QUIET):
            continue
        note = next((frame for frame in reversed(notes) if frame.number < answer.number), None)
        if note is not None:
            yield observe(False, answer, "an answer without an id, when nothing but notifications came", note)


@rule("RPC-06", fix="Count requests with whole numbers, or name them with strings.")
def ids_are_not_null_and_have_no_fraction(conversation: Conversation, side: Side) -> Iterator[Observation]:
    def why(frame: Frame) -> str:
        request_id = frame.message["id"]
        return (
            "id is null" if request_id is None else "id has a fraction" if type(request_id) is float else ""
        )

    yield from observe_each((frame for frame in messages(conversation, side) if frame.is_request), why)


@rule("RPC-07", fix="Give every error an integer code and a message.")
def an_error_has_a_code_and_a_message(conversation: Conversation, side: Side) -> Iterator[Observation]:
    def why(frame: Frame) -> str:
        error = frame.message["error"]
        if type(error) is not dict:
            return "error is not an object"
        if type(error.get("code")) is not int:
            return "error.code is not an integer"
        return "" if type(error.get("message")) is str else "error.message is not a string"

    yield from observe_each(errors(conversation, side), why)


@rule("RPC-08", fix="Name the problem in one short sentence; put details into data.")
def the_message_of_an_error_is_short(conversation: Conversation, side: Side) -> Iterator[Observation]:
    def why(frame: Frame) -> str:
        text = frame.message["error"]["message"].strip()
        if "\n" in text:
            return "error.message has several lines"
        return "" if len(text) <= LONGEST_MESSAGE else f"error.message has {len(text)} characters"

    objects = (frame for frame in errors(conversation, side) if type(frame.message["error"]) is dict)
    yield from observe_each(
        (answer for answer in objects if type(answer.message["error"].get("message")) is str), why
    )


def errors(conversation: Conversation, side: Side) -> list[Frame]:
    """Return error answers of a side. An error beside a null result does not count."""
    answers = (frame for frame in frames_from(conversation, side) if frame.is_answer)
    return [frame for frame in answers if frame.message.get("error") is not None]


@rule("RPC-17", fix="Name members in camelCase and kinds in snake_case, as the schema does.")
def names_are_written_as_the_schema_writes_them(
    conversation: Conversation, side: Side
) -> Iterator[Observation]:
    for frame, member in noted_members(conversation, side):
        why = _misspelt(member)
        yield Observation(False, (frame.number,), why) if why else kept(frame)


def _misspelt(member: Member) -> str:
    if "_" in member.name[1:] and camel(member.name) in names():
        return f"{member.path}: {camel(member.name)} is written with underscores"
    is_word = member.name in KINDS and type(member.value) is str and member.value
    if is_word and not _SNAKE.fullmatch(member.value):
        return f"{member.path}.{member.name} is not written in snake_case"
    return ""


@rule("RPC-19", fix="Keep the ids of your own requests apart from the ids of the peer's.")
def both_sides_may_use_an_id_at_once(conversation: Conversation, side: Side) -> Iterator[Observation]:
    own: dict[tuple[str, str], list[Exchange]] = {}
    for own_call in conversation.calls(direction=direction_from(side)):
        own.setdefault(_key(own_call), []).append(own_call)
    for request in requests_to(conversation, side):
        if not any(_overlap(request, own_call) for own_call in own.get(_key(request), ())):
            continue
        if request.answer is not None:
            yield kept(request.answer)
        elif (
            proof(conversation, side).after(request.request.number) is not None
            and request.method != "session/prompt"
        ):
            yield observe(False, request.request, "a request with an id that was in use was never answered")


def _key(exchange: Exchange) -> tuple[str, str]:
    request_id = exchange.request.message["id"]
    return type(request_id).__name__, repr(request_id)


def _overlap(call: Exchange, own_call: Exchange) -> bool:
    first, second = sorted((call, own_call), key=lambda exchange: exchange.request.number)
    return first.answer is None or first.answer.number > second.request.number


@rule("RPC-20", fix="Answer each request, also under an id that is in use.")
def an_id_in_flight_is_used_again(conversation: Conversation, side: Side) -> Iterator[Observation]:
    last: dict[tuple[str, str], Exchange] = {}
    for request in requests_to(conversation, side):
        before = last.get(_key(request))
        if before is not None and _overlap(before, request):
            both = before.answer is not None and request.answer is not None
            yield observe(both, before.request, "one of two requests was never answered", request.request)
        last[_key(request)] = request
