"""What an agent has said about its tool calls: a question about a call may name nothing but its id.

The latest calls are kept, bounded in number and in bytes. What a call said once stays known until it is
forgotten: neither an empty member nor the end of the call takes it back, so an agent cannot announce a
command and then ask for permission as if it had not. Once calls were forgotten, a request that names nothing
but an unknown id may mean one of them, and counts as a command that nobody can read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from msgspec import UNSET

from dragoman.schema import v1
from dragoman.schema.codec import write

MOST_CALLS: Final = 256
MOST_BYTES: Final = 1024 * 1024
"""How many calls are kept, and how many bytes of messages they may stand for."""

_MEMBERS: Final = ("kind", "title", "name", "content", "locations", "raw_input")

Announcement: TypeAlias = v1.ToolCall | v1.ToolCallProgress | v1.ToolCallUpdate


class ToolCalls:
    """The calls of any number of sessions, or of one."""

    def __init__(self) -> None:
        self._calls: OrderedDict[tuple[str, str], v1.ToolCallUpdate] = OrderedDict()
        self._sizes: dict[tuple[str, str], dict[str, int]] = {}  # member → size of the message that set it
        self._bytes = 0
        self._has_forgotten = False

    def on_update(self, notification: v1.SessionNotification) -> None:
        """For `Client.update`: called on the spot, and so before any request that came later."""
        update = notification.update
        if isinstance(update, v1.ToolCall | v1.ToolCallProgress):
            self.hear(notification.session_id, update, size=len(write(update)))

    def hear(self, session_id: str, update: Announcement, *, size: int) -> None:
        """Take in what a message of `size` bytes says about a call."""
        key = (session_id, update.tool_call_id)
        before = self._calls.pop(key, None)
        values = _values(update)
        self._calls[key] = _merged(before, update.tool_call_id, values)
        sizes = self._sizes.setdefault(key, {})
        self._bytes -= sum(sizes.values())
        sizes |= dict.fromkeys(values, size)
        self._bytes += sum(sizes.values())
        while len(self._calls) > MOST_CALLS or self._bytes > MOST_BYTES:
            oldest, _ = self._calls.popitem(last=False)
            self._bytes -= sum(self._sizes.pop(oldest).values())
            self._has_forgotten = True

    def known(self, session_id: str, call: v1.ToolCallUpdate) -> v1.ToolCallUpdate | None:
        """What was said before about the call of a request."""
        found = self._calls.get((session_id, call.tool_call_id))
        if found is None and self._has_forgotten and not _values(call).keys() - {"title"}:
            return v1.ToolCallUpdate(tool_call_id=call.tool_call_id, kind="execute")
        return found


def _values(update: Announcement) -> dict[str, Any]:
    """The members that say something."""
    values = {name: getattr(update, name) for name in _MEMBERS}
    return {name: value for name, value in values.items() if value is not UNSET and value}


def _merged(
    before: v1.ToolCallUpdate | None, tool_call_id: str, values: Mapping[str, Any]
) -> v1.ToolCallUpdate:
    """The call as it stands; members of its input that are not said again stay."""
    members = {} if before is None else {name: getattr(before, name) for name in _MEMBERS}
    old, new = members.get("raw_input"), values.get("raw_input")
    if isinstance(old, dict) and isinstance(new, dict):
        values = {**values, "raw_input": {**old, **new}}
    return v1.ToolCallUpdate(tool_call_id=tool_call_id, **{**members, **values})
