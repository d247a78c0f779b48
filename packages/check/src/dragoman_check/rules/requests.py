"""RPC: how a side handles bad messages: unknown methods, wrong params, and malformed lines.

A line that was not answered counts only if the side has certainly read it, or has never said a word again.
"""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.schema.method import Method, Receiver
from dragoman_check.conversation import Conversation, Exchange
from dragoman_check.manifest import Side
from dragoman_check.recording import Frame
from dragoman_check.replies import (
    Stray,
    code_of,
    frames_from,
    has_fallen_silent,
    proof,
    requests_to,
    strays,
)
from dragoman_check.rule import Observation, kept, observe, rule
from dragoman_check.shapes import read_frame, table, table_of

OTHER_MATTERS = (-32000, -32002, -32601, -32800)
"""Errors that may come first: a login, a missing session, a missing method, a cancel."""

OLD_METHODS = frozenset({"session/set_model", "mcp/connect", "mcp/disconnect", "initialized"})
"""Methods of drafts and of other protocols: no sign that a method was invented."""


def is_ready(conversation: Conversation, exchange: Exchange) -> bool:
    """Whether the handshake was over when the request was sent."""
    first = conversation.initialize
    return (
        first is not None
        and first.has_result
        and first.answer is not None
        and (first.answer.number < exchange.request.number)
    )


def is_made_up(method: str) -> bool:
    """Whether the method is in no version of the protocol, and no program uses it privately."""
    if not method or method.startswith("_") or method in OLD_METHODS:
        return False
    return not any(row.name == method for version in (1, 2) for row in table(version))


def is_probe(method: str) -> bool:
    """Whether a test invented it: a known method may take time for other reasons."""
    return method.startswith(("nope", "$/", "_tck/", "_dragoman/"))


def is_never_answered(conversation: Conversation, side: Side, exchange: Exchange) -> bool:
    """Whether a side left a request unanswered, although it answered a later one, or sent nothing more."""
    if exchange.answer is not None:
        return False
    return proof(conversation, side).after(exchange.request.number) is not None or has_fallen_silent(
        conversation, side, exchange.request
    )


@rule("RPC-09", fix="Answer a request for a method you do not have with -32601.")
def an_unknown_method_is_refused(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for request in requests_to(conversation, side):
        is_request = request.request.message.get("jsonrpc") == "2.0"
        if not is_request or not is_made_up(request.method) or not is_ready(conversation, request):
            continue
        if is_probe(request.method) and is_never_answered(conversation, side, request):
            yield observe(False, request.request, "a request for an unknown method was never answered")
        elif request.has_error and request.code not in (-32000, -32800):
            yield observe(
                request.code == -32601,
                request.answer,
                "an unknown method is not refused with -32601",
                request.request,
            )
        elif request.has_result and is_probe(request.method):
            yield observe(
                False, request.answer, "an unknown method was answered with a result", request.request
            )


@rule("RPC-10", fix="Answer a line that is not JSON with error -32700 and id null, and go on.")
def what_is_no_json_is_refused(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for stray in strays(conversation, side):
        if stray.kind == "text":
            yield from _observe_refusal(conversation, side, stray, -32700)


@rule("RPC-11", fix="Answer JSON that is not a request with error -32600 and id null, and run nothing.")
def what_is_no_request_is_refused(conversation: Conversation, side: Side) -> Iterator[Observation]:
    speaks = (
        conversation.initialize is not None
        and conversation.initialize.request.message.get("jsonrpc") == "2.0"
    )
    for stray in strays(conversation, side):
        is_old = stray.kind == "version" and speaks and "id" in stray.frame.message
        if stray.kind in ("value", "object") or is_old:
            yield from _observe_refusal(conversation, side, stray, -32600)


def _observe_refusal(
    conversation: Conversation, side: Side, stray: Stray, code: int
) -> Iterator[Observation]:
    if stray.reply is not None:
        right = code_of(stray.reply) == code
        yield observe(right, stray.reply, f"the answer is not error {code}", stray.frame)
    elif stray.is_read:
        yield observe(False, stray.frame, f"not answered; error {code} with id null was due")
    elif has_fallen_silent(conversation, side, stray.frame):
        yield observe(False, stray.frame, "the peer sent nothing more after this line")


@rule("RPC-12", fix="Check params against the schema, and answer with -32602 if they are wrong.")
def wrong_params_are_refused_as_such(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for request in requests_to(conversation, side):
        if (
            not request.has_error
            or request.code in OTHER_MATTERS
            or read_frame(request.request, conversation).refusal is None
        ):
            continue
        if request.method == "initialize" or is_ready(conversation, request):
            why = "params of the wrong shape are not refused with -32602"
            yield observe(request.code == -32602, request.answer, why, request.request)


@rule("RPC-13", fix="Catch what your handlers raise, answer with -32603, and keep the connection.")
def a_failure_does_not_end_the_connection(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for request in requests_to(conversation, side):
        if request.code == -32603 and request.answer is not None:
            yield from _went_on(conversation, side, request.answer, "after an internal error")


@rule("RPC-14", fix="Keep reading after whatever you refused.")
def the_connection_stays_usable(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for request in requests_to(conversation, side):
        if request.answer is not None and request.code in (-32600, -32601, -32602, -32603):
            yield from _went_on(conversation, side, request.answer, "after an error")
    for stray in strays(conversation, side):
        yield from _went_on(
            conversation, side, stray.reply or stray.frame, "after a line that is not a message"
        )


def _went_on(conversation: Conversation, side: Side, frame: Frame, when: str) -> Iterator[Observation]:
    if proof(conversation, side).after(frame.number) is not None:
        yield kept(frame)
    elif has_fallen_silent(conversation, side, frame):
        yield observe(False, frame, f"the peer sent nothing more {when}")


@rule("RPC-15", fix="Drop an answer that belongs to no request of yours.")
def an_answer_to_nothing_is_dropped(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for stray in strays(conversation, side):
        if stray.kind == "answer" and stray.is_read:
            yield observe(
                stray.reply is None, stray.frame, "a response without a request was answered", stray.reply
            )


@rule("RPC-16", fix="Refuse an array as a whole with error -32600 and id null; run none of its entries.")
def a_batch_is_refused(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for stray in strays(conversation, side):
        if stray.kind == "batch":
            ran = _ran(conversation, side, stray)
            if ran is not None:
                yield observe(False, stray.frame, "an entry of an array was run", ran)
            else:
                yield from _observe_refusal(conversation, side, stray, -32600)


def _ran(conversation: Conversation, side: Side, stray: Stray) -> Frame | None:
    """An answer to an entry, alone or in an array."""
    entries = [item for item in stray.frame.json if type(item) is dict and item.get("id") is not None]
    ids = {repr(entry["id"]) for entry in entries}
    stray_numbers = {frame.number for frame in conversation.stray_answers}
    for frame in frames_from(conversation, side):
        if frame.number > stray.frame.number:
            if type(frame.json) is list:
                return frame
            if frame.number in stray_numbers and repr(frame.message.get("id")) in ids:
                return frame
    return None


@rule("RPC-18", fix="Read absent params, and params that are null, as an empty object.")
def params_may_be_absent(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for request in requests_to(conversation, side):
        is_known = request.request.message.get("params") is None and _row(conversation, side, request.method)
        if (
            not is_known
            or read_frame(request.request, conversation).refusal is not None
            or not is_ready(conversation, request)
        ):
            continue
        if request.has_result:
            yield kept(request.answer)
        elif request.code in (-32600, -32602, -32603):
            yield observe(
                False, request.answer, "a request without optional params was refused", request.request
            )


def _row(conversation: Conversation, side: Side, method: str) -> Method | None:
    receiver: Receiver = "agent" if side == "agent" else "client"
    return table_of(conversation).get(method, kind="request", receiver=receiver)


@rule("RPC-21", fix="Ignore members that you do not know.")
def unknown_members_are_ignored(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for request in requests_to(conversation, side):
        reading = read_frame(request.request, conversation)
        unknown = any(
            deviation.kind == "unknown field" and deviation.path == "$" for deviation in reading.forgiven
        )
        is_first = request.method != "initialize" or not is_ready(conversation, request)
        if not unknown or not is_first or not is_harmless(request):
            continue
        if request.has_result:
            yield kept(request.answer)
        elif request.code in (-32600, -32602, -32603) and succeeds_otherwise(conversation, side, request):
            yield observe(
                False, request.answer, "a request with an unknown member was refused", request.request
            )


def succeeds_otherwise(conversation: Conversation, side: Side, refusal: Exchange) -> bool:
    """Whether such a request ever gets a result: a side that refuses all of them has other reasons."""
    return any(
        request.method == refusal.method and request.has_result for request in requests_to(conversation, side)
    )


def is_harmless(exchange: Exchange) -> bool:
    """Whether nothing else in it is a reason to refuse it."""
    params = exchange.params
    if exchange.method == "session/new":
        folder = params.get("cwd")
        is_plain = not params.get("mcpServers") and not params.get("additionalDirectories")
        return type(folder) is str and folder.startswith("/") and is_plain
    if exchange.method == "session/list":
        return not params.get("cursor") and not params.get("cwd")
    return exchange.method in ("initialize", "session/request_permission")
