"""CMD: slash commands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.wire.envelope import Json
from dragoman_check.conversation import Conversation, ObservedTurn, update_of
from dragoman_check.recording import Frame
from dragoman_check.rule import Observation, observe, observe_each, rule_v1
from dragoman_check.timeline import (
    BAD_PARAMS,
    BAD_REQUEST,
    NO_METHOD,
    is_fair,
    is_in_stretch,
    reason_of,
    session_of,
    setups,
)
from dragoman_check.values import items, missing_member, text

UNOBSERVED: dict[str, str] = {
    "CMD-03": "which commands a client offers is seen on its screen only; a person may type any text",
}

_COMMAND = re.compile(r"/[\w-]+(\s|$)")

KIND = "available_commands_update"


def _commands(frame: Frame) -> Json:
    return update_of(frame).get("availableCommands")


def names_at(conversation: Conversation, session: str, number: int) -> list[str]:
    """Return the last announced commands before a moment."""
    announcements = [
        frame
        for frame in conversation.updates(KIND)
        if session_of(frame) == session and frame.number < number and type(_commands(frame)) is list
    ]
    return [text(item.get("name")) for item in items(_commands(announcements[-1]))] if announcements else []


def _first_text(turn: ObservedTurn) -> str:
    blocks = items(turn.exchange.params.get("prompt"))
    return next((text(block.get("text")) for block in blocks if block.get("type") == "text"), "")


def _runs(turn: ObservedTurn, names: list[str]) -> bool:
    """Whether a prompt begins with one of these names, behind a slash. Real names hold blanks too."""
    prompt = _first_text(turn)
    return any(prompt == f"/{name}" or prompt.startswith((f"/{name} ", f"/{name}\n")) for name in names)


@rule_v1("CMD-01", side="agent", fix="Announce commands after the session was made.")
def commands_are_announced_after_the_session_was_made(conversation: Conversation) -> Iterator[Observation]:
    new_calls = {
        setup.session: setup.exchange
        for setup in setups(conversation)
        if setup.exchange.method == "session/new"
    }
    for frame in conversation.updates(KIND):
        call = new_calls.get(session_of(frame))
        if call is not None and call.answer is not None:
            yield observe(
                frame.number > call.answer.number,
                frame,
                "commands were sent before session/new was answered",
                call.answer,
            )


@rule_v1("CMD-02", side="agent", fix="Give every command a name and a description, and input a hint.")
def commands_are_whole(conversation: Conversation) -> Iterator[Observation]:
    yield from observe_each(conversation.updates(KIND), _fault)


def _fault(frame: Frame) -> str:
    commands = _commands(frame)
    if type(commands) is not list:
        return "availableCommands is not a list"
    for command in commands:
        missing = missing_member(command, name=str, description=str)
        if not missing and command.get("input") is not None:
            missing = missing_member(command["input"], hint=str) and "input"
        if missing:
            return f"{missing} of a command is missing or wrong"
    return ""


@rule_v1("CMD-04", side="client", fix="Run a command by a prompt whose text begins with /name.")
def a_command_is_a_prompt(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        names = names_at(conversation, turn.session, turn.exchange.request.number)
        if not names:
            continue
        right = _runs(turn, names)
        if right or is_in_stretch(conversation, turn.exchange.request, "command"):
            yield observe(
                right,
                turn.exchange.request,
                "the prompt does not begin with a slash and the name of the command",
            )


@rule_v1("CMD-05", side="agent", fix="Recognise /name at the start of a prompt, whatever comes after it.")
def a_command_is_recognised(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        names = names_at(conversation, turn.session, turn.exchange.request.number)
        if _runs(turn, names) and is_fair(conversation, turn.exchange):
            right = turn.exchange.has_result
            if not right and turn.exchange.code not in (BAD_REQUEST, NO_METHOD, BAD_PARAMS):
                continue  # it was recognised, and failed
            yield observe(right, turn.exchange.request, "a known command was refused", turn.exchange.answer)


@rule_v1("CMD-06", side="agent", fix="Treat an unknown command as text, or say that it is unknown.")
def an_unknown_command_is_text(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        names = names_at(conversation, turn.session, turn.exchange.request.number)
        unknown = names and not _runs(turn, names) and _COMMAND.match(_first_text(turn))
        if unknown and is_fair(conversation, turn.exchange):
            right = reason_of(turn) is not None
            yield observe(
                right,
                turn.exchange.request,
                "a prompt with an unknown command was answered with an error",
                turn.exchange.answer,
            )


@rule_v1("CMD-07", side="agent", fix="Leave the slash out of a command's name.")
def names_of_commands_have_no_slash(conversation: Conversation) -> Iterator[Observation]:
    for frame in conversation.updates(KIND):
        names = [text(item.get("name")) for item in items(_commands(frame))]
        wrong = [name for name in names if name.startswith("/") or not name.strip()]
        if names:
            yield observe(not wrong, frame, "a name begins with a slash, or is empty")
