"""Slash commands of v2 in v1: there a command has a type and so has its input."""

from __future__ import annotations

from dragoman.dialect.message import Json, Object, as_list, as_object
from dragoman.dialect.v2.to_v1.fields import Teller, fits, without


def commands(value: Json, tell: Teller) -> list[Object]:
    found = [_command(as_object(item), tell) for item in as_list(value)]
    return [item for item in found if item is not None]


def _command(item: Object, tell: Teller) -> Object | None:
    # Real agents leave the type of a command out; there is only one.
    if item.get("type", "command") != "command":
        tell.lost("a command of a type that v1 does not know", "left out")
        return None
    if not (fits(item.get("name"), str) and fits(item.get("description"), str)):
        tell.lost("a malformed command", "left out")
        return None
    bare = without(item, "type", "input")
    wanted = as_object(item.get("input"))
    if not wanted:
        return bare
    if wanted.get("type", "text") != "text" or not fits(wanted.get("hint"), str):
        tell.lost("input of a command of a type that v1 does not know", "the command goes on without input")
        return bare
    return {**bare, "input": without(wanted, "type")}
