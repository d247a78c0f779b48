"""TURN: the messages and the usage of a turn, and how a client handles updates."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman_check.conversation import Conversation, is_update, update_of
from dragoman_check.recording import Frame
from dragoman_check.rule import Observation, observe, observe_each, rule_v1
from dragoman_check.rules.updates import is_nonsense
from dragoman_check.timeline import (
    TURN_KINDS,
    known_sessions,
    observe_survival,
    running_turns,
    session_of,
    setup_requests,
)
from dragoman_check.values import text

CHUNKS = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk")


@rule_v1("TURN-08", side="agent", fix="Make messageId a text, or leave it out.")
def ids_of_messages_are_texts(conversation: Conversation) -> Iterator[Observation]:
    for frame in conversation.updates(*CHUNKS):
        if update_of(frame).get("messageId") is not None:
            yield observe(bool(text(update_of(frame)["messageId"])), frame, "messageId is not text, or empty")


@rule_v1("TURN-09", side="agent", fix="Use each messageId for one message only.")
def an_id_stays_with_its_message(conversation: Conversation) -> Iterator[Observation]:
    used: dict[tuple[str, str], int] = {}
    for number, turn in enumerate(conversation.turns):
        for frame in turn.updates("agent_message_chunk"):
            message_id = text(update_of(frame).get("messageId"))
            if message_id:
                first = used.setdefault((turn.session, message_id), number)
                yield observe(
                    _is_one(conversation, first, number), frame, "the messageId of another turn's message"
                )


def _is_one(conversation: Conversation, first: int, number: int) -> bool:
    """Two turns that overlap hear the same updates."""
    end, begin = conversation.turns[first].exchange.answer, conversation.turns[number].exchange.request
    return first == number or end is None or end.number > begin.number


@rule_v1("TURN-11", side="agent", fix="Put the messageId on every chunk of a message.")
def who_knows_the_id_tells_it_on_every_chunk(conversation: Conversation) -> Iterator[Observation]:
    last: dict[str, Frame] = {}
    for frame in conversation.updates():
        before = last.get(session_of(frame))
        kind = update_of(frame).get("sessionUpdate")
        if kind in CHUNKS and before is not None and is_update(before, text(kind)) and _has_id(before):
            yield observe(_has_id(frame), frame, "the chunk before has a messageId, this one has none")
        last[session_of(frame)] = frame


def _has_id(frame: Frame) -> bool:
    return update_of(frame).get("messageId") is not None


@rule_v1("TURN-13", "TURN-26", side="agent", fix="Send used and size as whole numbers, cost in a currency.")
def usage_is_whole(conversation: Conversation) -> Iterator[Observation]:
    yield from observe_each(conversation.updates("usage_update"), _usage_fault)


def _usage_fault(frame: Frame) -> str:
    usage = update_of(frame)
    if not all(_is_count(usage.get(name)) for name in ("used", "size")):
        return "used or size is not a whole number, or is below zero"
    cost = usage.get("cost")
    if cost is None:
        return ""
    amount = cost.get("amount") if type(cost) is dict else None
    right = type(amount) in (int, float) and bool(text(cost.get("currency")))
    return "" if right else "cost has no amount or no currency"


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


@rule_v1("TURN-14", side="agent", fix="Send no usage_update while the size of the window is not known.")
def usage_has_a_size(conversation: Conversation) -> Iterator[Observation]:
    for frame in conversation.updates("usage_update"):
        size = update_of(frame).get("size")
        if type(size) is int and size >= 0:
            yield observe(size > 0, frame, "size is 0")


@rule_v1("TURN-21", side="client", fix="Drop updates that make no sense, and go on.")
def a_client_lives_with_updates_that_it_does_not_know(conversation: Conversation) -> Iterator[Observation]:
    broken = [frame for frame in conversation.updates() if is_nonsense(frame, conversation)]
    yield from observe_survival(conversation, broken, "an update that it cannot know")


@rule_v1("TURN-22", side="client", fix="Accept updates of commands, modes, options and titles at any time.")
def a_client_takes_updates_outside_of_a_turn(conversation: Conversation) -> Iterator[Observation]:
    yield from observe_survival(conversation, _idle_updates(conversation), "an update outside of a turn")


def _idle_updates(conversation: Conversation) -> list[Frame]:
    """Updates that come while no turn of their session is running, nor any setup."""
    setups = [request for request in setup_requests(conversation) if request.answer is not None]
    return [
        frame
        for frame in conversation.updates()
        if update_of(frame).get("sessionUpdate") not in (*TURN_KINDS, "user_message_chunk")
        and session_of(frame) in known_sessions(conversation)
        and not running_turns(conversation, frame.number, session_of(frame))
        and not any(
            setup.request.number < frame.number < setup.answer.number for setup in setups if setup.answer
        )
    ]
