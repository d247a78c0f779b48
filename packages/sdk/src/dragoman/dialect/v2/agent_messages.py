"""Translates the messages of a session: v2's whole messages become v1's chunks.

A message is shown by its chunks and can grow; nothing that was shown can be taken back in v1. So a whole
message that says what its chunks said is silent, one that says more adds the rest, and any other is a loss.
"""

from __future__ import annotations

from dragoman.dialect.message import Object, as_object, as_text, without
from dragoman.dialect.v2.to_v1.content import block, blocks
from dragoman.dialect.v2.to_v1.fields import LossReporter, fits

WHOLE = {
    "user_message": "user_message_chunk",
    "agent_message": "agent_message_chunk",
    "agent_thought": "agent_thought_chunk",
}
CHUNKS = frozenset(WHOLE.values())

REMEMBERED = 64
"""The most messages per session whose text is remembered; of older messages, only that they were shown."""

_PLAIN = {"sessionUpdate", "messageId", "content"}
_TEXT = {"type", "text"}


class Messages:
    """The messages of one session."""

    def __init__(self, report: LossReporter) -> None:
        self._tell = report
        self._kinds: dict[str, str] = {}  # of which kind is the message that has this id
        self._messages: dict[tuple[str, str], _MessageText] = {}
        self._old: set[tuple[str, str]] = set()

    def chunk(self, update: Object) -> list[Object]:
        """Translate a chunk; the same update if nothing changes."""
        kind, message_id = update["sessionUpdate"], as_text(update.get("messageId"))
        content = block(update.get("content"), self._tell)
        if content is None:
            return []
        self._of(kind, message_id).add(content)
        v1_id = self._id(kind, message_id)
        if v1_id == update.get("messageId") and content is update["content"] and update.keys() == _PLAIN:
            return [update]
        update = {**update, "content": content}
        if not fits(update.get("_meta"), dict):
            update = without(update, "_meta")
        return [{**update, "messageId": v1_id} if v1_id else without(update, "messageId")]

    def whole(self, update: Object) -> list[Object]:
        kind, message_id = WHOLE[update["sessionUpdate"]], as_text(update.get("messageId"))
        message = self._of(kind, message_id)
        content_blocks = blocks(update.get("content"), self._tell)
        if "content" not in update or (not content_blocks and not message.parts):
            if as_object(update.get("_meta")):
                self._tell.note_loss("_meta of a message without content", "left out: v1 has no place for it")
            return []
        rest = None if (kind, message_id) in self._old else _rest(message.blocks(), content_blocks)
        if rest is None:
            self._tell.note_loss("a message changed after it was shown", "what was shown stays")
            return []
        v1_id = self._id(kind, message_id)
        id_member = {"messageId": v1_id} if v1_id else {}
        chunks: list[Object] = [{"sessionUpdate": kind, **id_member, "content": content} for content in rest]
        if chunks and not message.parts and as_object(update.get("_meta")):
            chunks[0]["_meta"] = update["_meta"]
        for content in rest:
            message.add(content)
        return chunks

    def _id(self, kind: str, message_id: str) -> str:
        """v2's ids are unique among messages of a kind, v1's in the session."""
        if not message_id or self._kinds.setdefault(message_id, kind) == kind:
            return message_id
        return f"{kind.removesuffix('_chunk')}:{message_id}"

    def _of(self, kind: str, message_id: str) -> _MessageText:
        key = (kind, message_id)
        message = self._messages.get(key)
        if message is None:
            message = self._messages[key] = _MessageText()
            if len(self._messages) > REMEMBERED:
                oldest = next(iter(self._messages))
                del self._messages[oldest]
                self._old.add(oldest)
        return message


class _MessageText:
    """What was shown of one message. Texts that follow each other are one text, however they were cut."""

    __slots__ = ("parts",)

    def __init__(self) -> None:
        self.parts: list[Object | list[str]] = []

    def add(self, content: Object) -> None:
        last = self.parts[-1] if self.parts else None
        if content.keys() != _TEXT:
            self.parts.append(content)
        elif type(last) is list:
            last.append(content["text"])
        else:
            self.parts.append([content["text"]])

    def blocks(self) -> list[Object]:
        return [
            {"type": "text", "text": "".join(part)} if type(part) is list else as_object(part)
            for part in self.parts
        ]


def _rest(shown_blocks: list[Object], blocks: list[Object]) -> list[Object] | None:
    """What `blocks` adds to `shown_blocks`; None if `blocks` does not begin with them."""
    if not shown_blocks:
        return blocks
    whole = _MessageText()
    for content in blocks:
        whole.add(content)
    all_blocks = whole.blocks()
    *before, last = shown_blocks
    if len(all_blocks) < len(shown_blocks) or all_blocks[: len(before)] != before:
        return None
    same_place, more = all_blocks[len(before)], all_blocks[len(shown_blocks) :]
    if same_place == last:
        return more
    if last.keys() == same_place.keys() == _TEXT and same_place["text"].startswith(last["text"]):
        return [{"type": "text", "text": same_place["text"][len(last["text"]) :]}, *more]
    return None
