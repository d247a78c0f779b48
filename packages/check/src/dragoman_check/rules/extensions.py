"""EXT: private methods, private fields, and `_meta`, which must not change the meaning of a message."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.wire.envelope import JsonObject
from dragoman_check.conversation import Conversation, Exchange
from dragoman_check.manifest import Side
from dragoman_check.recording import Frame
from dragoman_check.replies import frames_from, frames_to, proof, refusals_without_line, requests_to
from dragoman_check.rule import Observation, kept, observe, observe_each, rule
from dragoman_check.rules.requests import (
    is_harmless,
    is_made_up,
    is_never_answered,
    is_probe,
    is_ready,
    succeeds_otherwise,
)
from dragoman_check.shapes import read_frame
from dragoman_check.walks import noted_members, protocol_value

EARLIER = frozenset({"models", "sessionId", "subagents", "authStatus"})
"""Names of protocol drafts at other places or times, so no inventions of a peer."""

TRACE = ("traceparent", "tracestate", "baggage")
_PARENT = re.compile(r"[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")

UNOBSERVED: dict[str, str] = {
    "EXT-10": "about proxies and stores: compare what goes in with what comes out, as `check translate` does",
}


@rule("EXT-01", fix="Put what is your own under _meta, and not beside the protocol's own members.")
def nothing_private_stands_at_the_root(conversation: Conversation, side: Side) -> Iterator[Observation]:
    def why(frame: Frame) -> str:
        for deviation in read_frame(frame, conversation).forgiven:
            if deviation.kind == "unknown field" and deviation.name not in EARLIER:
                return f"{deviation.path} has a member that the schema does not know"
        return ""

    frames = (
        frame for frame in frames_from(conversation, side) if protocol_value(frame, conversation) is not None
    )
    yield from observe_each(frames, why)


@rule("EXT-02", fix="Write _meta as an object, or leave it out.")
def meta_is_an_object(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for frame, member in noted_members(conversation, side):
        if member.name == "_meta":
            fine = type(member.value) in (dict, type(None))
            yield observe(fine, frame, f"{member.path}._meta is not an object")


@rule("EXT-02", fix="Accept _meta in every message.")
def meta_is_taken(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for request in requests_to(conversation, side):
        meta = request.params.get("_meta", 0)
        if type(meta) not in (dict, type(None)) or not is_harmless(request):
            continue
        if request.has_result:
            yield kept(request.answer)
        elif request.code == -32602 and not (type(meta) is dict and _contradicts(meta, request.params)):
            yield observe(False, request.answer, "refused because of _meta", request.request)


@rule("EXT-03", fix="Write traceparent, tracestate and baggage as W3C trace context defines them.")
def trace_context_is_w3c(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for frame, member in noted_members(conversation, side):
        if member.name == "_meta" and type(member.value) is dict:
            for name in (name for name in TRACE if name in member.value):
                fine = _is_trace(name, member.value[name])
                yield observe(fine, frame, f"{member.path}._meta.{name} is malformed")


def _is_trace(name: str, value: object) -> bool:
    return type(value) is str and (name != "traceparent" or bool(_PARENT.fullmatch(value)))


@rule("EXT-04", "EXT-05", fix="Read nothing out of _meta that belongs to the message around it.")
def meta_changes_nothing(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for request in requests_to(conversation, side):
        meta = request.params.get("_meta")
        # It names members of the message, and says something else about them.
        if type(meta) is not dict or not _contradicts(meta, request.params) or not is_harmless(request):
            continue
        if request.has_result:
            why = "_meta was taken for the message itself"
            yield observe(not _is_believed(conversation, request, meta), request.answer, why, request.request)
        elif request.code in (-32600, -32602, -32603, -32002) and succeeds_otherwise(
            conversation, side, request
        ):
            yield observe(False, request.answer, "refused because of what _meta says", request.request)


def _contradicts(meta: JsonObject, params: JsonObject) -> bool:
    names = meta.keys() & (params.keys() | {"sessionId", "cwd"})
    return any(meta[name] != params.get(name) for name in names)


def _is_believed(conversation: Conversation, exchange: Exchange, meta: JsonObject) -> bool:
    """Whether the session has the id, or is listed in the folder, that only `_meta` speaks of."""
    session_id = exchange.result.get("sessionId")
    if exchange.method != "session/new" or type(session_id) is not str:
        return False
    if session_id == meta.get("sessionId"):
        return True
    if meta.get("cwd") == exchange.params.get("cwd"):
        return False
    for listing in conversation.calls("session/list", direction="to_agent"):
        sessions = listing.result.get("sessions")
        for entry in sessions if type(sessions) is list else ():
            if type(entry) is dict and entry.get("sessionId") == session_id and "cwd" in meta:
                return bool(entry.get("cwd") == meta["cwd"])
    return False


@rule("EXT-06", fix="Begin the names of your own methods with an underscore.")
def private_methods_begin_with_an_underscore(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for frame in frames_from(conversation, side):
        if frame.method.startswith("_"):
            yield kept(frame)
        elif is_made_up(frame.method) and not frame.method.startswith("$/"):
            yield observe(False, frame, "a method that is not the protocol's, without an underscore")


@rule("EXT-07", fix="Answer every private request: with -32601 if you do not know it.")
def a_private_request_is_answered(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for request in requests_to(conversation, side):
        if not request.method.startswith("_") or not is_ready(conversation, request):
            continue
        if request.answer is None:
            if is_probe(request.method) and is_never_answered(conversation, side, request):
                yield observe(False, request.request, "a private request was never answered")
        elif is_probe(request.method) and request.code not in (-32000, -32800):
            why = "an unknown private method is not refused with -32601"
            yield observe(request.code == -32601, request.answer, why, request.request)
        else:
            yield kept(request.answer)


@rule("EXT-08", fix="Ignore notifications that you do not know.")
def unknown_notifications_are_ignored(conversation: Conversation, side: Side) -> Iterator[Observation]:
    unknown = [
        frame
        for frame in frames_to(conversation, side)
        if frame.is_notification and _is_unknown(frame.method)
    ]
    refusals = refusals_without_line(conversation, side)
    for frame in unknown:
        end = proof(conversation, side).after(frame.number)
        # A refusal belongs to the last notification before it.
        answer = next(
            (refusal for refusal in refusals if _last_before(conversation, side, refusal) is frame), None
        )
        if answer is not None:
            yield observe(False, answer, "an unknown notification was answered", frame)
        elif end is not None:
            yield kept(frame)


def _is_unknown(method: str) -> bool:
    return method.startswith("_") or is_made_up(method)


def _last_before(conversation: Conversation, side: Side, answer: Frame) -> Frame | None:
    notes = (
        frame
        for frame in reversed(frames_to(conversation, side))
        if frame.is_notification and frame.number < answer.number
    )
    return next(notes, None)


@rule("EXT-11", fix="Read _meta that is not an object as absent.")
def malformed_meta_counts_as_absent(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for request in requests_to(conversation, side):
        meta = request.params.get("_meta", {})
        if type(meta) in (dict, type(None)) or not is_harmless(request) or request.method == "initialize":
            continue
        if request.has_result:
            yield kept(request.answer)
        elif request.code in (-32600, -32602, -32603):
            yield observe(False, request.answer, "refused because _meta is not an object", request.request)
