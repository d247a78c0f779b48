"""Translates config options into v2, with session modes as one of them: v2 has no modes."""

from __future__ import annotations

from dragoman.dialect.message import Json, Object, as_list, as_object, rename_members
from dragoman.dialect.v2.to_v2.ledger_notes import MODES, NO_CHOICE, WRONG
from dragoman.dialect.v2.to_v2.writer import V2Writer, anything, is_flag, is_list, is_object, is_text

_OPTION = {
    **dict.fromkeys(("configId", "type", "name", "description", "category"), is_text),
    "_meta": is_object,
}
_SELECT = {**_OPTION, "currentValue": is_text, "options": is_list}
_BOOLEAN = {**_OPTION, "currentValue": is_flag}
_CHOICE = {**dict.fromkeys(("value", "name", "description"), is_text), "_meta": is_object}
_GROUP = {**dict.fromkeys(("groupId", "name"), is_text), "options": anything, "_meta": is_object}


def options(value: Json, writer: V2Writer) -> list[Object]:
    """Return the options of a list that can be offered, each id once."""
    by_id: dict[str, Object] = {}
    for item in as_list(value):
        v2_option = option(item, writer)
        if v2_option is not None:
            by_id.setdefault(v2_option["configId"], v2_option)
    return list(by_id.values())


def option(value: Json, writer: V2Writer) -> Object | None:
    fields = rename_members(as_object(value), {"id": "configId"})
    kind = fields.get("type")
    if kind == "select":
        return _select(fields, writer)
    clean_fields = writer.clean(fields, _BOOLEAN) if kind == "boolean" else fields
    required_names = (
        ("configId", "name", "currentValue") if kind == "boolean" else ("configId", "name", "type")
    )
    if all(name in clean_fields for name in required_names) and all(
        is_text(clean_fields[name]) for name in required_names[:2]
    ):
        return clean_fields  # of a type that v1 does not know: v2 leaves the list of types open
    writer.note(WRONG)
    return None


def mode_option(modes: Object, used_ids: set[str], writer: V2Writer) -> Object | None:
    """Return v1's modes as a config option."""
    choices = [
        rename_members(as_object(mode), {"id": "value"}) for mode in as_list(modes.get("availableModes"))
    ]
    config_id = "mode"
    while config_id in used_ids:
        config_id = f"session-{config_id}"
    v2_option = _select(
        {
            "configId": config_id,
            "type": "select",
            "name": "Mode",
            "category": "mode",
            "currentValue": modes.get("currentModeId"),
            "options": choices,
        },
        writer,
    )
    if v2_option is not None:
        writer.note(MODES)
    return v2_option


def values(choice: Object) -> list[str]:
    """Return all values of a select, including those in groups."""
    values = []
    for item in as_list(choice.get("options")):
        inner = as_list(item.get("options")) if "groupId" in item else [item]
        values += [entry["value"] for entry in inner]
    return values


def _select(fields: Object, writer: V2Writer) -> Object | None:
    select = writer.clean(fields, _SELECT)
    if not all(name in select for name in ("configId", "name", "currentValue", "options")):
        writer.note(WRONG)
        return None
    select["options"] = _choices(select["options"], writer)
    if select["currentValue"] in values(select):
        return select
    writer.note(NO_CHOICE)
    return None


def _choices(entries: list[Json], writer: V2Writer) -> list[Object]:
    """Either all groups or all choices: what the first is."""
    items = [as_object(item) for item in entries]
    if not items or "group" not in items[0]:
        return [choice for choice in (_choice(item, writer) for item in items) if choice is not None]
    groups = [writer.clean(rename_members(item, {"group": "groupId"}), _GROUP) for item in items]
    v2_groups = [{**group, "options": _choices(as_list(group.get("options")), writer)} for group in groups]
    return [group for group in v2_groups if group["options"] and "groupId" in group and "name" in group]


def _choice(item: Object, writer: V2Writer) -> Object | None:
    choice = writer.clean(item, _CHOICE)
    if "value" in choice and "name" in choice:
        return choice
    writer.note(WRONG)
    return None
