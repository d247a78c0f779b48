"""MODE: the modes of a session."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.conversation import Conversation, Exchange, is_update, update_of
from dragoman_check.recording import Frame
from dragoman_check.rule import Observation, observe, rule_v1
from dragoman_check.timeline import (
    BAD_PARAMS,
    NO_METHOD,
    is_fair,
    is_open,
    session_of,
    setup_at,
    setup_requests,
    setups,
)
from dragoman_check.values import items, missing_member, text

_SWITCH = re.compile(r"(switch|exit|enter|set)_?(plan_?)?mode", re.IGNORECASE)


def mode_fault(modes: Json) -> str:
    """Return the mistake in the shape of `modes`; empty if there is none."""
    missing = missing_member(modes, currentModeId=str, availableModes=list)
    if missing:
        return f"modes: {missing} is missing or wrong"
    for mode in modes["availableModes"]:
        missing = missing_member(mode, id=str, name=str)
        if missing or type(mode.get("description")) not in (str, type(None)):
            return f"modes: {missing or 'description'} of a mode is missing or wrong"
    return ""


def mode_ids(modes: object) -> list[str]:
    return (
        [text(mode.get("id")) for mode in items(modes.get("availableModes"))] if type(modes) is dict else []
    )


def modes_at(conversation: Conversation, session: str, number: int) -> JsonObject:
    """Return the modes in the session's last setup."""
    setup = setup_at(conversation, session, number)
    modes = setup.exchange.result.get("modes") if setup is not None else None
    return modes if type(modes) is dict else {}


def _offers(conversation: Conversation) -> Iterator[tuple[Exchange, Json]]:
    for request in setup_requests(conversation):
        if request.result.get("modes") is not None:
            yield request, request.result["modes"]


@rule_v1("MODE-01", "MODE-02", side="agent", fix="Give modes a currentModeId and availableModes.")
def modes_are_whole(conversation: Conversation) -> Iterator[Observation]:
    for exchange, modes in _offers(conversation):
        fault = mode_fault(modes)
        yield observe(not fault, exchange.answer, fault)


@rule_v1("MODE-03", side="agent", fix="Name one of availableModes as currentModeId.")
def the_current_mode_is_one_of_the_modes(conversation: Conversation) -> Iterator[Observation]:
    for exchange, modes in _offers(conversation):
        if not mode_fault(modes):
            right = modes["currentModeId"] in mode_ids(modes)
            yield observe(right, exchange.answer, "currentModeId is not one of availableModes")


def _sets(conversation: Conversation) -> list[Exchange]:
    return conversation.calls("session/set_mode", direction="to_agent")


@rule_v1("MODE-04", side="client", fix="Set only modes that the session offers.")
def a_mode_that_is_set_was_offered(conversation: Conversation) -> Iterator[Observation]:
    for change in _sets(conversation):
        offers = mode_ids(modes_at(conversation, session_of(change), change.request.number))
        if offers:
            right = change.params.get("modeId") in offers
            yield observe(right, change.request, "modeId is not one of the modes that were offered")


@rule_v1(
    "MODE-05", side="agent", fix="Accept session/set_mode at any time and answer it with an empty object."
)
def a_mode_can_be_set_at_any_time(conversation: Conversation) -> Iterator[Observation]:
    for change in _sets(conversation):
        if is_fair(conversation, change) and is_known(conversation, change):
            right = (
                change.has_result and type(change.answer.message["result"]) is dict
                if change.answer
                else False
            )
            yield observe(right, change.request, "a mode that was offered could not be set", change.answer)


def is_known(conversation: Conversation, exchange: Exchange) -> bool:
    """Whether a new mode was offered, for a session in use."""
    number = exchange.request.number
    offers = mode_ids(modes_at(conversation, session_of(exchange), number))
    return (
        exchange.params.get("modeId") in offers
        and is_open(conversation, session_of(exchange), number) is True
    )


@rule_v1("MODE-06", side="agent", fix="Refuse a modeId that was not offered with -32602.", is_reading=True)
def an_unknown_mode_is_refused(conversation: Conversation) -> Iterator[Observation]:
    for change in _sets(conversation):
        offers = mode_ids(modes_at(conversation, session_of(change), change.request.number))
        mode = text(change.params.get("modeId"))
        if offers and mode and mode not in offers and is_fair(conversation, change):
            yield observe(change.code == BAD_PARAMS, change.request, "not refused with -32602", change.answer)


@rule_v1(
    "MODE-09",
    side="agent",
    fix="Refuse session/set_mode with -32601 or -32602 if there are no modes.",
    is_reading=True,
)
def without_modes_none_can_be_set(conversation: Conversation) -> Iterator[Observation]:
    for change in _sets(conversation):
        setup = setup_at(conversation, session_of(change), change.request.number)
        if setup is not None and not setup.exchange.result.get("modes") and is_fair(conversation, change):
            right = change.code in (NO_METHOD, BAD_PARAMS)
            yield observe(right, change.request, "there are no modes, and one was set", change.answer)


@rule_v1("MODE-07", side="agent", fix="Send current_mode_update when the mode changes by itself.")
def a_mode_that_changes_is_told(conversation: Conversation) -> Iterator[Observation]:
    current: dict[str, str] = {}
    answers = {setup.exchange.answer.number: setup for setup in setups(conversation) if setup.exchange.answer}
    changes = {
        change.answer.number: change for change in _sets(conversation) if change.has_result and change.answer
    }
    for frame in conversation.frames:
        if frame.number in answers:
            setup = answers[frame.number]
            modes = setup.exchange.result.get("modes")
            mode = text(modes.get("currentModeId")) if type(modes) is dict else ""
            before = current.get(setup.session)
            if before and mode and setup.exchange.method != "session/new":
                yield observe(before == mode, frame, "the mode changed without a current_mode_update")
            current[setup.session] = mode
        elif frame.number in changes:
            current[session_of(changes[frame.number])] = text(changes[frame.number].params.get("modeId"))
        elif is_update(frame, "current_mode_update"):
            yield from _judge_announcement(conversation, frame)
            current[session_of(frame)] = text(update_of(frame).get("currentModeId"))
        elif frame.method == "session/set_config_option":
            current.pop(session_of(frame), None)  # a mode may be an option too


def _judge_announcement(conversation: Conversation, frame: Frame) -> Iterator[Observation]:
    offers = mode_ids(modes_at(conversation, session_of(frame), frame.number))
    mode = text(update_of(frame).get("currentModeId"))
    if offers and mode:
        yield observe(mode in offers, frame, "a mode that was never offered")


@rule_v1("MODE-08", side="agent", fix="Give the tool that switches modes the kind switch_mode.")
def a_tool_that_switches_modes_says_so(conversation: Conversation) -> Iterator[Observation]:
    for frame in conversation.updates("tool_call"):
        call = update_of(frame)
        if call.get("kind") == "switch_mode" or _SWITCH.fullmatch(text(call.get("name"))):
            yield observe(call.get("kind") == "switch_mode", frame, "its kind is not switch_mode")
