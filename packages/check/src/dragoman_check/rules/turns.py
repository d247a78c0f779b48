"""TURN: how prompt turns begin, run and end.

From an examination come the fact `word`, which a turn marked `recall` must tell again because it was said
earlier, and stretches marked `fail`: turns whose model was made to fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from dragoman.wire.envelope import Json
from dragoman_check.conversation import Conversation, ObservedTurn, is_update
from dragoman_check.memory import has_recalled
from dragoman_check.recording import Frame
from dragoman_check.rule import Observation, kept, observe, rule_v1
from dragoman_check.timeline import (
    BAD_PARAMS,
    LOGIN_NEEDED,
    NOT_FOUND,
    TURN_KINDS,
    announced_sessions,
    has_clock,
    has_spoken_after,
    is_fair,
    is_in_stretch,
    is_open,
    is_ready,
    known_sessions,
    reason_of,
    running_turns,
    session_of,
    setup_requests,
)
from dragoman_check.values import items, text

REASONS = ("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled")
GATED = {"image": "image", "audio": "audio", "resource": "embeddedContext"}
"""Kinds of blocks, and what the agent must have advertised for each."""
STUCK_SECONDS = 5.0

UNOBSERVED: dict[str, str] = {
    "TURN-10": "how a client compares message ids is seen on its screen only",
    "TURN-20": "how a client shows a refusal is seen on its screen only",
}


@rule_v1("TURN-01", side="client", fix="Wait for the answers to initialize and session/new before prompting.")
def a_prompt_comes_after_the_setup(conversation: Conversation) -> Iterator[Observation]:
    if conversation.initialize is None:
        return  # the recording begins in the middle
    for turn in conversation.turns:
        request = turn.exchange.request
        if not is_ready(conversation, request):
            yield observe(False, request, "a prompt before initialize was answered")
        elif turn.session not in announced_sessions(conversation):
            ready = is_open(conversation, turn.session, request.number)
            was_set_up = any(session_of(request) == turn.session for request in setup_requests(conversation))
            if ready or ready is None or not was_set_up:
                yield observe(ready is True, request, "a prompt for a session that is not set up")


@rule_v1("TURN-02", side="client", fix="Send images, audio and resources only to agents that advertise them.")
def blocks_are_of_kinds_that_the_agent_takes(conversation: Conversation) -> Iterator[Observation]:
    if conversation.initialize is None or not conversation.initialize.has_result:
        return
    for turn in conversation.turns:
        blocks = items(turn.exchange.params.get("prompt"))
        missing = _kinds(turn) - {kind for kind, name in GATED.items() if _takes(conversation, name)}
        if blocks:
            yield observe(not missing, turn.exchange.request, "a block of a kind that was not advertised")


def _kinds(turn: ObservedTurn) -> set[str]:
    """The kinds of blocks in a prompt that not every agent takes."""
    kinds = [text(block.get("type")) for block in items(turn.exchange.params.get("prompt"))]
    return {kind for kind in kinds if kind in GATED}


def _takes(conversation: Conversation, name: str) -> bool:
    return conversation.agent_can("promptCapabilities", name) is True


@rule_v1("TURN-03", side="agent", fix="Answer session/prompt with a stopReason when nothing is left to do.")
def a_turn_ends_with_a_stop_reason(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        if turn.exchange.has_result:
            yield observe(reason_of(turn) is not None, turn.exchange.answer, "there is no stopReason")


@rule_v1("TURN-03", side="agent", fix="Answer every session/prompt, whatever happens in its turn.")
def no_turn_is_left_open(conversation: Conversation) -> Iterator[Observation]:
    """Find turns without an answer: their agent has ended a later turn of the session, or its own process."""
    for turn in conversation.turns:
        request = turn.exchange.request
        if turn.exchange.answer is None and is_open(conversation, turn.session, request.number) is True:
            later = [
                other_turn
                for other_turn in conversation.turns
                if _is_later(other_turn, turn) and other_turn.exchange.has_result
            ]
            if later:
                yield observe(False, request, "a prompt was never answered", later[0].exchange.answer)
            elif "died" in conversation.recording.facts:
                yield observe(False, request, "the agent ended in the middle of a turn")
            elif request.message["id"] in _given_up(conversation):
                yield observe(False, request, "it was not answered, and not when it was cancelled either")


def _given_up(conversation: Conversation) -> list[Json]:
    """The ids of prompts that an examiner waited for in vain."""
    ids = conversation.recording.facts.get("given up")
    return ids if type(ids) is list else []


def _is_later(later: ObservedTurn, turn: ObservedTurn) -> bool:
    return later.session == turn.session and later.exchange.request.number > turn.exchange.request.number


@rule_v1("TURN-04", side="agent", fix="Answer session/prompt with a stopReason that the schema knows.")
def the_stop_reason_is_one_of_the_five(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        if turn.exchange.has_result:
            yield observe(
                reason_of(turn) in REASONS, turn.exchange.answer, "stopReason is not one of the five"
            )


@rule_v1("TURN-05", side="agent", fix="Use the stopReason to say why a turn stopped early.")
def a_turn_that_is_stopped_early_says_why(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        if turn.exchange.has_result and reason_of(turn) not in ("end_turn", "cancelled"):
            yield observe(reason_of(turn) in REASONS, turn.exchange.answer, "not with one of the reasons")


@rule_v1("TURN-06", side="agent", unavoidable=True, fix="Send every update of a turn before its answer.")
def no_update_of_a_turn_comes_after_its_answer(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        if turn.exchange.has_result:
            late, shown = late_updates(conversation, turn), turn.updates()
            if late or (shown and has_spoken_after(conversation, turn.exchange.answer, "agent")):
                why = "an update comes after the answer"
                yield observe(not late, turn.exchange.answer, why, *(late or shown)[:1])


def late_updates(conversation: Conversation, turn: ObservedTurn) -> list[Frame]:
    """Return updates of a turn after its answer, before the client uses the session again. A prompt that
    waited in the meantime has its own updates.
    """
    end = turn.exchange.answer
    if end is None or running_turns(conversation, end.number, turn.session):
        return []
    quiet = takewhile(lambda frame: frame.direction == "to_client", turn.after)
    return [frame for frame in quiet if is_update(frame, *TURN_KINDS)]


@rule_v1("TURN-07", side="agent", fix="Name the prompted session in every update.")
def updates_name_the_session(conversation: Conversation) -> Iterator[Observation]:
    known_ids = known_sessions(conversation)
    for turn in conversation.turns:
        if turn.session not in known_ids:
            continue
        for frame in conversation.between(turn.exchange.request, turn.exchange.answer):
            if is_update(frame, *TURN_KINDS):
                yield observe(session_of(frame) in known_ids, frame, "an update for an unknown session")


@rule_v1("TURN-12", side="agent", fix="Report a tool call before it has effects.")
def a_tool_call_is_reported_before_its_effects(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        is_reported = False
        for frame in turn.during:
            if is_update(frame, "tool_call") or frame.method == "session/request_permission":
                is_reported = True
            elif frame.method == "fs/write_text_file" and frame.direction == "to_client":
                yield observe(is_reported, frame, "a file is written before any tool call was reported")


@rule_v1("TURN-15", side="agent", fix="Give the model the turns before.")
def a_turn_builds_on_the_ones_before(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        is_recalled = has_recalled(conversation, turn)
        if is_recalled is not None and turn.exchange.has_result:
            yield observe(
                is_recalled,
                turn.exchange.request,
                "the agent does not remember earlier turns of the session",
                turn.exchange.answer,
            )


@rule_v1("TURN-16", side="agent", fix="Answer every prompt, also one to a busy session.")
def a_prompt_to_a_busy_session_is_answered(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        request = turn.exchange.request
        busy = [
            other_turn
            for other_turn in running_turns(conversation, request.number, turn.session)
            if other_turn.exchange.answer is not None
        ]
        if busy and turn.session:
            answer = turn.exchange.answer
            later = [turn for turn in conversation.turns if turn.exchange.request.number > request.number]
            if answer is not None or any(later_turn.exchange.has_result for later_turn in later):
                yield observe(answer is not None, request, "a second prompt was never answered", answer)


@rule_v1("TURN-17", side="agent", fix="Run the turns of different sessions at the same time.")
def turns_of_two_sessions_run_at_once(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        request = turn.exchange.request
        if is_open(conversation, turn.session, request.number) is not True:
            continue
        frames = [frame for frame in turn.during if frame.direction == "to_client"]
        first = frames[0] if frames else turn.exchange.answer
        for neighbour in running_turns(conversation, request.number):
            end = neighbour.exchange.answer
            if neighbour.session == turn.session or end is None:
                continue
            if first is not None and first.number < end.number:
                yield kept(first)
            elif end.at - request.at > STUCK_SECONDS and _is_stuck(conversation, neighbour, request):
                yield observe(False, request, "a turn waits for the turn of another session", end)


def _is_stuck(conversation: Conversation, turn: ObservedTurn, frame: Frame) -> bool:
    """Whether a turn was waiting for the client for long since a frame."""
    return has_clock(conversation) and any(
        session_of(call) == turn.session
        and call.request.number < frame.number
        and (call.answer is None or call.answer.at - frame.at > STUCK_SECONDS)
        for call in conversation.calls(direction="to_client")
    )


@rule_v1("TURN-18", side="agent", fix="Refuse blocks of kinds that were not advertised with -32602.")
def blocks_that_were_not_offered_are_refused(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        missing = _kinds(turn) - {kind for kind, name in GATED.items() if _takes(conversation, name)}
        if missing and is_fair(conversation, turn.exchange):
            right = turn.exchange.code == BAD_PARAMS
            yield observe(right, turn.exchange.request, "not refused with -32602", turn.exchange.answer)


@rule_v1("TURN-19", side="agent", fix="Answer a prompt without blocks.")
def an_empty_prompt_is_answered(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        if turn.exchange.params.get("prompt") == [] and is_ready(conversation, turn.exchange.request):
            answer = turn.exchange.answer
            if answer is not None or is_in_stretch(conversation, turn.exchange.request, "empty prompt"):
                yield observe(answer is not None, turn.exchange.request, "it was never answered", answer)


@rule_v1("TURN-23", side="agent", fix="Answer a turn that failed with a JSON-RPC error.")
def a_turn_that_failed_is_an_error(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        exchange = turn.exchange
        if exchange.has_error and exchange.code not in (BAD_PARAMS, NOT_FOUND, LOGIN_NEEDED):
            yield kept(exchange.answer)
        elif exchange.has_result and reason_of(turn) in ("error", "failed", "failure"):
            yield observe(False, exchange.answer, "a failure is reported as a stop reason")
        elif exchange.has_result and is_in_stretch(conversation, exchange.request, "fail"):
            yield observe(False, exchange.answer, "the model failed, and the turn ended as if it had not")


@rule_v1("TURN-24", side="agent", fix="Say something in a turn that ends by itself.")
def a_turn_has_words_or_tool_calls(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        if reason_of(turn) == "end_turn" and turn.exchange.params.get("prompt"):
            updates = turn.updates("agent_message_chunk", "tool_call")
            if updates or not turn.updates():
                yield observe(
                    bool(updates), turn.exchange.answer, "the turn sent no message and no tool call"
                )


@rule_v1("TURN-25", side="agent", fix="Use the client's files and terminals only if it lends them.")
def tools_use_what_the_client_lends(conversation: Conversation) -> Iterator[Observation]:
    lent = {
        "fs/read_text_file": conversation.client_can("fs", "readTextFile") is True,
        "fs/write_text_file": conversation.client_can("fs", "writeTextFile") is True,
        "terminal/create": conversation.client_can("terminal") is True,
    }
    for turn in conversation.turns:
        for frame in turn.during:
            if frame.method in lent and frame.direction == "to_client":
                yield observe(lent[frame.method], frame, f"{frame.method}, and the client does not lend it")
