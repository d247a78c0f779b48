"""TURN: what the messages and the usage of a turn look like, and what a client makes of updates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dragoman.check.lives import TURN_KINDS, asked_setups, known_sessions, lived_on, running, session_of, text
from dragoman.check.recording import Frame
from dragoman.check.rule import Seen, all_kept, kept_if
from dragoman.check.rules.first import rule_v1
from dragoman.check.rules.updates import is_nonsense
from dragoman.check.story import Story, is_update, update_of

CHUNKS = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk")


@rule_v1("TURN-08", side="agent", fix="Make messageId a text, or leave it out.")
def ids_of_messages_are_texts(story: Story) -> Iterator[Seen]:
    for frame in story.updates(*CHUNKS):
        if update_of(frame).get("messageId") is not None:
            yield kept_if(bool(text(update_of(frame)["messageId"])), frame, "messageId is no text, or empty")


@rule_v1("TURN-09", side="agent", fix="Use each messageId for one message only.")
def an_id_stays_with_its_message(story: Story) -> Iterator[Seen]:
    used: dict[tuple[str, str], int] = {}
    for number, turn in enumerate(story.turns):
        for frame in turn.updates("agent_message_chunk"):
            chosen = text(update_of(frame).get("messageId"))
            if chosen:
                first = used.setdefault((turn.session, chosen), number)
                yield kept_if(_is_one(story, first, number), frame, "the messageId of another turn's message")


def _is_one(story: Story, first: int, number: int) -> bool:
    """Two turns that overlap hear the same updates."""
    end, begin = story.turns[first].exchange.answer, story.turns[number].exchange.request
    return first == number or end is None or end.number > begin.number


@rule_v1("TURN-11", side="agent", fix="Put the messageId on every chunk of a message.")
def who_knows_the_id_tells_it_on_every_chunk(story: Story) -> Iterator[Seen]:
    last: dict[str, Frame] = {}
    for frame in story.updates():
        before = last.get(session_of(frame))
        kind = update_of(frame).get("sessionUpdate")
        if kind in CHUNKS and before is not None and is_update(before, text(kind)) and _has_id(before):
            yield kept_if(_has_id(frame), frame, "the chunk before has a messageId, this one has none")
        last[session_of(frame)] = frame


def _has_id(frame: Frame) -> bool:
    return update_of(frame).get("messageId") is not None


@rule_v1("TURN-13", "TURN-26", side="agent", fix="Send used and size as whole numbers, cost in a currency.")
def usage_is_whole(story: Story) -> Iterator[Seen]:
    yield from all_kept(story.updates("usage_update"), _usage_fault)


def _usage_fault(frame: Frame) -> str:
    usage = update_of(frame)
    if not all(_is_count(usage.get(name)) for name in ("used", "size")):
        return "used or size is no whole number, or is below zero"
    cost = usage.get("cost")
    if cost is None:
        return ""
    amount = cost.get("amount") if type(cost) is dict else None
    right = type(amount) in (int, float) and bool(text(cost.get("currency")))
    return "" if right else "cost has no amount or no currency"


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


@rule_v1("TURN-14", side="agent", fix="Send no usage_update while the size of the window is not known.")
def usage_has_a_size(story: Story) -> Iterator[Seen]:
    for frame in story.updates("usage_update"):
        size = update_of(frame).get("size")
        if type(size) is int and size >= 0:
            yield kept_if(size > 0, frame, "size is 0")


@rule_v1("TURN-21", side="client", fix="Drop updates that make no sense, and go on.")
def a_client_lives_with_updates_that_it_does_not_know(story: Story) -> Iterator[Seen]:
    broken = [frame for frame in story.updates() if is_nonsense(frame, story)]
    yield from lived_on(story, broken, "an update that it cannot know")


@rule_v1("TURN-22", side="client", fix="Take updates of commands, modes, options and titles at any time.")
def a_client_takes_updates_outside_of_a_turn(story: Story) -> Iterator[Seen]:
    yield from lived_on(story, _idle_updates(story), "an update outside of a turn")


def _idle_updates(story: Story) -> list[Frame]:
    """Updates that come while no turn of their session is running, nor any setup."""
    setups = [one for one in asked_setups(story) if one.answer is not None]
    return [
        frame
        for frame in story.updates()
        if update_of(frame).get("sessionUpdate") not in (*TURN_KINDS, "user_message_chunk")
        and session_of(frame) in known_sessions(story)
        and not running(story, frame.number, session_of(frame))
        and not any(one.request.number < frame.number < one.answer.number for one in setups if one.answer)
    ]
