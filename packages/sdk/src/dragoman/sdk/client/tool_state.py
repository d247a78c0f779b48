"""The current state of a tool call, merged from all its updates.

The first mention creates it, whichever kind of update that is: agents in the wild announce a call twice, or
never. Later ones change only the fields that they carry; lists are replaced as a whole. Of output that grows
and is sent again, one state holds one copy, and `fresh` what is new: whoever shows or stores that stays
linear.
"""

from __future__ import annotations

from msgspec import UNSET, Struct
from msgspec.structs import replace

from dragoman.schema import v1
from dragoman.sdk.growing_output import text_of

_FIELDS = ("title", "kind", "status", "name", "content", "locations", "raw_input", "raw_output")


class ToolState(Struct, frozen=True, kw_only=True):
    """One tool call.

        result = await session.prompt("Run the tests")
        for call in result.tool_calls.values():
            print(call.title, call.status)

    Specification: https://agentclientprotocol.com/protocol/v1/tool-calls
    """

    id: str
    title: str = ""
    kind: v1.ToolKind = "other"
    status: v1.ToolCallStatus = "pending"
    name: str | None = None
    content: list[v1.ToolCallContent] = []
    locations: list[v1.ToolCallLocation] = []
    raw_input: object = None
    raw_output: object = None
    fresh: str = ""
    """The new text in `content` since the previous update: agents resend growing output whole."""

    @classmethod
    def of(cls, update: v1.ToolCall | v1.ToolCallUpdate) -> ToolState:
        """Return the state after the first mention of a tool call."""
        return cls(id=update.tool_call_id).after(update)

    def after(self, update: v1.ToolCall | v1.ToolCallUpdate) -> ToolState:
        """Return the state after one more update; omitted fields keep their values."""
        # In version 1 null means the same as absent.
        changes = {
            name: value
            for name in _FIELDS
            if (value := getattr(update, name)) is not UNSET and value is not None
        }
        return replace(self, fresh=self._fresh(changes.get("content")), **changes)

    def _fresh(self, content: list[v1.ToolCallContent] | None) -> str:
        if not content:
            return ""
        before, now = text_of(self.content), text_of(content)
        return now[len(before) :] if now.startswith(before) else now
