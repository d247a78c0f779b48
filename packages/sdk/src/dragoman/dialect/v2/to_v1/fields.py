"""Translates v2 values into v1: from a v2 agent to a v1 client, and from a v2 client to a v1 agent.

Pure functions of plain values. What v1 cannot hold is told to a `Teller`, which an edge is.

What all conversions to v1 share: who is told of losses, members that fit or go, `_meta` as a patch.
"""

from __future__ import annotations

from typing import Any, Protocol

from dragoman.dialect.message import Json, Object, without
from dragoman.dialect.originals import keep

NAME = "v2"

Kinds = dict[str, type | tuple[type, ...]]


class LossReporter(Protocol):
    """Receives notes about losses and repairs; an edge implements it."""

    def note_loss(self, what: str, action: str) -> None: ...
    def note_repair(self, what: str, action: str) -> None: ...


def with_originals(fields: Object, original: Object) -> Object:
    """Return `fields`, with the originals of converted fields in `_meta`."""
    return keep(fields, NAME, original)


def fitting(fields: Object, kinds: Kinds, report: LossReporter) -> Object:
    """Return `fields` without those of the wrong type for v1. Unknown fields are kept: a reader may
    understand them.
    """
    wrong = [name for name, kind in kinds.items() if name in fields and not fits(fields[name], kind)]
    if not wrong:
        return fields
    if any(fields[name] is not None for name in wrong):  # null says nothing in v1
        report.note_loss("a member of the wrong kind", "left out")
    return without(fields, *wrong)


def fits(value: Json, kind: type | tuple[type, ...]) -> bool:
    """Like `isinstance`, but true is not a number, and an integer is also a float."""
    value_type = type(value)
    types = kind if type(kind) is tuple else (kind,)
    return value_type in types or (value_type is int and float in types)


def patched_meta(meta: Object | None, patch: Json) -> Object | None:
    """The complete `_meta` for v1. v2 patches `_meta` of an upsert key by key: null clears all, a key with
    null removes it.
    """
    if patch is None:
        return None
    if type(patch) is not dict:
        return meta
    members: dict[str, Any] = {**(meta or {}), **patch}
    return {name: value for name, value in members.items() if value is not None} or None
