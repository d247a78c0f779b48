"""Content blocks both ways: base64 under `source`, resources flat, links without names."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.acpex.form import AcpexForm, original, with_original
from dragoman.dialect.acpex.ledger_notes import BLOB, EMPTY_RESOURCE, IMAGE_ADDRESS, LINK_NAME, UNKNOWN_BLOCK
from dragoman.dialect.ledger import Note, ignore_note
from dragoman.dialect.message import Json, Object, as_list, as_object, as_text
from dragoman.dialect.originals import drop_original


def read_blocks(content: Json, form: AcpexForm, note: Note) -> list[Object]:
    """Read blocks from any value that a peer sends: a text, a block or a list of them."""
    entries = content if type(content) is list else [] if content is None else [content]
    blocks = [read_block(block, form, note) for block in entries]
    return [block for block in blocks if block is not None]


def read_block(block: Json, form: AcpexForm, note: Note) -> Object | None:
    if type(block) is str:
        return {"type": "text", "text": block}
    block = drop_original(as_object(block))  # an original that the peer made up itself would be none of ours
    read = _read(block, note)
    if read is None:
        note(UNKNOWN_BLOCK)
        return None
    if type(block.get("_meta")) is dict:
        read = {**read, "_meta": block["_meta"]}
    return with_original(read, block, form.block(read, ignore_note), form)


def _read(block: Object, note: Note) -> Object | None:
    kind = as_text(block.get("type"))
    if kind in ("image", "audio"):
        return _read_media(kind, block, note)
    if kind == "resource":
        return _read_resource(block, note)
    if kind == "resource_link":
        return _read_link(block, note)
    # Its guides stream texts without a type.
    text = block.get("text")
    return {"type": "text", "text": text} if kind in ("text", "") and type(text) is str else None


def _read_media(kind: str, block: Object, note: Note) -> Object | None:
    source = as_object(block.get("source"))
    address = source.get("url", source.get("uri"))
    if source and source.get("type") != "base64":
        if type(address) is not str:
            return None
        note(IMAGE_ADDRESS)
        return {"type": "resource_link", "uri": address, "name": link_name(address)}
    mime = source.get("mediaType", source.get("mimeType")) if source else block.get("mimeType")
    data = source.get("data") if source else block.get("data")
    if type(mime) is not str or type(data) is not str:
        return None
    read = {"type": kind, "mimeType": mime, "data": data}
    return {**read, "uri": block["uri"]} if kind == "image" and type(block.get("uri")) is str else read


def _read_resource(block: Object, note: Note) -> Object | None:
    resource = as_object(block.get("resource"))  # v1's own shape, which the code of ACPex has too
    fields = resource or block
    if type(fields.get("uri")) is not str:
        return None
    contents: Object = {"uri": fields["uri"]}
    if type(fields.get("mimeType")) is str:
        contents["mimeType"] = fields["mimeType"]
    for name in ("text", "blob"):
        if type(fields.get(name)) is str:
            return {"type": "resource", "resource": {**contents, name: fields[name]}}
    note(EMPTY_RESOURCE)
    return {"type": "resource_link", **contents, "name": link_name(fields["uri"])}


_LINK: dict[str, type] = {"name": str, "mimeType": str, "title": str, "description": str, "size": int}


def _read_link(block: Object, note: Note) -> Object | None:
    uri: Any = block.get("uri")
    if type(uri) is not str:
        return None
    more = {name: block[name] for name, kind in _LINK.items() if type(block.get(name)) is kind}
    if more.get("size", 0) < 0:
        del more["size"]
    if "name" not in more:
        note(LINK_NAME)
        more["name"] = link_name(uri)
    return {"type": "resource_link", "uri": uri, **more}


def link_name(uri: str) -> str:
    """Return the last part of an address, or the whole address."""
    return uri.rstrip("/").rpartition("/")[2] or uri or "resource"


def write_flat(block: Object, form: AcpexForm, note: Note) -> Object | None:
    """Write a block in the overview's form. Fields of v1 that the overview lacks are kept."""
    flat_original = original(block, form, lambda raw: read_block(raw, form, ignore_note) or {}, is_nested)
    if flat_original is not None:
        return flat_original
    fields = {name: value for name, value in drop_original(block).items() if value is not None}
    kind = fields.get("type")
    if kind in ("image", "audio"):
        source = {"type": "base64", "mediaType": fields.pop("mimeType", ""), "data": fields.pop("data", "")}
        return {**fields, "source": source}
    if kind == "resource":
        contents = as_object(fields.pop("resource", None))
        if "blob" in contents:
            note(BLOB)
        return {**fields, **{name: value for name, value in contents.items() if value is not None}}
    if kind == "resource_link" and fields.get("name") == link_name(as_text(fields.get("uri"))):
        del fields["name"]
    if kind not in ("text", "resource_link"):
        note(UNKNOWN_BLOCK)
        return None
    return fields


def is_nested(block: Object) -> bool:
    """Whether a block has v1's form, where the overview's form differs."""
    return "resource" in block or "data" in block


def is_flat(block: Object) -> bool:
    """Whether a block has the overview's form."""
    return "source" in block or (block.get("type") == "resource" and "uri" in block)


def write_all(blocks: Json, form: AcpexForm, note: Note) -> list[Object]:
    """Write every block that the form supports."""
    written_blocks = [form.block(block, note) for block in as_list(blocks) if type(block) is dict]
    return [block for block in written_blocks if block is not None]


def text_of(block: Json) -> str | None:
    """The text of a block, or of the resource in it."""
    fields = as_object(block)
    text = fields.get("text", as_object(fields.get("resource")).get("text"))
    return text if type(text) is str else None
