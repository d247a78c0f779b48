"""Translates chunks and messages of this dialect to v1's content blocks and updates, and back.

{"type": "text", "chunk": "…"}    ↔    {"type": "text", "text": "…"}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from dragoman.dialect.ledger import LedgerNote
from dragoman.dialect.message import Json, Message, Object, as_list, as_object, as_text, notification
from dragoman.dialect.threads.ledger_notes import Lost, RepairNotes

Note: TypeAlias = Callable[[LedgerNote], None]

UPDATE_OF_ROLE = {"user": "user_message_chunk", "assistant": "agent_message_chunk"}
ROLE_OF_UPDATE = {update: role for role, update in UPDATE_OF_ROLE.items()}


def chunk(text: str) -> Object:
    return {"type": "text", "chunk": text}


def block(text: str) -> Object:
    return {"type": "text", "text": text}


def text_of_chunk(value: Json) -> str | None:
    """Return the text of a chunk; None if it is not a text chunk."""
    fields = as_object(value)
    text = fields.get("chunk")
    return text if fields.get("type") == "text" and type(text) is str else None


def text_of_block(value: Json) -> str | None:
    fields = as_object(value)
    text = fields.get("text")
    return text if fields.get("type") == "text" and type(text) is str else None


def blocks_of(message: Json) -> list[Object] | None:
    """Return the blocks of a user's message; None if the dialect does not define a part: half a prompt is
    another prompt.
    """
    chunks = as_object(message).get("chunks")
    if type(chunks) is not list:
        return None
    texts = [text_of_chunk(chunk) for chunk in chunks]
    return None if None in texts else [block(text) for text in texts if text is not None]


def chunks_of(prompt: Json, note: Note) -> list[Object]:
    """Return a prompt as chunks. Every agent must understand text and links; other content
    was not offered.
    """
    chunks = []
    for block in as_list(prompt):
        text = text_of_block(block)
        fields = as_object(block)
        if text is None and fields.get("type") == "resource_link":
            note(RepairNotes.LINKS)
            text = f"[{as_text(fields.get('name')) or 'file'}]({as_text(fields.get('uri'))})"
        if text is None:
            note(Lost.OTHER_CONTENT)
        else:
            chunks.append(chunk(text))
    return chunks


def chunk_update(thread: str, role: str, text: str, message_id: str | None = None) -> Message:
    """Convert one chunk of a message to an update."""
    update: Object = {"sessionUpdate": UPDATE_OF_ROLE[role], "content": block(text)}
    if message_id is not None:
        update["messageId"] = message_id
    return notification("session/update", {"sessionId": thread, "update": update})


def file_read(thread: str, call_id: str, path: str, text: str) -> Message:
    """Show a file that was read as a finished tool call."""
    update: Object = {
        "sessionUpdate": "tool_call",
        "toolCallId": call_id,
        "title": f"Read {path}",
        "kind": "read",
        "status": "completed",
        "locations": [{"path": path}],
        "content": [{"type": "content", "content": block(text)}],
    }
    return notification("session/update", {"sessionId": thread, "update": update})


def text_of_call(content: Json) -> str | None:
    """Return the text in a tool call; None if there is none."""
    texts = []
    for item in as_list(content):
        inner = as_object(as_object(item).get("content"))
        text = text_of_block(inner)
        if text is None and inner.get("type") == "resource":
            resource_text = as_object(inner.get("resource")).get("text")
            text = resource_text if type(resource_text) is str else None
        if text is not None:
            texts.append(text)
    return "".join(texts) if texts else None


def replay_updates(thread: str, entries: Json, note: Note) -> list[Message]:
    """Convert a thread's entries to the updates of a loaded session, in order.

    An entry is named by its place, so that it has the same name whenever the thread is loaded.
    """
    updates: list[Message] = []
    for number, entry in enumerate(as_list(entries), 1):
        fields, name = as_object(entry), f"entry-{number}"
        if fields.get("type") == "readFile":
            path, text = as_text(fields.get("path")), as_text(fields.get("content"))
            updates.append(file_read(thread, name, path, text))
        elif fields.get("type") == "message" and fields.get("role") in ("user", "assistant"):
            updates += _message(thread, fields, name, note)
        else:
            note(Lost.ENTRIES)
    return updates


def _message(thread: str, fields: Object, message_id: str, note: Note) -> list[Message]:
    updates = []
    for field in as_list(fields.get("chunks")):
        text = text_of_chunk(field)
        if text is None:
            note(Lost.CHUNKS)
        else:
            updates.append(chunk_update(thread, fields["role"], text, message_id))
    return updates
