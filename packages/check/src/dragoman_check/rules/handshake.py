"""INIT: the handshake: the order of messages, and the version that results.

What follows from the capabilities that were exchanged is judged in `capabilities`.
"""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.conversation import Conversation, Exchange, update_of
from dragoman_check.manifest import Side
from dragoman_check.recording import Frame
from dragoman_check.replies import frames_from, has_fallen_silent, has_spoken, proof, requests_to, restarts
from dragoman_check.rule import Observation, kept, observe, observe_each, rule
from dragoman_check.rules.requests import is_ready
from dragoman_check.shapes import read_frame, shape_errors, table

VERSIONS = range(65536)
KNOWN = (1, 2)
"""Existing versions; a peer that agrees to another one has not checked."""

ONLY_V2 = frozenset({"state_update", "agent_message", "agent_thought", "user_message"})
"""Kinds of updates that version 1 never had."""

UNOBSERVED: dict[str, str] = {
    "INIT-24": "what a client displays cannot be seen on the wire",
    "INIT-27": "which block a side reads shows only in whether it keeps to the capabilities, see INIT-12",
}


def handshakes(conversation: Conversation) -> list[Exchange]:
    """Return all handshakes up to the first successful one."""
    calls = []
    for call in conversation.calls("initialize", direction="to_agent"):
        calls.append(call)
        if call.has_result:
            break
    return calls


def requested_version(exchange: Exchange) -> Json:
    """Return the requested version if it is valid, otherwise None."""
    version = exchange.params.get("protocolVersion")
    return version if type(version) is int and version in VERSIONS else None


def info_of(fields: JsonObject, name: str) -> Json:
    """Return the name and version of a side; version 2 calls it `info`."""
    return fields.get(name, fields.get("info"))


@rule("INIT-01", side="client", fix="Send initialize first, and wait for its answer before anything else.")
def nothing_is_asked_before_the_handshake_is_over(conversation: Conversation) -> Iterator[Observation]:
    requests = conversation.calls(direction="to_agent")
    if not requests:
        return
    first = conversation.initialize
    if first is None:
        # A recording that begins in the middle looks the same, except for what it begins with.
        if conversation.frames[0].method in ("session/new", "authenticate"):
            yield observe(False, conversation.frames[0], "a conversation without initialize")
        return
    end = first.answer.number if first.answer is not None else conversation.frames[-1].number + 1
    early = [
        request for request in requests if request.request.number < end and request.method != "initialize"
    ]
    yield observe(
        not early, early[0].request if early else first.request, "sent before initialize was answered"
    )


@rule("INIT-02", side="client", fix="Send protocolVersion as one integer from 0 to 65535.")
def the_client_names_one_version(conversation: Conversation) -> Iterator[Observation]:
    for handshake in handshakes(conversation):
        why = "protocolVersion is not an integer from 0 to 65535"
        yield observe(requested_version(handshake) is not None, handshake.request, why)


@rule("INIT-03", side="client", fix="Send clientCapabilities as an object that says what the client can do.")
def the_client_says_what_it_can(conversation: Conversation) -> Iterator[Observation]:
    for handshake in handshakes(conversation):
        name = (
            "capabilities"
            if requested_version(handshake) == 2 and "capabilities" in handshake.params
            else "clientCapabilities"
        )
        if name in handshake.params:
            wrong = [error for error in _all_errors(handshake.request, conversation) if f"$.{name}" in error]
            fine = type(handshake.params[name]) is dict and not wrong
            yield observe(fine, handshake.request, wrong[0] if wrong else f"{name} is not an object")


def _all_errors(frame: Frame, conversation: Conversation) -> list[str]:
    return [str(error) for error in shape_errors(frame, conversation)]


@rule("INIT-04", side="client", fix="Send clientInfo with name and version.")
def the_client_says_who_it_is(conversation: Conversation) -> Iterator[Observation]:
    for handshake in handshakes(conversation):
        yield _observe_info(info_of(handshake.params, "clientInfo"), handshake.request, "clientInfo")


@rule("INIT-10", side="agent", fix="Answer initialize with agentInfo: name and version.")
def the_agent_says_who_it_is(conversation: Conversation) -> Iterator[Observation]:
    for handshake in handshakes(conversation):
        if handshake.has_result and handshake.answer is not None:
            yield _observe_info(info_of(handshake.result, "agentInfo"), handshake.answer, "agentInfo")


def _observe_info(info: object, frame: Frame, name: str) -> Observation:
    fields = info if type(info) is dict else {}
    missing = [key for key in ("name", "version") if type(fields.get(key)) is not str or not fields[key]]
    return observe(not missing, frame, f"{name} has no {missing[0]}" if missing else "")


@rule("INIT-05", side="agent", fix="Answer initialize with protocolVersion and agentCapabilities.")
def the_agent_answers_with_version_and_capabilities(conversation: Conversation) -> Iterator[Observation]:
    for handshake in handshakes(conversation):
        if handshake.answer is None or handshake.has_error:
            continue
        version = handshake.result.get("protocolVersion")
        if type(version) is not int or version not in VERSIONS:
            yield observe(False, handshake.answer, "protocolVersion is not an integer from 0 to 65535")
            continue
        if _is_first_shape(handshake):
            continue  # judged by INIT-07
        # Ways to log in have rules of their own.
        wrong = [
            text
            for text in _all_errors(handshake.answer, conversation)
            if not text.startswith("$.authMethods")
        ]
        yield observe(not wrong, handshake.answer, wrong[0] if wrong else "")


def _is_first_shape(exchange: Exchange) -> bool:
    """Whether an answer agrees to version 2 in the words of version 1."""
    is_second = exchange.result.get("protocolVersion") == 2
    return is_second and "agentCapabilities" in exchange.result and "capabilities" not in exchange.result


@rule("INIT-06", side="agent", fix="Answer with the version that was asked for if you speak it.")
def a_version_that_exists_is_agreed_upon(conversation: Conversation) -> Iterator[Observation]:
    for handshake in handshakes(conversation):
        odd = read_frame(handshake.request, conversation).refusal is not None or _is_malformed(
            handshake.request, conversation
        )
        if (
            requested_version(handshake) == 1
            and handshake.answer is not None
            and not (odd and handshake.has_error)
        ):
            # An agent that speaks the second version only says so.
            fine = handshake.has_result and handshake.result.get("protocolVersion") in KNOWN
            yield observe(
                fine,
                handshake.answer,
                "version 1 was asked for, and is not answered with 1",
                handshake.request,
            )
        elif (
            requested_version(handshake) == 2
            and handshake.result.get("protocolVersion") == 2
            and not _is_first_shape(handshake)
        ):
            yield kept(handshake.answer)


@rule("INIT-07", side="agent", fix="Answer a version you do not speak with the latest one you speak.")
def an_unknown_version_is_answered_with_the_latest(conversation: Conversation) -> Iterator[Observation]:
    for handshake in handshakes(conversation):
        version = requested_version(handshake)
        if version is None or version < 2 or handshake.answer is None:
            continue
        if handshake.has_error:
            yield observe(
                False, handshake.answer, "a version the agent does not speak is an error", handshake.request
            )
        elif handshake.result.get("protocolVersion") == version and version not in KNOWN:
            yield observe(
                False, handshake.answer, "a version that does not exist was agreed upon", handshake.request
            )
        elif _is_first_shape(handshake):
            yield observe(
                False,
                handshake.answer,
                "version 2 was agreed upon, in an answer of version 1",
                handshake.request,
            )
        elif handshake.result.get("protocolVersion") != version:
            yield observe(
                handshake.result.get("protocolVersion") in KNOWN,
                handshake.answer,
                "protocolVersion is not a version that exists",
            )


@rule(
    "INIT-08",
    side="agent",
    fix="Answer a version below all of yours with one you speak, or say what you speak.",
)
def a_version_below_all_is_answered(conversation: Conversation) -> Iterator[Observation]:
    for handshake in handshakes(conversation):
        if requested_version(handshake) == 0 and handshake.answer is not None:
            fine = handshake.result.get("protocolVersion") in KNOWN or handshake.code in (-32022, -32602)
            yield observe(
                fine, handshake.answer, "version 0 was answered with something else", handshake.request
            )


@rule(
    "INIT-09", side="client", fix="Close the connection if the agent answers with a version you do not speak."
)
def a_client_leaves_if_it_does_not_speak_the_version(conversation: Conversation) -> Iterator[Observation]:
    handshake = conversation.initialize
    if handshake is None or handshake.answer is None or not handshake.has_result:
        return
    own_version, agent_version = requested_version(handshake), handshake.result.get("protocolVersion")
    if own_version is not None and type(agent_version) is int and agent_version > own_version:
        later = [
            frame
            for frame in frames_from(conversation, "client")
            if frame.number > handshake.answer.number and frame.is_request
        ]
        yield observe(
            not later,
            handshake.answer,
            "the client went on with a version that it does not speak",
            later[0] if later else None,
        )


@rule("INIT-11", fix="Speak the version that was agreed upon, and no words of another one.")
def both_speak_the_agreed_version(conversation: Conversation, side: Side) -> Iterator[Observation]:
    if (
        conversation.initialize is None
        or not conversation.initialize.has_result
        or conversation.version not in KNOWN
    ):
        return
    other_table = table(1 if conversation.version == 2 else 2)
    own = {row.name for row in table(2 if conversation.version == 2 else 1)}
    foreign = {row.name for row in other_table} - own

    def why(frame: Frame) -> str:
        if frame.method in foreign:
            return f"{frame.method} is not a method of version {conversation.version}"
        kind = update_of(frame).get("sessionUpdate") if frame.method == "session/update" else ""
        is_new = conversation.version == 1 and type(kind) is str and kind in ONLY_V2
        return "a kind of update of version 2" if is_new else ""

    yield from observe_each((frame for frame in frames_from(conversation, side) if frame.method), why)


@rule("INIT-15", side="agent", fix="Read a capability of the wrong type as absent.")
def malformed_capabilities_do_not_fail_the_handshake(conversation: Conversation) -> Iterator[Observation]:
    for handshake in handshakes(conversation):
        if (
            requested_version(handshake) is not None
            and handshake.answer is not None
            and _is_malformed(handshake.request, conversation)
        ):
            yield observe(
                handshake.has_result,
                handshake.answer,
                "a capability of the wrong type is an error",
                handshake.request,
            )


@rule("INIT-15", side="client", fix="Read a capability of the wrong type as absent.")
def a_client_lives_with_malformed_capabilities(conversation: Conversation) -> Iterator[Observation]:
    handshake = conversation.initialize
    if (
        handshake is None
        or handshake.answer is None
        or not handshake.has_result
        or not _is_malformed(handshake.answer, conversation)
    ):
        return
    if has_spoken(conversation, "client", handshake.answer):
        yield kept(handshake.answer)
    elif conversation.recording.facts.get("exit") not in (None, 0):
        yield observe(
            False, handshake.answer, "the client sent nothing more after capabilities of the wrong type"
        )


def _is_malformed(frame: Frame, conversation: Conversation) -> bool:
    deviations = read_frame(frame, conversation).forgiven
    return any(
        deviation.kind == "bad value" and "apabilities" in deviation.path and "_meta" not in deviation.path
        for deviation in deviations
    )


@rule(
    "INIT-16",
    side="agent",
    fix="Refuse initialize without an integer protocolVersion with -32602.",
    is_reading=True,
)
def a_version_that_is_none_is_refused(conversation: Conversation) -> Iterator[Observation]:
    for call in conversation.calls("initialize", direction="to_agent"):
        if requested_version(call) is None and call.answer is not None and not is_ready(conversation, call):
            why = "protocolVersion is missing or no version, and is not refused with -32602"
            yield observe(call.code == -32602, call.answer, why, call.request)


@rule("INIT-17", side="agent", fix="Refuse every request before initialize with -32600.")
def nothing_is_done_before_the_handshake(conversation: Conversation) -> Iterator[Observation]:
    first = conversation.initialize
    if first is None:
        return
    tries = conversation.calls("initialize", direction="to_agent")
    for request in requests_to(conversation, "agent"):
        if request.request.number > tries[0].request.number:
            return
        if request.answer is None or request.code in (-32000, -32601) or request.method.startswith("_"):
            continue
        if (
            request.answer.number < tries[0].request.number
            and read_frame(request.request, conversation).refusal is None
        ):
            yield observe(request.code == -32600, request.answer, "not refused with -32600", request.request)


@rule("INIT-18", side="agent", fix="Answer a second initialize, with a result or with an error.")
def a_second_handshake_is_answered(conversation: Conversation) -> Iterator[Observation]:
    for call in conversation.calls("initialize", direction="to_agent"):
        if not is_ready(conversation, call) or call.request.number in restarts(conversation):
            continue
        if call.answer is not None:
            yield kept(call.answer)
        elif proof(conversation, "agent").after(call.request.number) or has_fallen_silent(
            conversation, "agent", call.request
        ):
            yield observe(False, call.request, "a second initialize was never answered")
