"""ELIC: how a client shows an agent's questions to its user, and how it answers them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.conversation import Conversation, Exchange
from dragoman_check.recording import Frame
from dragoman_check.rule import Observation, observe, rule
from dragoman_check.rules.elicitation import COMPLETE, MODES, can, elicitations, properties
from dragoman_check.timeline import BAD_PARAMS, observe_survival
from dragoman_check.values import items, text

ACTIONS = ("accept", "decline", "cancel")
FORMATS = ("email", "uri", "date", "date-time")

_NESTED = re.compile(r"[+*]\)[+*{]")
"""A repetition of a repetition: patterns that can take for ever."""

_NUMBERS = {"integer": (int,), "number": (int, float)}


@rule("ELIC-02", "ELIC-27", side="client", fix="Refuse a mode that you did not advertise with -32602.")
def a_mode_that_was_not_advertised_is_refused(conversation: Conversation) -> Iterator[Observation]:
    if conversation.initialize is None:
        return
    for elicitation in elicitations(conversation):
        mode = elicitation.params.get("mode")
        if (
            mode in MODES
            and not can(conversation, elicitation.request, mode)
            and elicitation.answer is not None
        ):
            yield observe(
                elicitation.code == BAD_PARAMS,
                elicitation.answer,
                "not refused with -32602",
                elicitation.request,
            )


@rule(
    "ELIC-09",
    side="client",
    fix="Read a form without type as an object, and one without properties as empty.",
)
def incomplete_forms_are_taken(conversation: Conversation) -> Iterator[Observation]:
    for elicitation in elicitations(conversation):
        schema = elicitation.params.get("requestedSchema")
        if elicitation.params.get("mode") != "form" or type(schema) is not dict or elicitation.answer is None:
            continue
        if "properties" in schema and schema["properties"] is None:
            yield observe(
                elicitation.has_error,
                elicitation.answer,
                "properties is null, and it was taken",
                elicitation.request,
            )
        elif schema.get("type") != "object" or "properties" not in schema:
            yield observe(
                elicitation.code != BAD_PARAMS,
                elicitation.answer,
                "an incomplete form was refused",
                elicitation.request,
            )


@rule("ELIC-18", side="client", fix="Answer with an action, and with content only if it is accept.")
def an_answer_has_an_action(conversation: Conversation) -> Iterator[Observation]:
    for elicitation in elicitations(conversation):
        if elicitation.has_result:
            content = elicitation.result.get("content")
            right = elicitation.result.get("action") in ACTIONS and type(content) in (dict, type(None))
            yield observe(
                right, elicitation.answer, "action is not one of the three, or content is not an object"
            )


@rule(
    "ELIC-16",
    "ELIC-20",
    side="client",
    fix="Look whether what was filled in fits the form before you send it.",
)
def what_is_accepted_fits_the_form(conversation: Conversation) -> Iterator[Observation]:
    for elicitation in elicitations(conversation):
        content = elicitation.result.get("content")
        if elicitation.result.get("action") != "accept" or elicitation.params.get("mode") != "form":
            continue
        fault = _fault(elicitation, content if type(content) is dict else {})
        yield observe(not fault, elicitation.answer, fault, elicitation.request)


def _fault(exchange: Exchange, content: JsonObject) -> str:
    schema = exchange.params.get("requestedSchema")
    required_names = schema.get("required") if type(schema) is dict else None
    if type(required_names) is list and any(
        type(name) is str and name not in content for name in required_names
    ):
        return "a required field is missing"
    for name, field in properties(exchange).items():
        if content.get(name) is not None and not _fits(content[name], field):
            return "a field does not fit the form"
    return ""


def _fits(value: Json, field: JsonObject) -> bool:
    kind = text(field.get("type"))
    if kind == "string":
        return type(value) is str and _fits_text(value, field)
    if kind == "boolean":
        return type(value) is bool
    if kind == "array":
        return type(value) is list and _fits_list(value, field)
    if kind in _NUMBERS:
        return type(value) in _NUMBERS[kind] and _is_between(
            value, field.get("minimum"), field.get("maximum")
        )
    return True


def _fits_text(value: str, field: JsonObject) -> bool:
    choices = _choices(field)
    inside = _is_between(len(value), field.get("minLength"), field.get("maxLength"))
    return inside and (not choices or value in choices)


def _fits_list(value: list[Json], field: JsonObject) -> bool:
    inner = field.get("items")
    choices = _choices(inner) if type(inner) is dict else []
    inside = _is_between(len(value), field.get("minItems"), field.get("maxItems"))
    return inside and (not choices or all(item in choices for item in value))


def _choices(field: JsonObject) -> list[Json]:
    values = field.get("enum")
    if type(values) is list:
        return values
    return [item.get("const") for item in (items(field.get("oneOf")) or items(field.get("anyOf")))]


def _is_between(value: float, least: Json, most: Json) -> bool:
    above = type(least) not in (int, float) or value >= least
    return above and (type(most) not in (int, float) or value <= most)


@rule("ELIC-26", side="client", fix="Ignore the completion of what you do not know, or know to be complete.")
def odd_completions_are_ignored(conversation: Conversation) -> Iterator[Observation]:
    elicitation_ids = {
        text(elicitation.params.get("elicitationId")) for elicitation in elicitations(conversation)
    }
    completed_ids: set[str] = set()
    odd: list[Frame] = []
    for frame in conversation.notes(COMPLETE, direction="to_client"):
        name = text(frame.params.get("elicitationId"))
        if name not in elicitation_ids or name in completed_ids:
            odd.append(frame)
        completed_ids.add(name)
    yield from observe_survival(conversation, odd, "a completion that it could not know")


@rule("ELIC-32", side="client", fix="Never treat an unknown mode as a known one.")
def an_unknown_mode_is_not_accepted(conversation: Conversation) -> Iterator[Observation]:
    for elicitation in elicitations(conversation):
        mode = elicitation.params.get("mode")
        if type(mode) is str and mode not in MODES and elicitation.answer is not None:
            is_accepted = elicitation.result.get("action") == "accept"
            yield observe(
                not is_accepted,
                elicitation.answer,
                "a question of an unknown mode was accepted",
                elicitation.request,
            )


@rule("ELIC-33", side="client", fix="Give up on a pattern that takes too long.")
def slow_patterns_do_not_hang_a_client(conversation: Conversation) -> Iterator[Observation]:
    slow = [
        elicitation.request
        for elicitation in elicitations(conversation)
        if any(map(_is_slow, properties(elicitation).values()))
    ]
    yield from observe_survival(conversation, slow, "a pattern that can take for ever")


def _is_slow(field: JsonObject) -> bool:
    return bool(_NESTED.search(text(field.get("pattern"))))


@rule("ELIC-34", side="client", fix="Keep a format that you do not know, and show the field as plain text.")
def unknown_formats_do_not_spoil_a_form(conversation: Conversation) -> Iterator[Observation]:
    for elicitation in elicitations(conversation):
        formats = [field.get("format") for field in properties(elicitation).values()]
        odd = any(type(name) is str and name not in FORMATS for name in formats)
        if odd and can(conversation, elicitation.request, "form") and elicitation.answer is not None:
            yield observe(
                elicitation.code != BAD_PARAMS,
                elicitation.answer,
                "a form with an unknown format was refused",
                elicitation.request,
            )
