"""Translates content blocks: an embedded resource has another type in haven, and some fields are open.

The reference prints neither the members of an embedded resource nor those of a link beside its address. Both
the nested form of v1 and a flat one are read; a link may lack its name. Whatever is not of its kind at all
passes as it is: who gets it says what it thinks of it.
"""

from __future__ import annotations

from typing import Any

from dragoman.dialect.edge import Edge
from dragoman.dialect.haven.names import BARE, FLAT, NAME, NAMELESS_LINK
from dragoman.dialect.message import Json, Object, as_object, as_text
from dragoman.dialect.originals import drop_original, keep, restore

EMBEDDED = "embedded_resource"
_BLOCKS = ("text", "image", "audio", "resource_link", EMBEDDED)
_OF_A_RESOURCE = ("uri", "text", "blob", "mimeType")


def read_blocks(blocks: Json, edge: Edge) -> Json:
    return [read_block(block, edge) for block in blocks] if type(blocks) is list else blocks


def write_blocks(blocks: Json) -> Json:
    return [write_block(block) for block in blocks] if type(blocks) is list else blocks


def read_block(block: Json, edge: Edge) -> Json:
    """Translate a block of the dialect into v1."""
    fields = as_object(block)
    if _is_flat(fields):
        edge.note_repair(*FLAT)
        return keep(_convert(fields), NAME, fields)
    if _is_nameless(fields):
        edge.note_repair(*NAMELESS_LINK)
        return keep(_convert(fields), NAME, fields)
    return _convert(fields) if fields.get("type") == EMBEDDED else block


def write_block(block: Json) -> Json:
    """Translate a v1 block into the dialect."""
    fields = as_object(block)
    original = restore(fields, NAME, _convert)
    if original is not None:
        return original
    if fields.get("type") == "resource":
        return drop_original({**fields, "type": EMBEDDED})
    return drop_original(fields) if fields else block


def _convert(block: Object) -> Object:
    if _is_nameless(block):
        return {**block, "name": _end_of(block["uri"])}
    if block.get("type") != EMBEDDED:
        return block
    if not _is_flat(block):
        return {**block, "type": "resource"}
    rest = {name: value for name, value in block.items() if name not in _OF_A_RESOURCE}
    resource = {name: block[name] for name in _OF_A_RESOURCE if name in block}
    return {**rest, "type": "resource", "resource": resource}


def _is_flat(block: Object) -> bool:
    return block.get("type") == EMBEDDED and "resource" not in block and "uri" in block


def _is_nameless(block: Object) -> bool:
    link = block.get("type") == "resource_link" and type(block.get("uri")) is str
    return link and type(block.get("name")) is not str


def _end_of(uri: str) -> str:
    return uri.rstrip("/").rpartition("/")[2] or uri


# What a tool brings forth: blocks in a wrapper, diffs, terminals. The reference names this list and no more.


def read_tool_content(content: Json, edge: Edge) -> Json:
    return [_read_item(item, edge) for item in content] if type(content) is list else content


def write_tool_content(content: Json) -> Json:
    return [_write_item(item) for item in content] if type(content) is list else content


def has_diff(content: Json) -> bool:
    items: list[Any] = content if type(content) is list else []
    return any(as_object(item).get("type") == "diff" for item in items)


def _read_item(item: Json, edge: Edge) -> Json:
    fields = as_object(item)
    if as_text(fields.get("type")) in _BLOCKS:
        edge.note_repair(*BARE)
        return {"type": "content", "content": read_block(item, edge)}
    if fields.get("type") == "content" and "content" in fields:
        return {**fields, "content": read_block(fields["content"], edge)}
    return item


def _write_item(item: Json) -> Json:
    fields = as_object(item)
    if fields.get("type") == "content" and "content" in fields:
        return {**fields, "content": write_block(fields["content"])}
    return item
