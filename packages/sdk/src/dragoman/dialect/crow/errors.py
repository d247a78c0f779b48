"""Errors, both ways. In crow, `data.errors` of an invalid params error names each field and the reason:

    {"code": -32602, "message": "Invalid params",
     "data": {"errors": [{"field": "prompt", "reason": "is missing"}]}}

v1 leaves the data of an error open. What an agent of v1 says about a field is looked for where the known
libraries put it: a list of objects with `loc` and `msg`, an object of `_errors`, a sentence in the message.
Fields have the names that their reader knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from msgspec import UNSET, Struct, UnsetType

from dragoman.dialect.crow.ledger_notes import ERROR_ODD, INVALID_FIELD
from dragoman.dialect.crow.names import CAMEL_OF, SNAKE_OF, shallow
from dragoman.dialect.ledger import Note
from dragoman.dialect.message import Id, Json, Message, Object, as_list, as_object, as_text, refusal
from dragoman.schema import SchemaError, examine, v1
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_PARAMS

WHOLE = "params"
"""The field name of a complaint that names no field."""

_FILLERS: Object = {"sessionId": "any", "cwd": "/", "mcpServers": [], "prompt": []}
"""Valid values of every field that a request of crow may get wrong: one takes the place of each wrong value
that was found, so that the next can be found."""

_SENTENCE = re.compile(
    r"\s*(?:Invalid params\s*[:.-]?\s*)?(?:(?P<field>\$?\.?[A-Za-z_][\w.\[\]]*)\s*:\s+)?(?P<reason>.*)", re.S
)
_DEPTH = 20


class ParamError(Struct, frozen=True):
    """The sender's name of a field, and the reason why the field was refused."""

    field: str
    reason: str


def param_errors(fields: Object, kind: str) -> list[ParamError]:
    """Return everything in these v1 params that v1 does not accept, with crow's names."""
    errors: list[ParamError] = []
    for _ in range(len(_FILLERS) + 1):
        try:
            _, deviations = examine(msgspec.json.encode(fields), getattr(v1, kind))
        except (SchemaError, ValueError, TypeError, RecursionError) as error:
            path = error.path if isinstance(error, SchemaError) else "$"
            reason = error.reason if isinstance(error, SchemaError) else "cannot be read"
            errors.append(ParamError(_rename_path(path, SNAKE_OF), reason))
            first = _first_name(path)
            if first not in _FILLERS:
                break
            fields = {**fields, first: _FILLERS[first]}
            continue
        wrong = [deviation for deviation in deviations if deviation.kind != "unknown field"]
        errors += [
            ParamError(_rename_path(error.path, SNAKE_OF), f"{error.kind}: {error.name}") for error in wrong
        ]
        break
    return errors


def invalid_params(request_id: Id | UnsetType, *errors: ParamError, why: str = "Invalid params") -> Message:
    """Refuse a request of a crow client."""
    entries = [{"field": error.field, "reason": error.reason} for error in errors]
    return refusal(request_id, INVALID_PARAMS, why, {"errors": entries})


def write_error(message: Message, note: Note) -> Message:
    """Translate an error of a v1 agent for a crow client."""
    if not is_error(message.error):
        return _replace_error(message, note)
    error = as_object(message.error)
    if error["code"] != INVALID_PARAMS:
        return message
    data = error.get("data")
    if type(as_object(data).get("errors")) is list:
        return _rename_fields(message, error, as_object(data), SNAKE_OF)
    note(INVALID_FIELD)
    param_faults = list(_param_errors(data)) or [_in_words(as_text(error["message"]))]
    errors = [
        {"field": _rename_path(fault.field, SNAKE_OF), "reason": fault.reason} for fault in param_faults
    ]
    beside = as_object(data) if shallow(data) else {}
    return refusal(message.id, INVALID_PARAMS, error["message"], {**beside, "errors": errors})


def read_error(message: Message, note: Note) -> Message:
    """Translate an error of a crow agent for a v1 client. Any other value becomes an error too."""
    if not is_error(message.error):
        return _replace_error(message, note)
    error = as_object(message.error)
    data = as_object(error.get("data"))
    if error["code"] == INVALID_PARAMS and type(data.get("errors")) is list:
        return _rename_fields(message, error, data, CAMEL_OF)
    return message


def is_error(error: Json) -> bool:
    fields = as_object(error)
    code = fields.get("code")
    return type(code) is int and abs(code) < 2**31 and type(fields.get("message")) is str


def is_complaint(message: Message) -> bool:
    """Whether this error answers no request: it is about an unreadable frame."""
    return message.error is not UNSET and message.id in (None, UNSET)


def _replace_error(message: Message, note: Note) -> Message:
    note(ERROR_ODD)
    return refusal(message.id, INTERNAL_ERROR, "Internal error: the peer's error makes no sense")


def _rename_fields(message: Message, error: Object, data: Object, names: dict[str, str]) -> Message:
    """The same error, with its fields under the names that its reader knows."""
    errors = [_rename_entry(entry, names) for entry in as_list(data["errors"])]
    if errors == data["errors"]:
        return message
    return refusal(message.id, error["code"], error["message"], {**data, "errors": errors})


def _rename_entry(entry: Json, names: dict[str, str]) -> Json:
    if type(entry) is not dict:
        return entry
    renamed_entry = dict(entry)
    for name in ("field", "loc", "path"):
        value = entry.get(name)
        if type(value) is str:
            renamed_entry[name] = ".".join(names.get(part, part) for part in value.split("."))
        elif type(value) is list:
            renamed_entry[name] = [names.get(part, part) if type(part) is str else part for part in value]
    return renamed_entry


def _param_errors(data: Json) -> Iterator[ParamError]:
    """What the data of a v1 agent's error says about fields."""
    if type(data) is list:
        for entry in map(as_object, data):
            place, why = entry.get("loc", entry.get("path")), entry.get("msg", entry.get("message"))
            if type(why) is str:
                parts = place if type(place) is list else [place] if type(place) is str else []
                yield ParamError(".".join(map(str, parts)) or WHOLE, why)
    elif type(data) is dict:
        yield from _told_in_tree(data, "", _DEPTH)
        for name in ("details", "reason", "message", "error"):
            if as_text(data.get(name)):
                yield _in_words(data[name])
    elif type(data) is str and data:
        yield _in_words(data)


def _told_in_tree(data: Object, place: str, depth: int) -> Iterator[ParamError]:
    """`{"prompt": {"_errors": ["Required"]}}`, at any depth."""
    for why in as_list(data.get("_errors")):
        if type(why) is str:
            yield ParamError(place or WHOLE, why)
    for name, inner in data.items():
        if type(inner) is dict and depth:
            yield from _told_in_tree(inner, f"{place}.{name}".strip("."), depth - 1)


def _in_words(text: str) -> ParamError:
    match = _SENTENCE.fullmatch(text)
    field, reason = (match["field"], match["reason"]) if match else (None, text)
    return ParamError(
        field.removeprefix("$").lstrip(".") if field else WHOLE, reason.strip() or "not accepted"
    )


def _rename_path(path: str, names: dict[str, str]) -> str:
    """`$.prompt[0].mimeType` in the names of one side."""
    bare = path.removeprefix("$").lstrip(".")
    return re.sub(r"[A-Za-z_]\w*", lambda word: names.get(word[0], word[0]), bare) or WHOLE


def _first_name(path: str) -> str:
    return match[1] if (match := re.match(r"\$\.(\w+)", path)) else ""
