"""Text updates and the blocks in them, both ways.

Crow's messages and thoughts are texts. A block that is more than a text travels beside its text, whole, as
`content`; whoever reads only the text still learns that something was there.
"""

from __future__ import annotations

from dragoman.dialect.crow.ledger_notes import BESIDE, NOT_TEXT
from dragoman.dialect.crow.names import readable, to_camel, to_snake
from dragoman.dialect.ledger import Note
from dragoman.dialect.message import Json, Object, as_object, as_text

CHUNKS = {
    "agent_message_text": "agent_message_chunk",
    "agent_thought_text": "agent_thought_chunk",
    "user_message_text": "user_message_chunk",  # ours: crow replays everything and has no word for this
}
TEXTS = {chunk: text for text, chunk in CHUNKS.items()}


def read_text(update: Object) -> Object | None:
    text = update.get("text")
    if type(text) is not str:
        return None
    fields: Object = {"sessionUpdate": CHUNKS[update["@type"]], "content": _read_block(update, text)}
    if len(update) == 2:
        return fields
    if type(update.get("message_id")) is str:
        fields["messageId"] = update["message_id"]
    if type(update.get("_meta")) is dict:
        fields["_meta"] = update["_meta"]
    return fields


def write_text(update: Object, note: Note) -> Object | None:
    block = as_object(update.get("content"))
    text = flat(block)
    if text is None:
        return None
    fields: Object = {"@type": TEXTS[update["sessionUpdate"]], "text": text}
    if len(block) > 2 or block.get("type") != "text":
        note(BESIDE if block.get("type") == "text" else NOT_TEXT)
        fields["content"] = to_snake(block)
    if len(update) > 2:
        _write_rest(update, fields, note)
    return fields


def _write_rest(update: Object, fields: Object, note: Note) -> None:
    if type(update.get("messageId")) is str:
        note(BESIDE)
        fields["message_id"] = update["messageId"]
    if update.get("_meta"):
        note(BESIDE)
        fields["_meta"] = update["_meta"]


def _read_block(update: Object, text: str) -> Object:
    if "content" in update:
        block = to_camel(update["content"])
        if type(block) is dict and flat(block) == text and readable(block, "ContentBlock"):
            return block
    return {"type": "text", "text": text}


def flat(block: Object) -> str | None:
    """The plain text of a block; None if the value is not a block."""
    kind = block.get("type")
    if kind == "text":
        text = block.get("text")
        return text if type(text) is str else None
    if kind == "resource_link":
        return f"[{as_text(block.get('name'))}]({as_text(block.get('uri'))})"
    if kind == "resource":
        inner = as_object(block.get("resource"))
        return _describe(inner.get("text"), as_text(inner.get("uri")))
    if type(kind) is str:
        return f"[{kind} {as_text(block.get('mimeType'))}]"
    return None


def _describe(text: Json, uri: str) -> str:
    return f"[{uri}]\n{text}" if type(text) is str else f"[{uri}]"
