"""STD: lines with one message each, in UTF-8, and nothing else on the stream."""

from __future__ import annotations

import json
from collections.abc import Iterator

from dragoman_check.conversation import Conversation
from dragoman_check.manifest import Side
from dragoman_check.recording import BROKEN, Frame
from dragoman_check.replies import direction_to, frames_from, is_no_json, refusals_without_line, strays
from dragoman_check.rule import Observation, kept, observe, observe_each, rule

MOST_LINES = 200
"""The most lines of one broken message; longer ones are skipped."""

UNOBSERVED: dict[str, str] = {
    "STD-05": "a permission, about a stream that nobody judges",
    "STD-12": "whoever is examined over stdio supports it; whether others could is not for a wire to say",
    "STD-13": "about transports of one's own: examine the peer over that transport",
    "STD-14": "who started whom cannot be seen on the wire",
    "STD-15": "after the death of a peer there is no wire left to see anything on",
}


@rule("STD-01", fix="Write UTF-8.")
def lines_are_utf_8(conversation: Conversation, side: Side) -> Iterator[Observation]:
    yield from observe_each(
        frames_from(conversation, side), lambda frame: "" if _is_text(frame.raw) else "the line is not UTF-8"
    )


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


@rule("STD-02", fix="Write each message on one line: escape line breaks, and do not indent.")
def a_message_is_one_line(conversation: Conversation, side: Side) -> Iterator[Observation]:
    run: list[Frame] = []
    for frame in frames_from(conversation, side):
        if type(frame.json) is dict and not run:
            yield kept(frame)
            continue
        run.append(frame)
        if run[0].json is not BROKEN or not run[0].raw.lstrip().startswith(b"{") or len(run) > MOST_LINES:
            run = []
        elif frame.raw.rstrip().endswith(b"}") and _is_message(run):
            yield observe(False, run[0], f"one message on {len(run)} lines", run[-1])
            run = []
        elif type(frame.json) is dict and "jsonrpc" in frame.message:
            run = []  # what came before it was something else


def _is_message(run: list[Frame]) -> bool:
    try:
        value = json.loads(b"\n".join(frame.raw for frame in run))
    except (ValueError, RecursionError):
        return False
    return type(value) is dict and len(run) > 1


def _why_no_message(frame: Frame, version: int) -> str:
    value = frame.json
    if value is BROKEN:
        return "the line is not JSON" if is_no_json(frame.raw) else ""
    # The page on transports of version 2 has arrays of messages; that of version 1 has none.
    is_array = version > 1 and type(value) is list and len(value) > 0
    items = value if is_array else [value]
    if not all(type(item) is dict for item in items):
        return "the line is JSON, but no message"
    is_message = all(item.keys() & {"id", "method", "result", "error"} for item in items)
    return "" if is_message else "the line is not a message"


@rule("STD-03", side="agent", fix="Write nothing but messages to stdout; logs belong on stderr.")
def stdout_carries_only_messages(conversation: Conversation) -> Iterator[Observation]:
    yield from observe_each(
        (frame for frame in frames_from(conversation, "agent") if frame.raw.strip()),
        lambda frame: _why_no_message(frame, conversation.version),
    )


@rule("STD-04", side="client", fix="Write nothing but messages to the agent's stdin.")
def stdin_carries_only_messages(conversation: Conversation) -> Iterator[Observation]:
    yield from observe_each(
        (frame for frame in frames_from(conversation, "client") if frame.raw.strip()),
        lambda frame: _why_no_message(frame, conversation.version),
    )


@rule("STD-09", fix="Accept lines that end with CRLF, and skip blank lines.")
def odd_line_ends_are_taken(conversation: Conversation, side: Side) -> Iterator[Observation]:
    yield from _observe_answers(conversation, side, "CRLF", "a line that ended with CRLF was not answered")
    for stray in strays(conversation, side):
        if stray.kind == "blank" and stray.is_read:
            yield observe(stray.reply is None, stray.frame, "a blank line was answered", stray.reply)
    for frames in conversation.recording.stretches("blank lines"):
        replies = [frame for frame in refusals_without_line(conversation, side) if frame in frames]
        yield observe(not replies, next(iter(replies or frames), None), "a blank line was answered")


@rule("STD-06", side="client", fix="Read the agent's standard error, or close it; do not let it fill up.")
def standard_error_does_not_fill_up(conversation: Conversation) -> Iterator[Observation]:
    is_drained = conversation.recording.facts.get("stderr drained")
    if type(is_drained) is bool:
        last = conversation.frames[-1] if conversation.frames else None
        yield observe(is_drained, last, "the agent could not write its standard error any more")


@rule("STD-07", side="client", fix="Close the agent's input first, and end its process after a while.")
def a_client_closes_the_input(conversation: Conversation) -> Iterator[Observation]:
    how = conversation.recording.facts.get("input")
    if how in ("closed", "broken"):
        last = conversation.frames[-1] if conversation.frames else None
        yield observe(how == "closed", last, "the input was not closed in good order")


@rule("STD-08", side="agent", fix="End when your input ends.")
def an_agent_ends_with_its_input(conversation: Conversation) -> Iterator[Observation]:
    facts = conversation.recording.facts
    if "scene" not in facts or "exit" not in facts or "died" in facts:
        return  # not closed by an examiner, or not by it alone
    status = facts["exit"]
    if status is None or (type(status) is int and status >= 0):
        last = conversation.frames[-1] if conversation.frames else None
        yield observe(status is not None, last, "the agent did not end after its input had ended")


@rule("STD-10", fix="Read long lines, or refuse them; do not fall silent.")
def long_lines_are_answered(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for name in ("1 MB", "10 MB", "50 MB"):
        yield from _observe_answers(conversation, side, name, f"a line of {name} was not answered")


@rule("STD-11", fix="Wait for the end of a line, however its bytes arrive.")
def lines_may_be_cut_and_joined(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for name in ("dribbled", "two at once", "two in one write"):
        yield from _observe_answers(
            conversation, side, name, "a line that came in pieces, or with others, was not answered"
        )


def _observe_answers(conversation: Conversation, side: Side, name: str, why: str) -> Iterator[Observation]:
    """Whether a side sent an answer in each stretch of a name with a request to it."""
    for frames in conversation.recording.stretches(name):
        if frames and frames[0].direction == direction_to(side):
            came = any(frame.is_answer for frame in frames if frame.direction != direction_to(side))
            yield observe(came, frames[0], why)
