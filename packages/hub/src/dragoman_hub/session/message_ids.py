"""Adds message ids for agents that send none.

Pieces of one kind that follow each other in a turn are one message, unless a tool call comes in between. Its
id is stored with every piece, so that a message has one id for ever: for whoever hears it live, reads it
again, joins in the middle of it, or comes back after a restart. An id that the agent gives stays.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Raw, Struct

from dragoman_hub.session.frames import (
    all_begin,
    encode_json,
    object_of,
    text_of,
    update_kind,
    update_start,
    value_of,
)

MESSAGE_KINDS = frozenset({b"agent_message_chunk", b"agent_thought_chunk", b"user_message_chunk"})
OWN_MESSAGE = "message-"
"""The prefix of ids that the hub generates. The number of the message's first entry follows."""

_MEMBER = b'"messageId"'
_ENDS = frozenset({b"tool_call", b"tool_call_update"})
"""Kinds of updates after which another message begins."""


def last_message_frame(session_id: str, frames: Sequence[bytes]) -> bytes:
    """Return the last of these updates that is a piece of a message, or ends one."""
    start = update_start(session_id)
    return next(
        (frame for frame in reversed(frames) if update_kind(frame, start) in MESSAGE_KINDS | _ENDS), b""
    )


class MessageIds(Struct):
    """The current message of a session."""

    turn: str = ""
    kind: bytes = b""
    id: str = ""
    begin: bytes = b""
    """The beginning of the message's pieces, and the place of the id after it."""
    member: bytes = b""

    @classmethod
    def after(cls, session_id: str, frame: bytes, *, turn: str, since: int) -> MessageIds:
        """Continue where an earlier hub stopped in a turn that began with entry `since`: after this update,
        if it belongs to the turn.
        """
        ids, update = cls(turn=turn), object_of(object_of(object_of(frame).get("params")).get("update"))
        kind, message_id = value_of(update.get("sessionUpdate")), value_of(update.get("messageId"))
        is_own = isinstance(message_id, str) and message_id.startswith(OWN_MESSAGE)
        number = message_id.removeprefix(OWN_MESSAGE) if is_own else ""
        is_of_turn = number.isascii() and number.isdigit() and int(number) > since
        if is_of_turn and isinstance(kind, str) and kind.encode() in MESSAGE_KINDS:
            ids._set_message(kind.encode(), message_id, update_start(session_id))
        return ids

    def stamp(self, session_id: str, frames: Sequence[bytes], *, turn: str, sequence: int) -> Sequence[bytes]:
        """Return the same updates, each piece of a message with an id; `sequence` is the
        number of the first.
        """
        pieces = self.go_on(frames, turn=turn)
        if pieces is not None:
            return pieces
        start = update_start(session_id)
        return [self._stamp(frame, start, number) for number, frame in enumerate(frames, sequence)]

    def go_on(self, frames: Sequence[bytes], *, turn: str) -> list[bytes] | None:
        """Return `stamp` for pieces that all continue the message, as nearly all do; None if they do not."""
        if turn != self.turn:
            self.turn, self.kind = turn, b""
        if not self.kind or not all_begin(frames, self.begin) or _MEMBER in text_of(frames):
            return None
        # Put together one by one: to replace such a long beginning in a text takes many times as long.
        head, size = self.begin + self.member, len(self.begin)
        return [head + frame[size:] for frame in frames]

    def _stamp(self, frame: bytes, start: bytes, sequence: int) -> bytes:
        kind = update_kind(frame, start)
        if kind is None:
            return self._stamp_otherwise(frame, start, sequence)
        if kind not in MESSAGE_KINDS:
            self._end(kind)
            return frame
        if _MEMBER in frame and "messageId" in object_of(object_of(object_of(frame)["params"])["update"]):
            self.kind = b""
            return frame
        self._begin(kind, sequence, start)
        end = len(self.begin)
        return frame[:end] + self.member + frame[end:]

    def _stamp_otherwise(self, frame: bytes, start: bytes, sequence: int) -> bytes:
        """A frame that is written in another way than most."""
        whole = object_of(frame)
        params = object_of(whole.get("params"))
        update = object_of(params.get("update"))
        name = value_of(update.get("sessionUpdate"))
        kind = name.encode() if isinstance(name, str) else b""
        if kind not in MESSAGE_KINDS or "messageId" in update:
            self._end(kind)
            return frame
        self._begin(kind, sequence, start)
        update["messageId"] = Raw(encode_json(self.id))
        return encode_json({**whole, "params": {**params, "update": update}})

    def _begin(self, kind: bytes, sequence: int, start: bytes) -> None:
        if kind != self.kind:
            self._set_message(kind, f"{OWN_MESSAGE}{sequence}", start)

    def _set_message(self, kind: bytes, message_id: str, start: bytes) -> None:
        self.kind, self.id = kind, message_id
        self.begin, self.member = start + kind + b'"', b',"messageId":%b' % encode_json(message_id)

    def _end(self, kind: bytes) -> None:
        if kind in _ENDS or kind in MESSAGE_KINDS:
            self.kind = b""
