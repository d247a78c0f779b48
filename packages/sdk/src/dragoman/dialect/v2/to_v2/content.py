"""Translates content blocks into v2: only some bounds are tighter. v2 allows unknown types, so they pass
unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from dragoman.dialect.message import Json, Object, as_list, as_object
from dragoman.dialect.v2.to_v2 import originals
from dragoman.dialect.v2.to_v2.ledger_notes import NO_URI, OUT_OF_BOUNDS, WRONG
from dragoman.dialect.v2.to_v2.writer import (
    WINDOWS,
    Check,
    V2Writer,
    is_count,
    is_list,
    is_number,
    is_object,
    is_text,
)

_ANY = {"type": is_text, "annotations": is_object, "_meta": is_object}
_DATA = {**_ANY, "data": is_text, "mimeType": is_text}
_LINK = {
    **_ANY,
    **dict.fromkeys(("name", "uri", "title", "description", "mimeType"), is_text),
    "size": is_number,
    "icons": is_list,
}
_RESOURCE = {**dict.fromkeys(("uri", "text", "blob", "mimeType"), is_text), "_meta": is_object}
_ICON = {**dict.fromkeys(("src", "mimeType", "theme"), is_text), "sizes": is_list, "_meta": is_object}
_ANNOTATIONS: Mapping[str, Check] = {
    "audience": is_list,
    "lastModified": is_text,
    "priority": is_number,
    "_meta": is_object,
}

# What a block of each type may hold, and what it must.
_BLOCKS: dict[str, tuple[Mapping[str, Check], tuple[str, ...]]] = {
    "text": ({**_ANY, "text": is_text}, ("text",)),
    "image": ({**_DATA, "uri": is_text}, ("data", "mimeType")),
    "audio": (_DATA, ("data", "mimeType")),
    "resource_link": (_LINK, ("name", "uri")),
    "resource": ({**_ANY, "resource": is_object}, ("resource",)),
}
_PLAIN_TEXT = {"type", "text"}


def block(value: Json, writer: V2Writer) -> Object | None:
    """Translate one content block."""
    source = as_object(value)
    if source.keys() == _PLAIN_TEXT and source["type"] == "text" and type(source["text"]) is str:
        return source
    if originals.is_kept(source):
        source = originals.block(source)
    if type(source.get("type")) is not str:
        writer.note(WRONG)
        return None
    rule = _BLOCKS.get(source["type"])
    if rule is None:
        return source
    checks, required_names = rule
    fields = writer.clean(source, checks)
    if "size" in fields and not is_count(fields["size"]):
        writer.note(OUT_OF_BOUNDS)
        del fields["size"]
    for name in _INNER.keys() & fields.keys():
        fields[name] = _INNER[name](fields[name], writer)
    if all(fields.get(name) is not None for name in required_names):
        return fields
    writer.note(WRONG)
    return None


def blocks(value: Json, writer: V2Writer) -> list[Object]:
    """Translate the blocks of a list, without those that can't be translated."""
    entries = (block(item, writer) for item in as_list(value))
    return [entry for entry in entries if entry is not None]


def uri(text: str, writer: V2Writer) -> str:
    """Return a URI for v2. In v1 this can be any text, and agents also write paths."""
    if _URI.match(text):
        return text
    writer.note(NO_URI)
    if WINDOWS.match(text):
        return "file:///" + quote(text.replace("\\", "/").lstrip("/"), safe="/:")
    if ":" in text and not text.startswith("/"):
        return "unknown:" + quote(text, safe="")
    return "file://" + quote(writer.absolute(text))


# A scheme of two letters or more (one is a drive), and a host where the scheme is one of those that need it.
_URI = re.compile(
    r"(?!(?:https?|wss?|ftp):)[A-Za-z][A-Za-z0-9+.-]+:"
    r"|(?:https?|wss?|ftp)://(?:[^\s/?#@\\]*@)?(?:[\w.~-]+|\[[0-9a-fA-F:]+\])(?::[0-5]?\d{1,4})?(?:[/?#]|$)"
)


def _annotations(value: Object, writer: V2Writer) -> Object:
    annotations = writer.clean(value, _ANNOTATIONS)
    if "audience" in annotations:
        annotations["audience"] = [role for role in annotations["audience"] if type(role) is str]
    if "priority" in annotations and not 0 <= annotations["priority"] <= 1:
        writer.note(OUT_OF_BOUNDS)
        del annotations["priority"]
    return annotations


def _resource(value: Object, writer: V2Writer) -> Object | None:
    resource = writer.clean(value, _RESOURCE)
    if "uri" not in resource or ("text" in resource) == ("blob" in resource):
        return None
    return {**resource, "uri": uri(resource["uri"], writer)}


def _icons(value: list[Json], writer: V2Writer) -> list[Object]:
    icons = [writer.clean(icon, _ICON) for icon in value if type(icon) is dict]
    for icon in icons:
        if "sizes" in icon:
            icon["sizes"] = [size for size in icon["sizes"] if type(size) is str]
    return [{**icon, "src": uri(icon["src"], writer)} for icon in icons if "src" in icon]


_INNER: dict[str, Callable[[Any, V2Writer], Json]] = {
    "annotations": _annotations,
    "uri": uri,
    "icons": _icons,
    "resource": _resource,
}
