"""Remembers an agent's tool calls, because a permission request may name only a call's id.

The latest calls are kept, bounded in number and in bytes. What a call said once stays known until it is
forgotten: neither an empty member nor the end of the call takes it back, so an agent cannot announce a
command and then ask for permission as if it had not. Once calls were forgotten, a request that names nothing
but an unknown id may mean one of them, and counts as a command that nobody can read.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field
from msgspec.structs import astuple, replace

from dragoman.decoders import json_decoder
from dragoman.schema import v1
from dragoman.schema.codec import read, write
from dragoman.schema.errors import SchemaError
from dragoman_local.workspace.policy.tool_inputs import merge_inputs

MOST_CALLS: Final = 256
MOST_BYTES: Final = 1024 * 1024
"""The most calls to keep, and the most bytes of messages about them."""

MOST_IDS: Final = 16_384
"""The most calls that are only known as announced; above it, any id may be one."""

FORGOTTEN: Final = "(the agent's announcement of this call is no longer known)"

_MEMBERS: Final = ("kind", "title", "name", "content", "locations", "rawInput")
_EMPTY: Final = frozenset({b"", b"null", b"[]", b"{}", b'""'})


class CallUpdate(Struct, frozen=True):
    """An update about a tool call, with undecoded members."""

    kind: Raw = Raw(b"")
    title: Raw = Raw(b"")
    name: Raw = Raw(b"")
    content: Raw = Raw(b"")
    locations: Raw = Raw(b"")
    raw_input: Raw = field(name="rawInput", default=Raw(b""))
    call_id: str | UnsetType = field(name="toolCallId", default=UNSET)
    tag: str = field(name="sessionUpdate", default="")


_updates = json_decoder(CallUpdate)
_inputs = json_decoder(dict[str, Any])
_UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class ToolCalls:
    """The calls of any number of sessions, or of one. Updates are many and questions few, so messages are
    kept undecoded.
    """

    def __init__(self) -> None:
        self._calls: OrderedDict[tuple[str, str], dict[str, bytes]] = OrderedDict()
        self._bytes = 0
        self._forgotten: set[int] = set()

    def __bool__(self) -> bool:
        """Whether it has any content."""
        return bool(self._calls or self._forgotten)

    def on_update(self, notification: v1.SessionNotification) -> None:
        """For `Client.update`: called at once, so before any later request."""
        update = notification.update
        if isinstance(update, v1.ToolCall | v1.ToolCallProgress):
            self.hear(notification.session_id, Raw(write(update)))

    def hear(self, session_id: str, update: Raw) -> str:
        """Read an update about a call, and return the call; an unreadable one is ignored."""
        try:
            return self.take(session_id, _updates.decode(update))
        except _UNREADABLE:
            return ""

    def take(self, session_id: str, update: CallUpdate) -> str:
        """Take an update that was already read; one without a call is ignored."""
        name = update.call_id
        if name is UNSET:
            return ""
        call = self._calls.setdefault((session_id, name), {})
        self._calls.move_to_end((session_id, name))
        for member, value in zip(_MEMBERS, astuple(update), strict=False):
            # As bytes of its own: a part of a frame would keep the whole frame.
            if (after := bytes(value)) in _EMPTY:
                continue
            before = call.get(member, b"")
            if before and member == "rawInput":
                after = _merge_input(before, after)
            call[member] = after
            self._bytes += len(after) - len(before)
        while len(self._calls) > MOST_CALLS or self._bytes > MOST_BYTES:
            key, oldest = self._calls.popitem(last=False)
            self._bytes -= sum(map(len, oldest.values()))
            if len(self._forgotten) < MOST_IDS:
                self._forgotten.add(hash(key))
        return name

    def said(self, session_id: str, name: str) -> tuple[bytes, ...] | None:
        """Return the messages about a call, undecoded; empty for an unknown call. None if they may be
        forgotten.
        """
        fields = self._calls.get((session_id, name))
        if fields is None:
            return None if self._forgotten else ()
        return tuple(fields.get(member, b"") for member in _MEMBERS)

    def find_call(self, session_id: str, call: v1.ToolCallUpdate) -> v1.ToolCallUpdate | None:
        """Return earlier messages about the call of a request."""
        fields = self._calls.get((session_id, call.tool_call_id))
        unreadable = v1.ToolCallUpdate(tool_call_id=call.tool_call_id, kind="execute")
        if fields is None:
            if not (call.kind or call.name or call.content or call.locations or call.raw_input):
                return unreadable if self._forgotten else None  # an id and a title
            name = hash((session_id, call.tool_call_id))
            is_forgotten = name in self._forgotten or len(self._forgotten) == MOST_IDS
            return replace(unreadable, raw_input={"command": FORGOTTEN}) if is_forgotten else None
        try:
            members = {member: Raw(value) for member, value in tuple(fields.items())}
            return read(msgspec.json.encode({"toolCallId": call.tool_call_id, **members}), v1.ToolCallUpdate)
        except SchemaError:
            return unreadable


def _merge_input(before: bytes, after: bytes) -> bytes:
    """The present input of a call; members of it that are not said again stay."""
    if after.startswith(before[:-1]):
        return after
    try:
        return msgspec.json.encode(merge_inputs(_inputs.decode(before), _inputs.decode(after)))
    except _UNREADABLE:  # one of them is not an object, and the later one stands for itself
        return after
