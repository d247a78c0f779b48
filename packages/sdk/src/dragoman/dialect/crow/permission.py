"""Translates permission requests and their answers, both ways.

In crow a question is an update `permission_request`, and its document says no more about the answer than its
name, `permission_response`. Our form of it:

    {"session_id": …, "tool_call_id": …, "option_id": …}          one of the options that were offered
    {"session_id": …, "tool_call_id": …, "outcome": "cancelled"}  none of them

Consent is what names an open question of its session and an option that was offered. Nothing else is.
"""

from __future__ import annotations

import msgspec

from dragoman.dialect.crow.ledger_notes import BESIDE, DEFAULTS, KEPT
from dragoman.dialect.crow.names import NAME, either, readable, to_snake, with_original, without_nulls
from dragoman.dialect.crow.tool_calls import SHOWN, TITLE, read_rest
from dragoman.dialect.crow.updates import QUESTION
from dragoman.dialect.ledger import Note, ignore_note
from dragoman.dialect.message import Json, Object, as_list, as_object, as_text, without
from dragoman.dialect.originals import drop_original, restore
from dragoman.schema.v1.permission import PERMISSION_OPTION_KINDS
from dragoman.schema.v1.tool_call import TOOL_CALL_STATUSES, TOOL_KINDS

TERMINAL = "terminal"
"""The tool that runs commands, as crow's document names it."""

_KINDS = {"approve": "allow_once", "allow": "allow_once", "reject": "reject_once", "deny": "reject_once"}
"""What crow's option ids mean. v1's own words for the kinds are understood too."""


def read_question(update: Object, session: str, note: Note) -> Object | None:
    """The params of v1's permission request. None if no valid request can be made."""
    options = list(map(_read_option, as_list(update.get("permission_options"))))
    call_id = either(update, "tool_call_id", "toolCallId")
    if type(call_id) is not str or not options or None in options:
        return None
    title = update.get("title")
    call: Object = {"toolCallId": call_id, "title": title if type(title) is str else TITLE}
    for member, known in (("kind", TOOL_KINDS), ("status", TOOL_CALL_STATUSES)):
        if type(update.get(member)) is str and update[member] in known:
            call[member] = update[member]
    rest = read_rest({name: value for name, value in update.items() if name != "_meta"}, note)
    if update.get("arguments") is not None:
        call["rawInput"] = read_input(update["arguments"], tool=title)
        if title == TERMINAL:
            call["kind"] = "execute"
    if type(title) is str and title != TITLE:
        call["name"] = title  # crow's title is the name of the tool
    call |= rest
    params: Object = {"sessionId": session, "toolCall": call, "options": options}
    if not readable(params, "RequestPermissionRequest"):
        return None
    if write_question(params, call_id, ignore_note) == update:
        return params
    note(KEPT)
    return with_original(params, update)


def read_input(arguments: Json, *, tool: Json = None) -> Json:
    """Read a tool's input. In crow it is a text, usually JSON; the input of its terminal is the command."""
    try:
        value = msgspec.json.decode(arguments) if type(arguments) is str else arguments
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        value = None
    if type(value) is dict:
        return value
    return {"command" if tool == TERMINAL and arguments else "arguments": arguments}


def has_kinds(update: Object) -> bool:
    """Whether nothing is wrong except the kinds of the options."""
    options = as_list(update.get("permission_options"))
    return bool(options) and None not in map(_read_option, options)


def _read_option(option: Json) -> Object | None:
    fields = as_object(option)
    option_id, name, kind_member = fields.get("id"), fields.get("title"), fields.get("kind")
    if type(option_id) is not str:
        return None
    kind = option_id if option_id in PERMISSION_OPTION_KINDS else _KINDS.get(option_id)
    if (
        kind_member is not None
    ):  # ours: crow's options have no kind. It may say more than the id, not the opposite.
        if type(kind_member) is not str or kind_member not in PERMISSION_OPTION_KINDS:
            return None
        if kind is not None and kind.partition("_")[0] != kind_member.partition("_")[0]:
            return None
        kind = kind_member
    if kind is None:
        return None
    return {"optionId": option_id, "name": name if type(name) is str else option_id, "kind": kind}


def write_question(params: Object, call_id: str, note: Note) -> Object | None:
    """Write v1's permission request as crow's update, for a tool call of this id. None if it is not valid."""
    session = as_text(params.get("sessionId"))
    original = restore(params, NAME, lambda raw: read_question(as_object(raw), session, ignore_note) or {})
    if type(original) is dict:
        return {**original, "tool_call_id": call_id}
    call, options = without_nulls(as_object(params.get("toolCall"))), params.get("options")
    if type(options) is not list or not all(type(as_object(each).get("optionId")) is str for each in options):
        return None
    if type(call.get("title")) is not str:
        note(DEFAULTS)
    rest = {name: value for name, value in call.items() if name not in ("toolCallId", "title")}
    said = (
        ("rawInput", _is_arguments(call.get("rawInput"))),
        ("kind", call.get("title") == TERMINAL and rest.get("kind") == "execute"),
        ("name", rest.get("name") == call.get("title")),
    )
    rest = without(rest, *(name for name, is_said in said if is_said))
    if rest:
        note(BESIDE)
    beside = {name: value for name, value in to_snake(drop_original(rest)).items() if name not in _ASKED}
    return {
        "@type": QUESTION,
        "tool_call_id": call_id,
        "title": as_text(call.get("title")) or TITLE,
        "arguments": _arguments(call.get("rawInput")),
        "permission_options": _write_options(options),
        **beside,
    }


_ASKED = SHOWN - {"kind", "status"} | {"arguments", "permission_options"}


def _write_options(options: list[Json]) -> list[Object]:
    """The first that allows once is the primary one, as in crow's document."""
    crow_options: list[Object] = []
    primary = next((option for option in options if option.get("kind") == "allow_once"), None)
    for option in options:
        option_id, kind = option["optionId"], option.get("kind")
        crow_option: Object = {"id": option_id, "title": as_text(option.get("name")) or option_id}
        if option is primary:
            crow_option["is_primary"] = True
        if type(kind) is str and _KINDS.get(option_id) != kind:
            crow_option["kind"] = kind  # crow has no word for it, and its ids do not say it
        crow_options.append(crow_option)
    return crow_options


def _is_arguments(raw: Json) -> bool:
    return type(raw) is dict and len(raw) == 1 and type(raw.get("arguments", raw.get("command"))) is str


def _arguments(raw: Json) -> str:
    """Crow's are a text."""
    if raw is None or type(raw) is str:
        return raw or ""
    if _is_arguments(raw):
        return as_text(raw.get("arguments", raw.get("command")))
    return msgspec.json.encode(raw).decode()


def write_choice(session: str, call_id: str, option_id: str | None) -> Object:
    """Return the answer for a crow agent."""
    which = {"outcome": "cancelled"} if option_id is None else {"option_id": option_id}
    return {"session_id": session, "tool_call_id": call_id, **which}


def read_choice(params: Object) -> str | None:
    """Return the option that a `permission_response` names; None if it names none or contradicts itself.

    Besides our form, v1's own outcome is understood: as an object, or its members side by side.
    """
    outcome = params.get("outcome")
    option_id = either(params, "option_id", "optionId")
    if type(outcome) is dict:
        inner = either(outcome, "option_id", "optionId")
        if option_id is not None and option_id != inner:
            return None
        option_id, outcome = inner, outcome.get("outcome")
    elif outcome is None and "outcome" not in params:
        outcome = "selected"
    return option_id if outcome == "selected" and type(option_id) is str else None


def reject_option(update: Object) -> str | None:
    """Return the id of the rejecting option, for a question that nobody saw; None if there
    is no such option.
    """
    options = [as_object(option) for option in as_list(update.get("permission_options"))]
    may_reject = [each for each in options if each.get("kind") in (None, "reject_once", "reject_always")]
    known = [_read_option({"id": each.get("id")}) or {"kind": ""} for each in may_reject]
    return next((each["optionId"] for each in known if each["kind"].startswith("reject")), None)
