"""STD: lines. One message each, in UTF-8, and nothing else on the stream."""

from __future__ import annotations

import json
from collections.abc import Iterator

from dragoman.check.manifest import Side
from dragoman.check.recording import BROKEN, Frame
from dragoman.check.replies import is_no_json, loose, said, strays, to
from dragoman.check.rule import Seen, kept_if, rule
from dragoman.check.story import Story
from dragoman.check.walks import KEPT, judged

MOST_LINES = 200
"""Of one message that was broken into lines; whoever is longer than that is not looked at."""

UNOBSERVED: dict[str, str] = {
    "STD-05": "a permission, about a stream that nobody judges",
    "STD-12": "whoever is examined over stdio supports it; whether others could is not for a wire to say",
    "STD-13": "about transports of one's own: examine the peer over that transport",
    "STD-14": "who started whom cannot be seen on the wire",
    "STD-15": "after the death of a peer there is no wire left to see anything on",
}


@rule("STD-01", fix="Write UTF-8.")
def lines_are_utf_8(story: Story, side: Side) -> Iterator[Seen]:
    yield from judged(said(story, side), lambda frame: "" if _is_text(frame.raw) else "the line is no UTF-8")


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


@rule("STD-02", fix="Write each message on one line: escape line breaks, and do not indent.")
def a_message_is_one_line(story: Story, side: Side) -> Iterator[Seen]:
    run: list[Frame] = []
    for frame in said(story, side):
        if type(frame.json) is dict and not run:
            yield KEPT
            continue
        run.append(frame)
        if run[0].json is not BROKEN or not run[0].raw.lstrip().startswith(b"{") or len(run) > MOST_LINES:
            run = []
        elif frame.raw.rstrip().endswith(b"}") and _is_message(run):
            yield kept_if(False, run[0], f"one message on {len(run)} lines", run[-1])
            run = []
        elif type(frame.json) is dict and "jsonrpc" in frame.message:
            run = []  # what came before it was something else


def _is_message(run: list[Frame]) -> bool:
    try:
        value = json.loads(b"\n".join(frame.raw for frame in run))
    except (ValueError, RecursionError):
        return False
    return type(value) is dict and len(run) > 1


def _why_no_message(frame: Frame) -> str:
    if frame.json is BROKEN:
        return "the line is no JSON" if is_no_json(frame.raw) else ""
    if type(frame.json) is not dict:
        return "the line is JSON, but no message"
    return "" if frame.message.keys() & {"id", "method", "result", "error"} else "the line is no message"


@rule("STD-03", side="agent", fix="Write nothing but messages to stdout; logs belong on stderr.")
def stdout_carries_only_messages(story: Story) -> Iterator[Seen]:
    yield from judged((one for one in said(story, "agent") if one.raw.strip()), _why_no_message)


@rule("STD-04", side="client", fix="Write nothing but messages to the agent's stdin.")
def stdin_carries_only_messages(story: Story) -> Iterator[Seen]:
    yield from judged((one for one in said(story, "client") if one.raw.strip()), _why_no_message)


@rule("STD-09", fix="Take lines that end with CRLF, and skip blank ones.")
def odd_line_ends_are_taken(story: Story, side: Side) -> Iterator[Seen]:
    yield from _answered(story, side, "CRLF", "a line that ended with CRLF was not answered")
    for stray in strays(story, side):
        if stray.kind == "blank" and stray.is_read:
            yield kept_if(stray.reply is None, stray.frame, "a blank line was answered", stray.reply)
    for frames in story.recording.marked("blank lines"):
        replies = [frame for frame in loose(story, side) if frame in frames]
        yield kept_if(not replies, next(iter(replies or frames), None), "a blank line was answered")


@rule("STD-06", side="client", fix="Read the agent's standard error, or close it; do not let it fill up.")
def standard_error_does_not_fill_up(story: Story) -> Iterator[Seen]:
    drained = story.recording.facts.get("stderr drained")
    if type(drained) is bool:
        last = story.frames[-1] if story.frames else None
        yield kept_if(drained, last, "the agent could not write its standard error any more")


@rule("STD-07", side="client", fix="Close the agent's input first, and end its process after a while.")
def a_client_closes_the_input(story: Story) -> Iterator[Seen]:
    how = story.recording.facts.get("input")
    if how in ("closed", "broken"):
        last = story.frames[-1] if story.frames else None
        yield kept_if(how == "closed", last, "the input was not closed in good order")


@rule("STD-08", side="agent", fix="End when your input ends.")
def an_agent_ends_with_its_input(story: Story) -> Iterator[Seen]:
    facts = story.recording.facts
    if "scene" not in facts or "exit" not in facts or "died" in facts:
        return  # not closed by an examiner, or not by it alone
    status = facts["exit"]
    if status is None or (type(status) is int and status >= 0):
        last = story.frames[-1] if story.frames else None
        yield kept_if(status is not None, last, "the agent did not end after its input had ended")


@rule("STD-10", fix="Read long lines, or refuse them; do not fall silent.")
def long_lines_are_answered(story: Story, side: Side) -> Iterator[Seen]:
    for name in ("1 MB", "10 MB", "50 MB"):
        yield from _answered(story, side, name, f"a line of {name} was not answered")


@rule("STD-11", fix="Wait for the end of a line, however its bytes arrive.")
def lines_may_be_cut_and_joined(story: Story, side: Side) -> Iterator[Seen]:
    for name in ("dribbled", "two at once", "two in one write"):
        yield from _answered(
            story, side, name, "a line that came in pieces, or with others, was not answered"
        )


def _answered(story: Story, side: Side, name: str, why: str) -> Iterator[Seen]:
    """Whether a side said anything that is an answer in each stretch of a name that it was asked in."""
    for frames in story.recording.marked(name):
        if frames and frames[0].direction == to(side):
            came = any(frame.is_answer for frame in frames if frame.direction != to(side))
            yield kept_if(came, frames[0], why)
