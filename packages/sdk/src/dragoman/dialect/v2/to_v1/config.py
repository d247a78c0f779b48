"""Config options of v2 in v1, the modes that older clients look for, and the way back for a choice.

In v2 a mode is an option of the category `mode`, and that is all. v1 has a list of modes beside the options;
it is derived from the first select of that category.

Slash commands: in v2 a command has a type, and so has its input. MCP servers: v1 marks no server that is a
process, and wants lists that v2 may leave out. A type that v1 does not know is never passed on: readers of v1
take what they do not know for a process to start.
"""

from __future__ import annotations

from dragoman.dialect.message import Json, Object, as_list, as_object, as_text, rename_members, without
from dragoman.dialect.v2.to_v1.fields import Kinds, LossReporter, fits, fitting

_TEXT_OR_NONE = (str, type(None))
_COMMON: Kinds = {
    "description": _TEXT_OR_NONE,
    "category": _TEXT_OR_NONE,
    "_meta": (dict, type(None)),
}
_VALUE: Kinds = {"description": _TEXT_OR_NONE, "_meta": (dict, type(None))}
_TRUE_FALSE = [{"value": "true", "name": "On"}, {"value": "false", "name": "Off"}]


def options(value: Json, *, booleans: bool, report: LossReporter) -> list[Object]:
    """Return the options that v1 supports. `booleans`: whether the client supports switches; otherwise a
    switch becomes a choice between two values.
    """
    entries = [_option(as_object(item), booleans=booleans, report=report) for item in as_list(value)]
    return [item for item in entries if item is not None]


def switches(value: Json) -> set[str]:
    """The ids of the options that are switches."""
    items = [as_object(item) for item in as_list(value)]
    return {as_text(item.get("configId")) for item in items if item.get("type") == "boolean"}


def modes(options: list[Object]) -> Object | None:
    """The modes in v1 options; None if there are none."""
    option = mode_option(options)
    if option is None:
        return None
    entries = [
        {
            "id": item["value"],
            **{name: value for name, value in item.items() if name != "value" and value is not None},
        }
        for item in _values(option)
    ]
    return {"currentModeId": option["currentValue"], "availableModes": entries}


def mode_option(options: list[Object]) -> Object | None:
    """Return the v1 option whose values are the modes."""
    for option in options:
        if option.get("category") == "mode" and option.get("type") == "select":
            return option
    return None


def choice(params: Object, switches: set[str]) -> Object:
    """Translate a v1 `session/set_config_option` into v2, where the value has a type."""
    value = params.get("value")
    if as_text(params.get("configId")) in switches and value in ("true", "false"):
        return {**params, "type": "boolean", "value": value == "true"}
    if type(value) is bool:
        return {**params, "type": "boolean"}
    return {**params, "type": "id"}


def _option(item: Object, *, booleans: bool, report: LossReporter) -> Object | None:
    kind = item.get("type")
    if kind not in ("select", "boolean"):
        report.note_loss("a config option of a type that v1 does not know", "left out")
        return None
    option = fitting(rename_members(item, {"configId": "id"}), _COMMON, report)
    value = option.get("currentValue")
    right = fits(value, str if kind == "select" else bool)
    if not (right and fits(option.get("id"), str) and fits(option.get("name"), str)):
        return _drop_malformed(report)
    if kind == "select":
        return _select(option, report)
    if booleans:
        return option
    report.note_repair("a switch among the config options", "a choice of two: the client knows no switches")
    return {**option, "type": "select", "currentValue": "true" if value else "false", "options": _TRUE_FALSE}


def _select(option: Object, report: LossReporter) -> Object | None:
    entries = [fitting(as_object(entry), _VALUE, report) for entry in as_list(option.get("options"))]
    is_grouped = any("groupId" in entry or "options" in entry for entry in entries)
    if is_grouped:
        groups = [_group(entry, report) for entry in entries]
        return {**option, "options": [group for group in groups if group is not None]}
    if not all(_is_value(entry) for entry in entries):
        return _drop_malformed(report)
    return {**option, "options": entries}


def _group(entry: Object, report: LossReporter) -> Object | None:
    group = rename_members(entry, {"groupId": "group"})
    if not (fits(group.get("group"), str) and fits(group.get("name"), str)):
        return None
    values = [fitting(as_object(item), _VALUE, report) for item in as_list(group.get("options"))]
    return {**group, "options": [item for item in values if _is_value(item)]}


def _is_value(entry: Object) -> bool:
    return fits(entry.get("value"), str) and fits(entry.get("name"), str)


def _values(option: Object) -> list[Object]:
    values: list[Object] = []
    for entry in option["options"]:
        values += entry["options"] if "group" in entry else [entry]
    return values


def _drop_malformed(report: LossReporter) -> Object | None:
    report.note_loss("a malformed config option", "left out")
    return None


def commands(value: Json, report: LossReporter) -> list[Object]:
    entries = [_command(as_object(item), report) for item in as_list(value)]
    return [item for item in entries if item is not None]


def _command(item: Object, report: LossReporter) -> Object | None:
    # Real agents leave the type of a command out; there is only one.
    if item.get("type", "command") != "command":
        report.note_loss("a command of a type that v1 does not know", "left out")
        return None
    if not (fits(item.get("name"), str) and fits(item.get("description"), str)):
        report.note_loss("a malformed command", "left out")
        return None
    bare = without(item, "type", "input")
    input_member = as_object(item.get("input"))
    if not input_member:
        return bare
    if input_member.get("type", "text") != "text" or not fits(input_member.get("hint"), str):
        report.note_loss(
            "input of a command of a type that v1 does not know", "the command goes on without input"
        )
        return bare
    return {**bare, "input": without(input_member, "type")}


_LISTS = {"stdio": ("args", "env"), "http": ("headers",), "acp": ()}


class UnknownTransport(ValueError):
    """An MCP server type that v1 does not have. The error names it."""

    def __init__(self, kind: Json) -> None:
        super().__init__("an MCP server of a type that version 1 does not know")
        self.kind = kind


def servers(value: Json) -> list[Object]:
    """Translate MCP servers. Raises `UnknownTransport` at the first server that v1 does not support: without
    it the session would be a different one.
    """
    if value is not None and type(value) is not list:
        raise UnknownTransport(None)
    return [_server(as_object(item)) for item in value or []]


def _server(fields: Object) -> Object:
    kind = fields.get("type")
    if type(kind) is not str or kind not in _LISTS:
        raise UnknownTransport(kind if type(kind) is str else None)
    lists = {name: fields.get(name) or [] for name in _LISTS[kind]}
    server = {name: inner for name, inner in {**fields, **lists}.items() if inner is not None}
    return {name: inner for name, inner in server.items() if name != "type" or kind != "stdio"}
