"""LEN: reading is lenient where the schema says so and strict elsewhere, and writing is strict."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dragoman.check.manifest import Side
from dragoman.check.recording import Frame
from dragoman.check.replies import asked_of, fell_silent, said, spoke_after, told
from dragoman.check.rule import Seen, kept_if, rule
from dragoman.check.rules.requests import OTHER_MATTERS, is_ready
from dragoman.check.shapes import method_of, read_frame, shape_errors
from dragoman.check.story import Story
from dragoman.check.walks import KEPT, judged, words
from dragoman.schema.lenient import Deviation

REQUIRED_LISTS = ("entries", "sessions", "content", "options", "availableCommands", "configOptions", "prompt")
"""Lists that must be there, and may hold anything."""


def _taken(story: Story, side: Side, odd: Callable[[Deviation], bool], what: str) -> Iterator[Seen]:
    """Whether requests with something to forgive were not refused for it, and the rest did no harm."""
    for one in asked_of(story, side):
        reading = read_frame(one.request, story)
        if (
            one.answer is None
            or not any(map(odd, reading.forgiven))
            or not _is_ready(story, one.method, one.request)
        ):
            continue
        if one.has_result:
            yield KEPT
        elif one.code == -32602:
            yield kept_if(False, one.answer, f"refused because of {what}", one.request)
    yield from _survived(story, side, odd, what)


def _is_ready(story: Story, method: str, request: Frame) -> bool:
    if method == "initialize":
        return True
    answer = story.initialize.answer if story.initialize is not None else None
    return answer is not None and answer.number < request.number


def _survived(story: Story, side: Side, odd: Callable[[Deviation], bool], what: str) -> Iterator[Seen]:
    """Nobody answers notifications and answers: whoever speaks on has lived with them."""
    for frame in told(story, side):
        if not frame.is_request and any(map(odd, read_frame(frame, story).forgiven)):
            if spoke_after(story, side, frame):
                yield KEPT
            elif fell_silent(story, side, frame) or _is_broken_off(story, side):
                yield kept_if(False, frame, f"nothing was said any more after {what}")


def _is_broken_off(story: Story, side: Side) -> bool:
    """Whether a client ended with a failure; how an agent ends is its client's choice."""
    return side == "client" and story.recording.facts.get("exit") not in (None, 0)


@rule("LEN-01", fix="Read a bad value of a member that may be left out as if it were left out.")
def bad_values_count_as_absent(story: Story, side: Side) -> Iterator[Seen]:
    def odd(found: Deviation) -> bool:
        return found.kind == "bad value" and not found.path.endswith("_meta") and not _is_list(found)

    yield from _taken(story, side, odd, "a value of the wrong type that counts as absent")


@rule("LEN-02", fix="Leave bad items out of a list, and keep the others.")
def bad_items_are_left_out(story: Story, side: Side) -> Iterator[Seen]:
    yield from _taken(story, side, lambda found: found.kind == "bad item", "a bad item in a list")


@rule("LEN-03", fix="Read null for a list as an empty list.")
def null_counts_as_empty(story: Story, side: Side) -> Iterator[Seen]:
    yield from _taken(story, side, lambda found: found.kind == "null", "null where a list may be empty")


@rule("LEN-04", fix="Read a list of the wrong type as an empty one.")
def a_bad_list_counts_as_empty(story: Story, side: Side) -> Iterator[Seen]:
    yield from _taken(
        story, side, lambda found: found.kind == "bad value" and _is_list(found), "a list that is none"
    )


def _is_list(found: Deviation) -> bool:
    return found.path.rpartition(".")[2] in REQUIRED_LISTS


@rule("LEN-05", fix="Refuse a message that lacks something, or has it of the wrong type, with -32602.")
def everything_else_is_strict(story: Story, side: Side) -> Iterator[Seen]:
    for one in asked_of(story, side):
        reading = read_frame(one.request, story)
        ready = one.method == "initialize" or is_ready(story, one)
        if reading.refused is None or one.answer is None or not ready or _was_lenient(reading.refused.path):
            continue
        if one.has_error:
            if one.code not in OTHER_MATTERS:
                yield KEPT
        else:
            why = f"a request was taken in which {reading.refused}"
            yield kept_if(False, one.answer, why, one.request)


def _was_lenient(path: str) -> bool:
    """Whether an earlier schema forgave it: whoever reads as that one did is not wrong."""
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
def what_is_written_is_strictly_right(story: Story, side: Side) -> Iterator[Seen]:
    def why(frame: Frame) -> str:
        # An entry of an unknown type is a login of the agent's own, says the schema.
        found = (str(one) for one in shape_errors(frame, story) if not one.path.startswith("$.authMethods"))
        return next(found, "")

    yield from judged((frame for frame in said(story, side) if _is_defined(frame, story)), why)


def _is_defined(frame: Frame, story: Story) -> bool:
    """Whether the protocol says what is in it; params that are missing may be an empty object."""
    if frame.is_answer or frame.message.get("params") is not None:
        return words(frame, story) is not None
    return method_of(frame, story) is not None
