"""Config options, and session modes as one of them: v2 has no modes."""

from __future__ import annotations

from dragoman.dialect.message import Json, Object, as_list, as_object, renamed
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
    """Those of a list that can be offered, each id once."""
    found: dict[str, Object] = {}
    for item in as_list(value):
        one = option(item, writer)
        if one is not None:
            found.setdefault(one["configId"], one)
    return list(found.values())


def option(value: Json, writer: V2Writer) -> Object | None:
    fields = renamed(as_object(value), {"id": "configId"})
    kind = fields.get("type")
    if kind == "select":
        return _select(fields, writer)
    known = writer.clean(fields, _BOOLEAN) if kind == "boolean" else fields
    needed = ("configId", "name", "currentValue") if kind == "boolean" else ("configId", "name", "type")
    if all(name in known for name in needed) and all(is_text(known[name]) for name in needed[:2]):
        return known  # of a type that v1 does not know: v2 leaves the list of types open
    writer.note(WRONG)
    return None


def mode_option(modes: Object, taken: set[str], writer: V2Writer) -> Object | None:
    """What v1 knows as modes, as the choice that it is."""
    listed = [renamed(as_object(mode), {"id": "value"}) for mode in as_list(modes.get("availableModes"))]
    config_id = "mode"
    while config_id in taken:
        config_id = f"session-{config_id}"
    made = _select(
        {
            "configId": config_id,
            "type": "select",
            "name": "Mode",
            "category": "mode",
            "currentValue": modes.get("currentModeId"),
            "options": listed,
        },
        writer,
    )
    if made is not None:
        writer.note(MODES)
    return made


def values(choice: Object) -> list[str]:
    """All values of a select, those in groups too."""
    found = []
    for item in as_list(choice.get("options")):
        inner = as_list(item.get("options")) if "groupId" in item else [item]
        found += [one["value"] for one in inner]
    return found


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


def _choices(listed: list[Json], writer: V2Writer) -> list[Object]:
    """Either all groups or all choices: what the first is."""
    items = [as_object(item) for item in listed]
    if not items or "group" not in items[0]:
        return [one for one in (_choice(item, writer) for item in items) if one is not None]
    groups = [writer.clean(renamed(item, {"group": "groupId"}), _GROUP) for item in items]
    made = [{**group, "options": _choices(as_list(group.get("options")), writer)} for group in groups]
    return [group for group in made if group["options"] and "groupId" in group and "name" in group]


def _choice(item: Object, writer: V2Writer) -> Object | None:
    choice = writer.clean(item, _CHOICE)
    if "value" in choice and "name" in choice:
        return choice
    writer.note(WRONG)
    return None
