"""Restores from `_meta` the v2 content that v1 could not hold, for a v2 peer at the other end.

An original is used only if it still means what stands beside it, and if it is v2: a v1 peer may write into
`_meta` what it likes. Whatever comes of it, nobody but us reads these members, so they end here.
"""

from __future__ import annotations

import msgspec

from dragoman.dialect.message import Json, Object, as_object
from dragoman.dialect.originals import KEY, drop_original, original_of, restore
from dragoman.dialect.v2.to_v1 import content, diffs, tool_calls
from dragoman.dialect.v2.to_v1.fields import NAME
from dragoman.schema import SchemaError
from dragoman.schema.codec import examine
from dragoman.schema.v2 import ContentBlock, ToolCallContent

QUESTION = "dragoman/question"
"""Title and description of a permission request whose tool call has its own title."""


class _Silent:
    """Hears of losses that were told when they happened."""

    def note_loss(self, what: str, action: str) -> None: ...

    def note_repair(self, what: str, action: str) -> None: ...


def is_kept(fields: Object) -> bool:
    return KEY in as_object(fields.get("_meta"))


def block(fields: Object) -> Object:
    """Restore content of a type that v1 does not have."""
    value = restore(fields, NAME, lambda raw: content.block(raw, _Silent()) or {})
    return as_object(value) if _is_v2(value, ContentBlock) else drop_original(fields)


def item(fields: Object) -> Object:
    """Restore a diff that v1 could only show as text. A terminal stays text: its output exists only there."""
    value = restore(fields, NAME, lambda raw: _as_v2(as_object(raw)))
    return as_object(value) if _is_v2(value, ToolCallContent) else drop_original(fields)


def call(fields: Object) -> Object:
    """Restore a kind or a status of a tool call that v1 does not have."""
    original = as_object(original_of(fields, NAME))
    was = {name: original[name] for name in ("kind", "status") if type(original.get(name)) is str}
    v1_members = tool_calls.changes(was, lambda terminal: "", _Silent())
    same_members = {name: value for name, value in was.items() if fields.get(name) == v1_members.get(name)}
    return {**drop_original(fields), **same_members}


def ending(result: Object) -> Object:
    """Restore a stop reason that v1 does not have."""
    reason = as_object(original_of(result, NAME)).get("stopReason")
    bare = drop_original(result)
    return (
        {**bare, "stopReason": reason}
        if type(reason) is str and bare.get("stopReason") == "end_turn"
        else bare
    )


def question(meta: Object) -> tuple[Object, Object]:
    """Restore a permission request, and the rest of its `_meta`."""
    texts = as_object(meta.get(QUESTION))
    rest = {name: value for name, value in meta.items() if name != QUESTION}
    return {name: texts[name] for name in ("title", "description") if type(texts.get(name)) is str}, rest


def _as_v2(raw: Object) -> Object:
    items = diffs.diff(raw, _Silent()) if raw.get("type") == "diff" else []
    return items[0] if len(items) == 1 else {}


def _is_v2(value: Json, kind: object) -> bool:
    if type(value) is not dict:
        return False
    try:
        _, deviations = examine(msgspec.json.encode(value), kind)
    except SchemaError:
        return False
    return all(deviation.kind == "unknown member" for deviation in deviations)
