"""Names in messages that only Dragoman uses: methods `_dragoman/…`, and in `_meta` the key `dragoman`, and
`dragoman/…` for messages between the two edges of an interpreter.

A client believes what stands under them, so nobody else may write them. Whoever takes in the messages of a
guest asks `may_hold` of each block, which is a search of bytes, and rewrites only what holds such a name. A
name may be spelled with escapes (`\\u0064ragoman`): no encoder writes letters so, and such a text counts as
one that may hold it.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any

import msgspec

METHOD = "_dragoman/"
"""The prefix of our methods."""

META = "dragoman"
EDGES = "dragoman/"

UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError, OverflowError)
"""The exceptions of `stripped` for a text that can't be read or written."""

MOST_VALUES = 250_000
"""The approximate number of values in a text that may hold our names: it is read as a whole, and a line of
brackets could take seconds.
"""

_find_escape = re.compile(rb"\\u00[5-7]").search  # of a letter, or of the line below at the beginning
_BACKSLASH = ord("\\")  # a number is found several times as fast as a text of one character
_ASCII_ESCAPE = re.compile(rb"\\u00([2-7][0-9a-fA-F])")

_VERBATIM = frozenset({"rawInput", "rawOutput"})
"""What a tool got and gave, to the byte: it is judged and shown as it is, and nobody reads `_meta` there."""


def may_hold(text: bytes) -> bool:
    """Whether one of our names may be in the text. Runs on all agent output: a search for plain bytes is
    twice as fast as a pattern.
    """
    if b"dragoman" in text and (b'"dragoman' in text or b'"_dragoman' in text):
        return True
    return _BACKSLASH in text and b"\\u00" in text and _find_escape(text) is not None


def strip(value: Any, *, edges: bool = False, keep: Container[str] | None = ()) -> bool:
    """Remove our names from every `_meta` in the value, in place; return whether there was one. `edges` keeps
    `dragoman/…` for an interpreter of ours next to the peer. `keep` names the members of `dragoman` to keep;
    None keeps all.
    """
    is_changed = False
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if isinstance(meta := item.get("_meta"), dict):
                is_changed |= _strip_meta(item, meta, edges=edges, keep=keep)
            waiting += [inner for name, inner in item.items() if name not in _VERBATIM]
        elif isinstance(item, list):
            waiting += item
    return is_changed


def _strip_meta(
    item: dict[str, Any], meta: dict[str, Any], *, edges: bool, keep: Container[str] | None
) -> bool:
    rest = {name: inner for name, inner in meta.items() if edges or not name.startswith(EDGES)}
    if keep is not None and META in rest:
        ours = rest.pop(META)
        kept = {name: inner for name, inner in ours.items() if name in keep} if isinstance(ours, dict) else {}
        if kept:
            rest[META] = kept
    if rest == meta:
        return False
    if rest:
        item["_meta"] = rest
    else:
        del item["_meta"]
    return True


def stripped(
    text: bytes, *, edges: bool = False, keep: Container[str] | None = (), anew: bool = False
) -> bytes:
    """Do the same for a JSON text, which is rewritten only if it has changed or if `anew` is true. Raises
    `UNREADABLE`; without `anew` also for too many values.
    """
    if not anew and text.count(b"[") + text.count(b"{") + text.count(b",") > MOST_VALUES:
        raise ValueError("too many values")
    value = msgspec.json.decode(text)
    is_changed = strip(value, edges=edges, keep=keep)
    written = msgspec.json.encode(value)
    # A member that is there twice: our parser takes the last, and another one may take the first.
    is_hidden = _count_names(text) > _count_names(written)
    return written if anew or is_changed or is_hidden else text


def _count_names(text: bytes) -> int:
    if b"\\u00" in text:
        text = _ASCII_ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()), text)
    return text.count(b'"dragoman') + text.count(b'"_dragoman')
