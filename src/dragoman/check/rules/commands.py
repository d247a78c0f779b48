"""CMD: slash commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dragoman.check.lives import (
    BAD_PARAMS,
    BAD_REQUEST,
    NO_METHOD,
    is_fair,
    items,
    lacks,
    marked,
    reason_of,
    session_of,
    setups,
    text,
)
from dragoman.check.recording import Frame
from dragoman.check.rule import Seen, all_kept, kept_if
from dragoman.check.rules.first import rule_v1
from dragoman.check.story import Story, Turn, update_of

UNOBSERVED: dict[str, str] = {
    "CMD-03": "which commands a client offers is seen on its screen only; a person may type any text",
}

_COMMAND = re.compile(r"/[\w-]+(\s|$)")

KIND = "available_commands_update"


def _commands(frame: Frame) -> Any:
    return update_of(frame).get("availableCommands")


def names_at(story: Story, session: str, number: int) -> list[str]:
    """The commands that were announced last before a moment."""
    told = [
        frame
        for frame in story.updates(KIND)
        if session_of(frame) == session and frame.number < number and type(_commands(frame)) is list
    ]
    return [text(one.get("name")) for one in items(_commands(told[-1]))] if told else []


def _first_text(turn: Turn) -> str:
    blocks = items(turn.exchange.params.get("prompt"))
    return next((text(block.get("text")) for block in blocks if block.get("type") == "text"), "")


def _runs(turn: Turn, names: list[str]) -> bool:
    """Whether a prompt begins with one of these names, behind a slash. Real names hold blanks too."""
    said = _first_text(turn)
    return any(said == f"/{name}" or said.startswith((f"/{name} ", f"/{name}\n")) for name in names)


@rule_v1("CMD-01", side="agent", fix="Announce commands after the session was made.")
def commands_are_announced_after_the_session_was_made(story: Story) -> Iterator[Seen]:
    made = {one.session: one.exchange for one in setups(story) if one.exchange.method == "session/new"}
    for frame in story.updates(KIND):
        one = made.get(session_of(frame))
        if one is not None and one.answer is not None:
            yield kept_if(frame.number > one.answer.number, frame, "before the session was told", one.answer)


@rule_v1("CMD-02", side="agent", fix="Give every command a name and a description, and input a hint.")
def commands_are_whole(story: Story) -> Iterator[Seen]:
    yield from all_kept(story.updates(KIND), _fault)


def _fault(frame: Frame) -> str:
    commands = _commands(frame)
    if type(commands) is not list:
        return "availableCommands is no list"
    for command in commands:
        missing = lacks(command, name=str, description=str)
        if not missing and command.get("input") is not None:
            missing = lacks(command["input"], hint=str) and "input"
        if missing:
            return f"{missing} of a command is missing or wrong"
    return ""


@rule_v1("CMD-04", side="client", fix="Run a command by a prompt whose text begins with /name.")
def a_command_is_a_prompt(story: Story) -> Iterator[Seen]:
    for turn in story.turns:
        names = names_at(story, turn.session, turn.exchange.request.number)
        if not names:
            continue
        right = _runs(turn, names)
        if right or marked(story, turn.exchange.request, "command"):
            yield kept_if(right, turn.exchange.request, "a command without its slash and name at the start")


@rule_v1("CMD-05", side="agent", fix="Recognise /name at the start of a prompt, whatever comes after it.")
def a_command_is_recognised(story: Story) -> Iterator[Seen]:
    for turn in story.turns:
        names = names_at(story, turn.session, turn.exchange.request.number)
        if _runs(turn, names) and is_fair(story, turn.exchange):
            right = turn.exchange.has_result
            if not right and turn.exchange.code not in (BAD_REQUEST, NO_METHOD, BAD_PARAMS):
                continue  # it was recognised, and failed
            yield kept_if(right, turn.exchange.request, "a known command was refused", turn.exchange.answer)


@rule_v1("CMD-06", side="agent", fix="Take an unknown command as text, or say that it is unknown.")
def an_unknown_command_is_text(story: Story) -> Iterator[Seen]:
    for turn in story.turns:
        names = names_at(story, turn.session, turn.exchange.request.number)
        unknown = names and not _runs(turn, names) and _COMMAND.match(_first_text(turn))
        if unknown and is_fair(story, turn.exchange):
            right = reason_of(turn) is not None
            yield kept_if(right, turn.exchange.request, "it was an error", turn.exchange.answer)


@rule_v1("CMD-07", side="agent", fix="Leave the slash out of a command's name.")
def names_of_commands_have_no_slash(story: Story) -> Iterator[Seen]:
    for frame in story.updates(KIND):
        names = [text(one.get("name")) for one in items(_commands(frame))]
        wrong = [name for name in names if name.startswith("/") or not name.strip()]
        if names:
            yield kept_if(not wrong, frame, "a name begins with a slash, or is empty")
