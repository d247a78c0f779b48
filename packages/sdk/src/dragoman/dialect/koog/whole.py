"""Translates whole messages: koog sends a role and a list of blocks, v1 sends a chunk for each block.

Each chunk says in `_meta` which part of which message it is, so that a message can be said whole again. It is
made of the chunks as they arrive, not of a copy: whoever changed one in between is believed.
"""

from __future__ import annotations

from typing import Any

from dragoman.dialect.edge import Edge
from dragoman.dialect.koog.names import NAME, NO_BLOCK, PLAIN_TEXT, ROLE, UPDATE, WHOLE
from dragoman.dialect.message import Json, Message, Object, as_object, as_text, notification, update_of
from dragoman.dialect.originals import drop_original, keep, original_of

_KINDS = {"assistant": "agent_message_chunk", "user": "user_message_chunk"}

IN_ANSWER = "inAnswer"
"""Marks a message that the agent sends in the answer to the prompt, where a koog client expects it."""


def split(update: Object, params: Object, message_id: str, edge: Edge) -> list[Message]:
    """Split a whole message into chunks. `params` are the fields around it."""
    role = as_text(update.get("role", "assistant"))
    if role not in _KINDS:
        edge.note_repair(*ROLE)
    blocks = _blocks(update.get("content"), edge)
    shell = {name: value for name, value in update.items() if name != "content"}
    kind = _KINDS.get(role, _KINDS["assistant"])
    chunks: list[Object] = [
        {"sessionUpdate": kind, "messageId": message_id, "content": block} for block in blocks
    ]
    return [
        notification(UPDATE, {**params, "update": keep(chunk, NAME, _part(shell, number, len(chunks)))})
        for number, chunk in enumerate(chunks)
    ]


def _part(shell: Object, number: int, of: int) -> Object:
    return {"message": shell, "part": number, "of": of}


def _blocks(content: Json, edge: Edge) -> list[Object]:
    items: list[Any] = content if type(content) is list else [content]
    blocks: list[Object] = []
    for item in items:
        if type(item) is dict:
            blocks.append(item)
        elif type(item) is str:
            edge.note_repair(*PLAIN_TEXT)
            blocks.append({"type": "text", "text": item})
        else:
            edge.note_loss(*NO_BLOCK)
    return blocks


class MessageParts:
    """The parts of one message so far, in order and adjacent."""

    def __init__(self) -> None:
        self.parts: list[Message] = []

    def take(self, message: Message) -> list[Message]:
        """The updates to send now. A part is held until its message is complete or another update comes."""
        part = _part_of(message)
        messages: list[Message] = []
        if self.parts and not self._continues(message, part):
            messages, self.parts = [bare(part) for part in self.parts], []
        if part is None or part["part"] != len(self.parts):
            return [*messages, bare(message)]
        self.parts.append(message)
        if len(self.parts) == part["of"]:
            messages.append(self._join(part))
            self.parts = []
        return messages

    def _continues(self, message: Message, part: Object | None) -> bool:
        if part is None:
            return False
        first = self.parts[0]
        same = as_object(message.params).get("sessionId") == as_object(first.params).get("sessionId")
        same_message = update_of(message)["messageId"] == update_of(first)["messageId"]
        return same and same_message and part == {**(_part_of(first) or {}), "part": len(self.parts)}

    def _join(self, part: Object) -> Message:
        content = [update_of(part)["content"] for part in self.parts]
        update = {"sessionUpdate": WHOLE, **part["message"], "content": content}
        return notification(UPDATE, {**as_object(self.parts[0].params), "update": update})


def is_in_answer(message: Message) -> bool:
    """Whether a part belongs to a message that the answer repeats."""
    part = _part_of(message)
    return part is not None and part["message"].get(IN_ANSWER) is True


def _part_of(message: Message) -> Object | None:
    """Which part of which message it is, if it is one and nobody has made something else of it."""
    if message.method != UPDATE or not message.is_notification:
        return None
    update = update_of(message)
    part = as_object(original_of(update, NAME))
    shell = part.get("message")
    if type(shell) is not dict or type(part.get("part")) is not int or type(part.get("of")) is not int:
        return None
    kind = _KINDS.get(as_text(shell.get("role", "assistant")), _KINDS["assistant"])
    whole = update.get("sessionUpdate") == kind and type(update.get("content")) is dict
    return (
        part if whole and drop_original(update).keys() == {"sessionUpdate", "messageId", "content"} else None
    )


def bare(message: Message) -> Message:
    """Return the same update without the original that it was converted from."""
    update = update_of(message)
    if message.method != UPDATE or drop_original(update) is update:
        return message
    params = {**as_object(message.params), "update": drop_original(update)}
    return Message(message.jsonrpc, message.id, message.method, params)
