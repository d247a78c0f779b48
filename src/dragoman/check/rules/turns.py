"""TURN: how prompt turns begin, run and end.

From an examination come the fact `word`, which a turn marked `recall` must tell again because it was said
earlier, and stretches marked `fail`: turns whose model was made to fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from dragoman.check.lives import (
    BAD_PARAMS,
    LOGIN_NEEDED,
    NOT_FOUND,
    TURN_KINDS,
    announced,
    asked_setups,
    has_clock,
    is_fair,
    is_open,
    is_ready,
    items,
    known_sessions,
    marked,
    reason_of,
    running,
    session_of,
    spoke_after,
    text,
)
from dragoman.check.memory import recalls
from dragoman.check.recording import Frame
from dragoman.check.rule import Seen, kept_if
from dragoman.check.rules.first import rule_v1
from dragoman.check.story import Story, Turn, is_update

REASONS = ("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled")
GATED = {"image": "image", "audio": "audio", "resource": "embeddedContext"}
"""Kinds of blocks, and what the agent must have advertised for each."""
STUCK_SECONDS = 5.0

UNOBSERVED: dict[str, str] = {
    "TURN-10": "how a client compares message ids is seen on its screen only",
    "TURN-20": "how a client shows a refusal is seen on its screen only",
}


@rule_v1("TURN-01", side="client", fix="Wait for the answers to initialize and session/new before prompting.")
def a_prompt_comes_after_the_setup(story: Story) -> Iterator[Seen]:
    if story.initialize is None:
        return  # the recording begins in the middle
    for turn in story.turns:
        request = turn.exchange.request
        if not is_ready(story, request):
            yield kept_if(False, request, "a prompt before initialize was answered")
        elif turn.session not in announced(story):
            ready = is_open(story, turn.session, request.number)
            was_set_up = any(session_of(one) == turn.session for one in asked_setups(story))
            if ready or ready is None or not was_set_up:
                yield kept_if(ready is True, request, "a prompt for a session that is not set up")


@rule_v1("TURN-02", side="client", fix="Send images, audio and resources only to agents that advertise them.")
def blocks_are_of_kinds_that_the_agent_takes(story: Story) -> Iterator[Seen]:
    if story.initialize is None or not story.initialize.has_result:
        return
    for turn in story.turns:
        blocks = items(turn.exchange.params.get("prompt"))
        missing = _kinds(turn) - {kind for kind, name in GATED.items() if _takes(story, name)}
        if blocks:
            yield kept_if(not missing, turn.exchange.request, "a block of a kind that was not advertised")


def _kinds(turn: Turn) -> set[str]:
    """The kinds of blocks in a prompt that not every agent takes."""
    kinds = [text(block.get("type")) for block in items(turn.exchange.params.get("prompt"))]
    return {kind for kind in kinds if kind in GATED}


def _takes(story: Story, name: str) -> bool:
    return story.agent_can("promptCapabilities", name) is True


@rule_v1("TURN-03", side="agent", fix="Answer session/prompt with a stopReason when nothing is left to do.")
def a_turn_ends_with_a_stop_reason(story: Story) -> Iterator[Seen]:
    for turn in story.turns:
        if turn.exchange.has_result:
            yield kept_if(reason_of(turn) is not None, turn.exchange.answer, "there is no stopReason")


@rule_v1("TURN-03", side="agent", fix="Answer every session/prompt, whatever happens in its turn.")
def no_turn_is_left_open(story: Story) -> Iterator[Seen]:
    """Whoever ends a later turn of the session, or its own process, has left a turn without an answer."""
    for turn in story.turns:
        request = turn.exchange.request
        if turn.exchange.answer is None and is_open(story, turn.session, request.number) is True:
            later = [one for one in story.turns if _is_later(one, turn) and one.exchange.has_result]
            if later:
                yield kept_if(False, request, "a prompt was never answered", later[0].exchange.answer)
            elif "died" in story.recording.facts:
                yield kept_if(False, request, "the agent ended in the middle of a turn")
            elif request.message["id"] in _given_up(story):
                yield kept_if(False, request, "it was not answered, and not when it was cancelled either")


def _given_up(story: Story) -> list[Any]:
    """The ids of prompts that an examiner waited for in vain."""
    found = story.recording.facts.get("given up")
    return found if type(found) is list else []


def _is_later(other: Turn, turn: Turn) -> bool:
    return other.session == turn.session and other.exchange.request.number > turn.exchange.request.number


@rule_v1("TURN-04", side="agent", fix="Answer session/prompt with a stopReason that the schema knows.")
def the_stop_reason_is_one_of_the_five(story: Story) -> Iterator[Seen]:
    for turn in story.turns:
        if turn.exchange.has_result:
            yield kept_if(reason_of(turn) in REASONS, turn.exchange.answer, "stopReason is none of the five")


@rule_v1("TURN-05", side="agent", fix="Tell with the stopReason why a turn was stopped early.")
def a_turn_that_is_stopped_early_says_why(story: Story) -> Iterator[Seen]:
    for turn in story.turns:
        if turn.exchange.has_result and reason_of(turn) not in ("end_turn", "cancelled"):
            yield kept_if(reason_of(turn) in REASONS, turn.exchange.answer, "not with one of the reasons")


@rule_v1("TURN-06", side="agent", unavoidable=True, fix="Send every update of a turn before its answer.")
def no_update_of_a_turn_comes_after_its_answer(story: Story) -> Iterator[Seen]:
    for turn in story.turns:
        if turn.exchange.has_result:
            late = late_updates(story, turn)
            if late or spoke_after(story, turn.exchange.answer, "agent"):
                yield kept_if(not late, turn.exchange.answer, "an update comes after the answer", *late[:1])


def late_updates(story: Story, turn: Turn) -> list[Frame]:
    """Updates that belong to a turn and come after its answer, before the client does anything with the
    session again. Another prompt that was waiting meanwhile has updates of its own.
    """
    end = turn.exchange.answer
    if end is None or running(story, end.number, turn.session):
        return []
    quiet = takewhile(lambda frame: frame.direction == "to_client", turn.after)
    return [frame for frame in quiet if is_update(frame, *TURN_KINDS)]


@rule_v1("TURN-07", side="agent", fix="Name the prompted session in every update.")
def updates_name_the_session(story: Story) -> Iterator[Seen]:
    known = known_sessions(story)
    for turn in story.turns:
        if turn.session not in known:
            continue
        for frame in story.between(turn.exchange.request, turn.exchange.answer):
            if is_update(frame, *TURN_KINDS):
                yield kept_if(session_of(frame) in known, frame, "an update of a session that nobody knows")


@rule_v1("TURN-12", side="agent", fix="Report a tool call before it has effects.")
def a_tool_call_is_reported_before_its_effects(story: Story) -> Iterator[Seen]:
    for turn in story.turns:
        reported = False
        for frame in turn.during:
            if is_update(frame, "tool_call") or frame.method == "session/request_permission":
                reported = True
            elif frame.method == "fs/write_text_file" and frame.direction == "to_client":
                yield kept_if(reported, frame, "a file is written before any tool call was reported")


@rule_v1("TURN-15", side="agent", fix="Give the model the turns before.")
def a_turn_builds_on_the_ones_before(story: Story) -> Iterator[Seen]:
    for turn in story.turns:
        found = recalls(story, turn)
        if found is not None and turn.exchange.has_result:
            yield kept_if(found, turn.exchange.request, "nothing is known of before", turn.exchange.answer)


@rule_v1("TURN-16", side="agent", fix="Answer every prompt, also one to a busy session.")
def a_prompt_to_a_busy_session_is_answered(story: Story) -> Iterator[Seen]:
    for turn in story.turns:
        request = turn.exchange.request
        busy = [
            one for one in running(story, request.number, turn.session) if one.exchange.answer is not None
        ]
        if busy and turn.session:
            answered = turn.exchange.answer
            later = [one for one in story.turns if one.exchange.request.number > request.number]
            if answered is not None or any(one.exchange.has_result for one in later):
                yield kept_if(answered is not None, request, "a second prompt was never answered", answered)


@rule_v1("TURN-17", side="agent", fix="Run the turns of different sessions at the same time.")
def turns_of_two_sessions_run_at_once(story: Story) -> Iterator[Seen]:
    for turn in story.turns:
        request = turn.exchange.request
        if is_open(story, turn.session, request.number) is not True:
            continue
        said = [frame for frame in turn.during if frame.direction == "to_client"]
        first = said[0] if said else turn.exchange.answer
        for other in running(story, request.number):
            end = other.exchange.answer
            if other.session == turn.session or end is None:
                continue
            if first is not None and first.number < end.number:
                yield kept_if(True, first, "")
            elif end.at - request.at > STUCK_SECONDS and _is_stuck(story, other, request):
                yield kept_if(False, request, "a turn waits for the turn of another session", end)


def _is_stuck(story: Story, turn: Turn, frame: Frame) -> bool:
    """Whether a turn was waiting for the client for long since a frame."""
    return has_clock(story) and any(
        session_of(one) == turn.session
        and one.request.number < frame.number
        and (one.answer is None or one.answer.at - frame.at > STUCK_SECONDS)
        for one in story.calls(direction="to_client")
    )


@rule_v1("TURN-18", side="agent", fix="Refuse blocks of kinds that were not advertised with -32602.")
def blocks_that_were_not_offered_are_refused(story: Story) -> Iterator[Seen]:
    for turn in story.turns:
        missing = _kinds(turn) - {kind for kind, name in GATED.items() if _takes(story, name)}
        if missing and is_fair(story, turn.exchange):
            right = turn.exchange.code == BAD_PARAMS
            yield kept_if(right, turn.exchange.request, "not refused with -32602", turn.exchange.answer)


@rule_v1("TURN-19", side="agent", fix="Answer a prompt without blocks.")
def an_empty_prompt_is_answered(story: Story) -> Iterator[Seen]:
    for turn in story.turns:
        if turn.exchange.params.get("prompt") == [] and is_ready(story, turn.exchange.request):
            answer = turn.exchange.answer
            if answer is not None or marked(story, turn.exchange.request, "empty prompt"):
                yield kept_if(answer is not None, turn.exchange.request, "it was never answered", answer)


@rule_v1("TURN-23", side="agent", fix="Answer a turn that failed with a JSON-RPC error.")
def a_turn_that_failed_is_an_error(story: Story) -> Iterator[Seen]:
    for turn in story.turns:
        one = turn.exchange
        if one.has_error and one.code not in (BAD_PARAMS, NOT_FOUND, LOGIN_NEEDED):
            yield kept_if(True, one.answer, "")
        elif one.has_result and reason_of(turn) in ("error", "failed", "failure"):
            yield kept_if(False, one.answer, "a failure is told as a stop reason")
        elif one.has_result and marked(story, one.request, "fail"):
            yield kept_if(False, one.answer, "the model failed, and the turn ended as if it had not")


@rule_v1("TURN-24", side="agent", fix="Say something in a turn that ends by itself.")
def a_turn_has_words_or_tool_calls(story: Story) -> Iterator[Seen]:
    for turn in story.turns:
        if reason_of(turn) == "end_turn" and turn.exchange.params.get("prompt"):
            said = turn.updates("agent_message_chunk", "tool_call")
            if said or not turn.updates():
                yield kept_if(bool(said), turn.exchange.answer, "nothing was said at all")


@rule_v1("TURN-25", side="agent", fix="Use the client's files and terminals only if it lends them.")
def tools_use_what_the_client_lends(story: Story) -> Iterator[Seen]:
    lent = {
        "fs/read_text_file": story.client_can("fs", "readTextFile") is True,
        "fs/write_text_file": story.client_can("fs", "writeTextFile") is True,
        "terminal/create": story.client_can("terminal") is True,
    }
    for turn in story.turns:
        for frame in turn.during:
            if frame.method in lent and frame.direction == "to_client":
                yield kept_if(lent[frame.method], frame, f"{frame.method}, and the client does not lend it")
