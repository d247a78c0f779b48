"""MODE: the modes of a session."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dragoman.check.lives import (
    BAD_PARAMS,
    NO_METHOD,
    asked_setups,
    is_fair,
    is_open,
    items,
    lacks,
    session_of,
    setup_at,
    setups,
    text,
)
from dragoman.check.recording import Frame
from dragoman.check.rule import Seen, kept_if
from dragoman.check.rules.first import rule_v1
from dragoman.check.story import Exchange, Story, is_update, update_of

_SWITCH = re.compile(r"(switch|exit|enter|set)_?(plan_?)?mode", re.IGNORECASE)


def mode_fault(modes: Any) -> str:
    """What is wrong with the shape of `modes`; empty if nothing is."""
    missing = lacks(modes, currentModeId=str, availableModes=list)
    if missing:
        return f"modes: {missing} is missing or wrong"
    for mode in modes["availableModes"]:
        missing = lacks(mode, id=str, name=str)
        if missing or type(mode.get("description")) not in (str, type(None)):
            return f"modes: {missing or 'description'} of a mode is missing or wrong"
    return ""


def mode_ids(modes: Any) -> list[str]:
    return (
        [text(mode.get("id")) for mode in items(modes.get("availableModes"))] if type(modes) is dict else []
    )


def modes_at(story: Story, session: str, number: int) -> dict[str, Any]:
    """The modes that the session's last setup offered."""
    setup = setup_at(story, session, number)
    modes = setup.exchange.result.get("modes") if setup is not None else None
    return modes if type(modes) is dict else {}


def _offers(story: Story) -> Iterator[tuple[Exchange, Any]]:
    for one in asked_setups(story):
        if one.result.get("modes") is not None:
            yield one, one.result["modes"]


@rule_v1("MODE-01", "MODE-02", side="agent", fix="Give modes a currentModeId and availableModes.")
def modes_are_whole(story: Story) -> Iterator[Seen]:
    for one, modes in _offers(story):
        fault = mode_fault(modes)
        yield kept_if(not fault, one.answer, fault)


@rule_v1("MODE-03", side="agent", fix="Name one of availableModes as currentModeId.")
def the_current_mode_is_one_of_the_modes(story: Story) -> Iterator[Seen]:
    for one, modes in _offers(story):
        if not mode_fault(modes):
            right = modes["currentModeId"] in mode_ids(modes)
            yield kept_if(right, one.answer, "currentModeId is none of availableModes")


def _sets(story: Story) -> list[Exchange]:
    return story.calls("session/set_mode", direction="to_agent")


@rule_v1("MODE-04", side="client", fix="Set only modes that the session offers.")
def a_mode_that_is_set_was_offered(story: Story) -> Iterator[Seen]:
    for one in _sets(story):
        offered = mode_ids(modes_at(story, session_of(one), one.request.number))
        if offered:
            right = one.params.get("modeId") in offered
            yield kept_if(right, one.request, "modeId is none of the modes that were offered")


@rule_v1("MODE-05", side="agent", fix="Take session/set_mode at any time and answer it with an empty object.")
def a_mode_can_be_set_at_any_time(story: Story) -> Iterator[Seen]:
    for one in _sets(story):
        if is_fair(story, one) and is_known(story, one):
            right = one.has_result and type(one.answer.message["result"]) is dict if one.answer else False
            yield kept_if(right, one.request, "a mode that was offered could not be set", one.answer)


def is_known(story: Story, one: Exchange) -> bool:
    """Whether a mode that is set was offered, for a session in use."""
    number = one.request.number
    offered = mode_ids(modes_at(story, session_of(one), number))
    return one.params.get("modeId") in offered and is_open(story, session_of(one), number) is True


@rule_v1("MODE-06", side="agent", fix="Refuse a modeId that was not offered with -32602.")
def an_unknown_mode_is_refused(story: Story) -> Iterator[Seen]:
    for one in _sets(story):
        offered = mode_ids(modes_at(story, session_of(one), one.request.number))
        chosen = text(one.params.get("modeId"))
        if offered and chosen and chosen not in offered and is_fair(story, one):
            yield kept_if(one.code == BAD_PARAMS, one.request, "not refused with -32602", one.answer)


@rule_v1("MODE-09", side="agent", fix="Refuse session/set_mode with -32601 or -32602 if there are no modes.")
def without_modes_none_can_be_set(story: Story) -> Iterator[Seen]:
    for one in _sets(story):
        setup = setup_at(story, session_of(one), one.request.number)
        if setup is not None and not setup.exchange.result.get("modes") and is_fair(story, one):
            right = one.code in (NO_METHOD, BAD_PARAMS)
            yield kept_if(right, one.request, "there are no modes, and one was set", one.answer)


@rule_v1("MODE-07", side="agent", fix="Send current_mode_update when the mode changes by itself.")
def a_mode_that_changes_is_told(story: Story) -> Iterator[Seen]:
    current: dict[str, str] = {}
    answers = {one.exchange.answer.number: one for one in setups(story) if one.exchange.answer}
    done = {one.answer.number: one for one in _sets(story) if one.has_result and one.answer}
    for frame in story.frames:
        if frame.number in answers:
            setup = answers[frame.number]
            modes = setup.exchange.result.get("modes")
            told = text(modes.get("currentModeId")) if type(modes) is dict else ""
            before = current.get(setup.session)
            if before and told and setup.exchange.method != "session/new":
                yield kept_if(before == told, frame, "another mode than before, and nobody was told")
            current[setup.session] = told
        elif frame.number in done:
            current[session_of(done[frame.number])] = text(done[frame.number].params.get("modeId"))
        elif is_update(frame, "current_mode_update"):
            yield from _told(story, frame)
            current[session_of(frame)] = text(update_of(frame).get("currentModeId"))
        elif frame.method == "session/set_config_option":
            current.pop(session_of(frame), None)  # a mode may be an option too


def _told(story: Story, frame: Frame) -> Iterator[Seen]:
    offered = mode_ids(modes_at(story, session_of(frame), frame.number))
    named = text(update_of(frame).get("currentModeId"))
    if offered and named:
        yield kept_if(named in offered, frame, "a mode that was never offered")


@rule_v1("MODE-08", side="agent", fix="Give the tool that switches modes the kind switch_mode.")
def a_tool_that_switches_modes_says_so(story: Story) -> Iterator[Seen]:
    for frame in story.updates("tool_call"):
        call = update_of(frame)
        if call.get("kind") == "switch_mode" or _SWITCH.fullmatch(text(call.get("name"))):
            yield kept_if(call.get("kind") == "switch_mode", frame, "its kind is not switch_mode")
