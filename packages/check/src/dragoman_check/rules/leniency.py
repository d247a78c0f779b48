"""LEN: readers are lenient where the schema says so and strict elsewhere; writers are strict."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dragoman.schema.lenient import Deviation
from dragoman_check.conversation import Conversation
from dragoman_check.manifest import Side
from dragoman_check.recording import Frame
from dragoman_check.replies import frames_from, frames_to, has_fallen_silent, has_spoken, requests_to
from dragoman_check.rule import Observation, kept, observe, observe_each, rule
from dragoman_check.rules.requests import OTHER_MATTERS, is_ready
from dragoman_check.shapes import method_of, read_frame, shape_errors
from dragoman_check.walks import protocol_value

REQUIRED_LISTS = ("entries", "sessions", "content", "options", "availableCommands", "configOptions", "prompt")
"""Lists that are required, and may contain anything."""


def _acceptances(
    conversation: Conversation, side: Side, odd: Callable[[Deviation], bool], what: str
) -> Iterator[Observation]:
    """Whether requests with something to forgive were not refused for it, and the rest did no harm."""
    for request in requests_to(conversation, side):
        reading = read_frame(request.request, conversation)
        if (
            request.answer is None
            or not any(map(odd, reading.forgiven))
            or not _is_ready(conversation, request.method, request.request)
        ):
            continue
        if request.has_result:
            yield kept(request.answer)
        elif request.code == -32602:
            yield observe(False, request.answer, f"refused because of {what}", request.request)
    yield from _observe_survival(conversation, side, odd, what)


def _is_ready(conversation: Conversation, method: str, request: Frame) -> bool:
    if method == "initialize":
        return True
    answer = conversation.initialize.answer if conversation.initialize is not None else None
    return answer is not None and answer.number < request.number


def _observe_survival(
    conversation: Conversation, side: Side, odd: Callable[[Deviation], bool], what: str
) -> Iterator[Observation]:
    """Check that a side sends further messages, because it does not answer notifications and answers."""
    for frame in frames_to(conversation, side):
        if not frame.is_request and any(map(odd, read_frame(frame, conversation).forgiven)):
            if has_spoken(conversation, side, frame):
                yield kept(frame)
            elif has_fallen_silent(conversation, side, frame) or _is_broken_off(conversation, side):
                yield observe(False, frame, f"the peer sent nothing more after {what}")


def _is_broken_off(conversation: Conversation, side: Side) -> bool:
    """Whether a client ended with a failure; how an agent ends is its client's choice."""
    return side == "client" and conversation.recording.facts.get("exit") not in (None, 0)


@rule("LEN-01", fix="Read a bad value of a member that may be left out as if it were left out.")
def bad_values_count_as_absent(conversation: Conversation, side: Side) -> Iterator[Observation]:
    def odd(deviation: Deviation) -> bool:
        return (
            deviation.kind == "bad value" and not deviation.path.endswith("_meta") and not _is_list(deviation)
        )

    yield from _acceptances(conversation, side, odd, "a value of the wrong type that counts as absent")


@rule("LEN-02", fix="Leave bad items out of a list, and keep the others.")
def bad_items_are_left_out(conversation: Conversation, side: Side) -> Iterator[Observation]:
    yield from _acceptances(
        conversation, side, lambda deviation: deviation.kind == "bad item", "a bad item in a list"
    )


@rule("LEN-03", fix="Read null for a list as an empty list.")
def null_counts_as_empty(conversation: Conversation, side: Side) -> Iterator[Observation]:
    yield from _acceptances(
        conversation, side, lambda deviation: deviation.kind == "null", "null where a list may be empty"
    )


@rule("LEN-04", fix="Read a list of the wrong type as an empty one.")
def a_bad_list_counts_as_empty(conversation: Conversation, side: Side) -> Iterator[Observation]:
    yield from _acceptances(
        conversation,
        side,
        lambda deviation: deviation.kind == "bad value" and _is_list(deviation),
        "a list that is none",
    )


def _is_list(deviation: Deviation) -> bool:
    return deviation.path.rpartition(".")[2] in REQUIRED_LISTS


@rule(
    "LEN-05",
    fix="Refuse a message that lacks something, or has it of the wrong type, with -32602.",
    is_reading=True,
)
def everything_else_is_strict(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for request in requests_to(conversation, side):
        reading = read_frame(request.request, conversation)
        ready = request.method == "initialize" or is_ready(conversation, request)
        if (
            reading.refusal is None
            or request.answer is None
            or not ready
            or _was_lenient(reading.refusal.path)
            or (request.method == "initialize" and reading.refusal.path == "$.protocolVersion")  # INIT-16
        ):
            continue
        if request.has_error:
            if request.code not in OTHER_MATTERS:
                yield kept(request.answer)
        else:
            why = f"a request was taken in which {reading.refusal}"
            yield observe(False, request.answer, why, request.request)


def _was_lenient(path: str) -> bool:
    """Whether an earlier schema accepted it, so that accepting it is not wrong."""
    names = (
        "$.mcpServers[",
        "$.additionalDirectories",
        "$.args",
        "$.env",
        "$.outputByteLimit",
        "$.line",
        "$.limit",
    )
    return path.startswith(names)


@rule("LEN-06", fix="Write messages that the schema accepts without forgiving anything.")
def what_is_written_is_strictly_right(conversation: Conversation, side: Side) -> Iterator[Observation]:
    def why(frame: Frame) -> str:
        # An entry of an unknown type is a login of the agent's own, says the schema.
        errors = (
            str(error)
            for error in shape_errors(frame, conversation)
            if not error.path.startswith("$.authMethods")
        )
        return next(errors, "")

    yield from observe_each(
        (frame for frame in frames_from(conversation, side) if _is_defined(frame, conversation)), why
    )


def _is_defined(frame: Frame, conversation: Conversation) -> bool:
    """Whether the protocol says what is in it; params that are missing may be an empty object."""
    if frame.is_answer or frame.message.get("params") is not None:
        return protocol_value(frame, conversation) is not None
    return method_of(frame, conversation) is not None
