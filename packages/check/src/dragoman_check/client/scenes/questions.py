"""Scenes about questions to the user, in the modes that the client has advertised."""

from __future__ import annotations

from dragoman.wire.envelope import JsonObject
from dragoman_check.client.turn import StandInTurn

ASK = "elicitation/create"

FIELDS: JsonObject = {
    "name": {"type": "string", "title": "Your name", "default": "Ada", "minLength": 1, "maxLength": 40},
    "colour": {"type": "string", "enum": ["red", "green"], "default": "green"},
    "size": {
        "type": "string",
        "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}],
        "default": "s",
    },
    "age": {"type": "integer", "minimum": 0, "maximum": 150, "default": 36},
    "share": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.5},
    "sure": {"type": "boolean", "default": True},
    "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "default": ["a"]},
}


async def forms(turn: StandInTurn) -> None:
    if not turn.can("elicitation", "form"):
        return
    schema = {"type": "object", "title": "A form", "properties": FIELDS, "required": ["name"]}
    await _ask(turn, "form", requestedSchema=schema, name="form")
    odd = {
        "zip": {"type": "string", "format": "_zip", "default": "10115"},
        "slow": {"type": "string", "pattern": "^(a+)+$", "default": "aaaaaaaa"},
    }
    await _ask(
        turn, "form", requestedSchema={"type": "object", "properties": odd}, name="form with odd formats"
    )


async def urls(turn: StandInTurn) -> None:
    if not turn.can("elicitation", "url"):
        return
    url = "https://stand-in.invalid/consent?state=1"
    await _ask(turn, "url", url=url, elicitationId="question-1", name="question by url")
    async with turn.stretch("question completed twice"):
        for elicitation in ("question-1", "question-1", "nobody's"):
            turn.connection.notify("elicitation/complete", {"elicitationId": elicitation})


async def odd_questions(turn: StandInTurn) -> None:
    """Ask questions that a client's user may be unable to answer."""
    if turn.can("elicitation", "form"):
        await _ask(turn, "form", requestedSchema={}, name="form without anything")
    if turn.can("elicitation"):
        await _ask(turn, "_x", requestedSchema={"type": "object"}, name="question of an unknown mode")


async def _ask(turn: StandInTurn, mode: str, *, name: str, **fields: object) -> None:
    message = f"A question of the examination ({name})"
    await turn.call(ASK, {"mode": mode, "message": message, **fields}, name=name)
