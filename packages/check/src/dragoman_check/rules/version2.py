"""Version 2: the updates of a session, and their order.

A prompt is acknowledged with the id of its message. What it led to is over when the session says idle; a
session that is idle says running before it goes on. The ids are those of the requirements of version 1 that
say the same; where the two versions differ, nothing is said here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from dragoman_check.conversation import Conversation, ObservedTurn, update_of
from dragoman_check.recording import Frame
from dragoman_check.rule import Observation, kept, observe, rule
from dragoman_check.rules.cancellation import cancels, was_read
from dragoman_check.rules.turns import GATED
from dragoman_check.timeline import (
    BAD_PARAMS,
    announced_sessions,
    has_spoken_after,
    is_fair,
    is_ready,
    known_sessions,
    session_of,
    setup_at,
)
from dragoman_check.values import items, text

rule_v2 = partial(rule, versions=(2,))

WORK = (
    "agent_message",
    "agent_message_chunk",
    "agent_thought",
    "agent_thought_chunk",
    "tool_call_update",
    "tool_call_content_chunk",
)
"""Updates that only a session at work sends."""


def reason(turn: ObservedTurn) -> str:
    """Return the stop reason; empty if there is none."""
    return text(update_of(turn.end).get("stopReason")) if turn.end is not None else ""


def inserted_turns(conversation: Conversation) -> list[ObservedTurn]:
    """Return turns of accepted prompts."""
    return [turn for turn in conversation.turns if turn.exchange.has_result]


def _is_alone(conversation: Conversation, turn: ObservedTurn) -> bool:
    """Whether no other prompt of its session was on its way: updates of a session concern all of them."""
    last = turn.end.number if turn.end is not None else conversation.frames[-1].number
    return not any(
        neighbour is not turn
        and neighbour.session == turn.session
        and neighbour.exchange.request.number < last
        and (neighbour.end is None or neighbour.end.number > turn.exchange.request.number)
        for neighbour in conversation.turns
    )


@rule_v2("TURN-01", side="client", fix="Wait for the answers to initialize and session/new before prompting.")
def a_prompt_names_a_session_that_is_there(conversation: Conversation) -> Iterator[Observation]:
    if conversation.initialize is None:
        return
    for turn in conversation.turns:
        request = turn.exchange.request
        if not is_ready(conversation, request):
            yield observe(False, request, "a prompt before initialize was answered")
        elif turn.session not in announced_sessions(conversation) and turn.session in known_sessions(
            conversation
        ):
            setup = setup_at(conversation, turn.session, request.number)
            right = setup is not None and setup.since < request.number
            yield observe(right, request, "a prompt for a session that is not set up")


def _missing(conversation: Conversation, turn: ObservedTurn) -> set[str]:
    """Kinds of blocks that the agent did not advertise."""
    kinds = {text(block.get("type")) for block in items(turn.exchange.params.get("prompt"))}
    return {
        kind
        for kind in kinds & GATED.keys()
        if conversation.agent_can("session", "prompt", GATED[kind]) in (None, False)
    }


@rule_v2(
    "TURN-02", "CONT-07", side="client", fix="Send images, audio and resources only to agents that take them."
)
def blocks_of_a_prompt_were_advertised(conversation: Conversation) -> Iterator[Observation]:
    if conversation.initialize is None or not conversation.initialize.has_result:
        return
    for turn in conversation.turns:
        if items(turn.exchange.params.get("prompt")):
            right = not _missing(conversation, turn)
            yield observe(right, turn.exchange.request, "a block of a kind that was not advertised")


@rule_v2("TURN-18", side="agent", fix="Refuse blocks of kinds that you did not advertise with -32602.")
def blocks_that_were_not_advertised_are_refused(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        if _missing(conversation, turn) and is_fair(conversation, turn.exchange):
            right = turn.exchange.code == BAD_PARAMS
            yield observe(right, turn.exchange.answer, "not refused with -32602", turn.exchange.request)


@rule_v2("TURN-19", side="agent", fix="Refuse a prompt without blocks with -32602.")
def a_prompt_without_blocks_is_refused(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        if turn.exchange.params.get("prompt") == [] and is_fair(conversation, turn.exchange):
            right = turn.exchange.code == BAD_PARAMS
            yield observe(right, turn.exchange.answer, "not refused with -32602", turn.exchange.request)


@rule_v2(
    "TURN-03", side="agent", fix="Report idle, with a stopReason, when a prompt has been worked through."
)
def work_ends_with_idle(conversation: Conversation) -> Iterator[Observation]:
    for turn in inserted_turns(conversation):
        if turn.end is not None and reason(turn):
            yield kept(turn.end, turn.exchange.request)
        elif turn.end is None and _went_on(conversation, turn):
            yield observe(False, turn.exchange.request, "the session never became idle after this prompt")


def _went_on(conversation: Conversation, turn: ObservedTurn) -> bool:
    """Whether its session was prompted again later, and that prompt was taken too."""
    later = [neighbour for neighbour in inserted_turns(conversation) if neighbour.session == turn.session]
    return any(neighbour.exchange.request.number > turn.exchange.request.number for neighbour in later)


@rule_v2("TURN-04", side="agent", fix="Give stopReason as a string.")
def a_stop_reason_is_a_string(conversation: Conversation) -> Iterator[Observation]:
    for frame in conversation.updates("state_update"):
        stop_reason = update_of(frame).get("stopReason")
        if stop_reason is not None:
            right = type(stop_reason) is str and update_of(frame).get("state") == "idle"
            yield observe(right, frame, "stopReason is not a string, or the session is not idle")


@rule_v2(
    "TURN-06", side="agent", fix="Report running before you go on working; report idle after the last update."
)
def an_idle_session_does_not_work(conversation: Conversation) -> Iterator[Observation]:
    for turn in inserted_turns(conversation):
        if turn.end is None or not _is_alone(conversation, turn):
            continue
        late, shown = _late(turn), turn.updates()
        if late or (shown and has_spoken_after(conversation, turn.end, "agent")):
            why = "the session worked on after it had said idle"
            yield observe(not late, turn.end, why, *(late or shown)[:1])


def _late(turn: ObservedTurn) -> list[Frame]:
    """Updates of work after the turn's end, until the session says what it does, or is asked something."""
    entries = update_of(turn.end).get("background") if turn.end is not None else None
    background = {text(item.get("toolCallId")) for item in items(entries)} - {""}
    frames: list[Frame] = []
    for frame in turn.after:
        update = update_of(frame)
        if frame.direction == "to_agent" or update.get("sessionUpdate") == "state_update":
            break
        if update.get("sessionUpdate") in WORK and text(update.get("toolCallId")) not in background:
            frames.append(frame)
    return frames


@rule_v2("TURN-07", side="agent", fix="Name a session of this connection in every update.")
def updates_name_sessions_that_are_there(conversation: Conversation) -> Iterator[Observation]:
    if conversation.initialize is None:
        return
    resumed_ids = {session_of(call) for call in conversation.calls("session/resume", direction="to_agent")}
    known_ids = known_sessions(conversation) | resumed_ids
    for frame in conversation.updates():
        yield observe(session_of(frame) in known_ids, frame, "this session is not known on the connection")


@rule_v2("TURN-09", side="agent", fix="Acknowledge a prompt with the id of its message.")
def the_acknowledged_message_is_the_one_that_is_told(conversation: Conversation) -> Iterator[Observation]:
    for turn in inserted_turns(conversation):
        message_ids = {text(update_of(frame).get("messageId")) for frame in _user_messages(turn)}
        if message_ids and _is_alone(conversation, turn):
            right = text(turn.exchange.result.get("messageId")) in message_ids
            yield observe(right, turn.exchange.answer, "the message has another id than its acknowledgement")


def _user_messages(turn: ObservedTurn) -> list[Frame]:
    return turn.updates("user_message", "user_message_chunk")


# Cancelling.


def _cancelled_turns(conversation: Conversation) -> Iterator[tuple[Frame, ObservedTurn]]:
    """Cancels, each with the turn that it surely ended: one that ended so, or after it was surely read."""
    for cancel in cancels(conversation):
        turn = next((turn for turn in inserted_turns(conversation) if _is_hit(turn, cancel)), None)
        if turn is None or turn.end is None or not _is_alone(conversation, turn):
            continue
        if reason(turn) == "cancelled" or was_read(conversation, cancel, turn):
            yield cancel, turn


def _is_hit(turn: ObservedTurn, cancel: Frame) -> bool:
    answer = turn.exchange.answer
    return (
        turn.session == session_of(cancel)
        and answer is not None
        and answer.number < cancel.number
        and (turn.end is None or cancel.number < turn.end.number)
    )


@rule_v2("CAN-06", side="agent", fix="Report idle with stopReason cancelled after a cancel.")
def a_cancelled_session_says_so(conversation: Conversation) -> Iterator[Observation]:
    for cancel, turn in _cancelled_turns(conversation):
        if reason(turn):  # the official material does not agree whether it must be there
            yield observe(
                reason(turn) == "cancelled",
                turn.end,
                "cancelled work did not end with stopReason cancelled",
                cancel,
            )


@rule_v2("CAN-16", side="agent", fix="Accept a cancel with _meta like one without.")
def a_cancel_may_have_meta(conversation: Conversation) -> Iterator[Observation]:
    for cancel, turn in _cancelled_turns(conversation):
        if "_meta" in cancel.params and reason(turn):
            right = reason(turn) == "cancelled"
            yield observe(right, turn.end, "a cancel with _meta was not taken", cancel)


@rule_v2("CAN-07", side="agent", fix="Catch what an abort raises, and report idle with stopReason cancelled.")
def an_abort_ends_without_an_error(conversation: Conversation) -> Iterator[Observation]:
    for cancel, turn in _cancelled_turns(conversation):
        yield observe(reason(turn) != "error", turn.end, "cancelled work ended with an error", cancel)


@rule_v2("CAN-08", side="agent", fix="Send all remaining updates before you report idle.")
def what_is_left_to_tell_comes_before_idle(conversation: Conversation) -> Iterator[Observation]:
    for cancel, turn in _cancelled_turns(conversation):
        late = _late(turn)
        if late or has_spoken_after(conversation, turn.end, "agent"):
            yield observe(not late, turn.end, "an update comes after idle", cancel, *late[:1])


@rule_v2("CAN-13", side="agent", fix="Accept prompts after a cancel as before.")
def a_cancelled_session_takes_prompts(conversation: Conversation) -> Iterator[Observation]:
    for cancel, turn in _cancelled_turns(conversation):
        last = turn.end.number if turn.end is not None else 0
        later = [
            other_turn
            for other_turn in conversation.turns
            if other_turn.session == turn.session and other_turn.exchange.request.number > last
        ]
        if later and is_fair(conversation, later[0].exchange):
            yield observe(
                later[0].exchange.has_result, later[0].exchange.answer, "refused after a cancel", cancel
            )
