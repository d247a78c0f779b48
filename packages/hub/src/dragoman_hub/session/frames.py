"""Frames as the hub reads them: their sender, their subject, and the position of a cursor.

What an agent sends is parsed once, where it enters (`sessions_of`); what is stored is valid JSON in UTF-8.
From there on, nearly everything is an update as every implementation writes it, recognised by how it begins.
Nothing here knows sessions or clients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from dragoman.decoders import json_decoder
from dragoman.schema.subagent_words import NAMES_IN_UPDATES
from dragoman.wire import Notification, decode, response
from dragoman.wire.decode import UNREADABLE_TEXT, is_utf8, without_half_pairs
from dragoman.wire.encode import one_line
from dragoman.wire.envelope import Id
from dragoman.wire.plain import PlainNotification

UPDATE = b'{"jsonrpc":"2.0","method":"session/update","params":{'

KEY_LENGTH = 128

encode_json = msgspec.json.Encoder().encode

_CARRIAGE_RETURN = ord("\r")  # a number is found several times as fast as a text of one character


class Subject(Struct, gc=False):
    """The param that names the session of a message."""

    session_id: str = field(name="sessionId", default="")


_subjects = json_decoder(Subject)
_read_plain = json_decoder(PlainNotification[str, Subject]).decode
_objects = json_decoder(dict[str, Raw])
_blocks = json_decoder(list[Raw])

LONGEST_ESCAPE = 12
"""The most bytes of a character in a JSON text: two surrogates."""


def session_of(params: Raw | None) -> str:
    """Return the session in params; empty if there is none."""
    try:
        return "" if params is None else _subjects.decode(params).session_id
    except UNREADABLE_TEXT:
        return ""


def sessions_of(block: bytes, lines: Sequence[bytes]) -> list[str]:
    """Return the session for each line of a block that is a notification; empty for any other line, and for
    one that can't be passed on unchanged (see `passable`).

    Every line is parsed here: one that has a name is valid JSON in valid UTF-8. The short way reads plain
    notifications without an envelope; it gives the same names as the long way, at a third of its price.
    """
    names: list[str] = []
    is_short = _CARRIAGE_RETURN not in block and (block.isascii() or is_utf8(block))
    for line in lines:
        try:
            names.append(_read_plain(line).params.session_id if is_short else _session_of_line(line))
        except UNREADABLE_TEXT:
            names.append(_session_of_line(line))
    return names


def _session_of_line(line: bytes) -> str:
    message = decode(line)
    if isinstance(message, Notification) and passable(line) == line:
        return session_of(message.params)
    return ""


def passable(frame: bytes) -> bytes:
    """Return a frame that `decode` accepts, as it is stored and passed on.

    A carriage return is white space for JSON, and the end of a line for server-sent events. Half of a
    surrogate pair is an escape that JSON can write and many parsers refuse; it is passed on as U+FFFD.
    """
    return without_half_pairs(one_line(frame.rstrip(b"\r")))


def no_result(method: str) -> str:
    """Return the reason why a call of this method failed, whose answer has no usable result."""
    return f"the agent's answer to {method} has neither a usable result nor an error"


def object_of(raw: bytes | Raw | UnsetType | None) -> dict[str, Raw]:
    """Return the members of an object, undecoded; none if it is not an object."""
    if raw is None or isinstance(raw, UnsetType):
        return {}
    try:
        return _objects.decode(raw)
    except UNREADABLE_TEXT:
        return {}


def value_of(raw: bytes | Raw | None, default: object = None) -> Any:
    """Return the value of a member, as plain values."""
    try:
        return default if raw is None else msgspec.json.decode(raw)
    except UNREADABLE_TEXT:
        return default


def prompt_texts(params: bytes | Raw, most: int) -> Iterator[str]:
    """Return the beginning of each text block of a prompt, up to `most` characters. A large text is not
    decoded: msgspec ends the process if there is not enough memory.
    """
    try:
        blocks = _blocks.decode(object_of(params).get("prompt", b"[]"))
    except UNREADABLE_TEXT:
        return
    for block in blocks:
        text = bytes(memoryview(object_of(block).get("text", b'""'))[: 1 + most * LONGEST_ESCAPE])
        # A text that is whole is read at once; a cut one may end within a character.
        ends = (text, *(text[: len(text) - cut] + b'"' for cut in range(LONGEST_ESCAPE)))
        words = next((words for end in ends if isinstance(words := value_of(end), str)), "")
        yield words[:most]


def ours_in(params: Mapping[str, Raw]) -> dict[str, Any]:
    """Return `_meta.dragoman`, which is only data."""
    meta = value_of(params.get("_meta"), {})
    ours = meta.get("dragoman") if isinstance(meta, dict) else None
    return ours if isinstance(ours, dict) else {}


def update_start(session_id: str) -> bytes:
    """Return the beginning of a session's updates, up to the update's own members."""
    return UPDATE + b'"sessionId":%b,"update":{"sessionUpdate":"' % encode_json(session_id)


def update_kind(frame: bytes, start: bytes) -> bytes | None:
    """Return the kind of an update; None if that needs a full parse."""
    if not frame.startswith(start):
        return None
    begin = len(start)
    return frame[begin : frame.find(b'"', begin)]


class BlockLines(list[bytes]):
    """The lines of a block, with the block itself as `text` for checks of all lines."""

    __slots__ = ("text",)

    def __init__(self, block: bytes) -> None:
        super().__init__(block.split(b"\n"))
        if not self[-1]:
            self.pop()
        self.text = block if block.endswith(b"\n") else block + b"\n"


def all_begin(frames: Sequence[bytes], *heads: bytes) -> bool:
    """Whether each frame begins with one of these, none of which begins with another. Much faster than one
    check for each. A `text` is searched as a whole.
    """
    if len(frames) == 1:
        return frames[0].startswith(heads)
    text: bytes | None = getattr(frames, "text", None)
    block = None if text is None else b"\n" + text
    remaining = len(frames)
    for head in heads:
        if block is None:
            size = len(head)
            remaining -= [frame[:size] for frame in frames].count(head)
        else:
            remaining -= block.count(b"\n" + head)
        if not remaining:
            return True
    return False


def text_of(frames: Sequence[bytes]) -> bytes:
    """Return frames without newlines, each with one after it; a block or a journal's page has that text
    already.
    """
    text: bytes | None = getattr(frames, "text", None)
    return b"\n".join((*frames, b"")) if text is None else text


def with_cursor(update: bytes, sequence: int) -> bytes:
    """Return `with_ours` for an update, the most frequent frame."""
    if b'"_meta"' in update:
        return with_ours(update, "params", {"cursor": str(sequence)})
    return b'%b"_meta":{"dragoman":{"cursor":"%d"}},%b' % (UPDATE, sequence, update[len(UPDATE) :])


def with_cursors(updates: Sequence[bytes], first: int) -> bytes:
    """Return the same for consecutive updates from `first` on without `_meta`, with newlines."""
    skip = len(UPDATE)
    form = UPDATE + b'"_meta":{"dragoman":{"cursor":"%d"}},%b\n'
    return b"".join([form % (sequence, update[skip:]) for sequence, update in enumerate(updates, first)])


def stable_result(result: bytes, *, usage: bool) -> bytes:
    """Return the result of a prompt; without `usage`, which the stable protocol lacks, unless requested."""
    if usage or b'"usage"' not in result:
        return result
    members = object_of(result)
    members.pop("usage", None)
    return encode_json(members)


STEERED_MESSAGE = "steer-"
"""The prefix of the `messageId` of a user's message into a running turn. Its key follows."""


def echoes(session_id: str, prompt: Sequence[Raw], key: str) -> list[bytes]:
    """Return a prompt as updates for clients that did not write it."""
    begin = update_start(session_id) + b'user_message_chunk","content":'
    end = b',"messageId":%b}}}' % encode_json(f"prompt-{key}")
    return [begin + bytes(block) + end for block in prompt]


def with_ours(frame: bytes, member: str, ours: Mapping[str, object]) -> bytes:
    """Return the frame with `_meta.dragoman` in its params or result. Existing members stay."""
    if member == "params" and frame.startswith(UPDATE) and b'"_meta"' not in frame:
        encoded_meta = encode_json({"dragoman": ours})
        return b'%b"_meta":%b,%b' % (UPDATE, encoded_meta, frame[len(UPDATE) :])
    whole = object_of(frame)
    members = object_of(whole.get(member))
    if member not in whole or (not members and value_of(whole[member]) not in ({}, None)):
        return frame  # it has no place for it
    whole[member] = Raw(encode_json(merge_ours(members, ours)))
    return encode_json(whole)


def merge_ours(params: Mapping[str, Raw], ours: Mapping[str, object]) -> dict[str, Any]:
    """Return params with further members of the hub in their `_meta`; a member that is UNSET is removed,
    whoever wrote it.
    """
    meta = value_of(params.get("_meta"), {})
    meta = meta if isinstance(meta, dict) else {}
    mine = meta.get("dragoman")
    mine = mine if isinstance(mine, dict) else {}
    whole = {name: value for name, value in {**mine, **ours}.items() if value is not UNSET}
    return {**params, "_meta": {**meta, "dragoman": whole}}


def with_session_id(frame: bytes, session_id: str) -> bytes:
    """Return the frame with another session id: an agent may use its own."""
    whole = object_of(frame)
    params = object_of(whole.get("params"))
    if "sessionId" not in params:
        return frame
    params["sessionId"] = Raw(encode_json(session_id))
    whole["params"] = Raw(encode_json(params))
    return encode_json(whole)


def may_name_sessions(text: bytes) -> bool:
    """Whether one of these frames may be an update that names another session."""
    return b'"subagent_' in text or b'"session_message' in text


def with_names(frame: bytes, name_of: Callable[[str], str]) -> bytes:
    """Return the frame with the hub's ids for other sessions in its update; `name_of` maps
    the agent's ids.
    """
    whole = object_of(frame)
    params = object_of(whole.get("params"))
    update = object_of(params.get("update"))
    changes: dict[str, Raw] = {}
    for member in NAMES_IN_UPDATES.get(str(value_of(update.get("sessionUpdate"))), ()):
        own = value_of(update.get(member))
        if isinstance(own, str) and (name := name_of(own)) != own:
            changes[member] = Raw(encode_json(name))
    if not changes:
        return frame
    params["update"] = Raw(encode_json({**update, **changes}))
    whole["params"] = Raw(encode_json(params))
    return encode_json(whole)


def key_in(ours: Mapping[str, object]) -> str:
    key = ours.get("key")
    return key if isinstance(key, str) and len(key) <= KEY_LENGTH else ""


def texts_in(ours: dict[str, Any], name: str) -> list[str]:
    items = ours.get(name)
    return [item for item in items if isinstance(item, str)] if isinstance(items, list) else []


def without_ours(params: dict[str, Raw]) -> dict[str, Raw]:
    """Return the message for an agent, without the hub's own members."""
    meta = value_of(params.get("_meta"))
    if not isinstance(meta, dict) or "dragoman" not in meta:
        return params
    rest = {name: value for name, value in meta.items() if name != "dragoman"}
    members = {name: raw for name, raw in params.items() if name != "_meta"}
    return {**members, "_meta": Raw(encode_json(rest))} if rest else members


def answer_frame(request_id: Id, result: Raw | None, error: object) -> bytes:
    """Return the answer to a request: its result, or without one its error."""
    if result is not None:
        return response(request_id, bytes(result))[:-1]
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (encode_json(request_id), encode_json(error))
