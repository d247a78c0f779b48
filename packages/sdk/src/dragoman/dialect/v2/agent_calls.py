"""Tool calls and terminals of a session: v2's upserts become v1's `tool_call` and `tool_call_update`.

The first that is heard of a call announces it. What v1 wants whole and v2 says in pieces (content that grows,
output of a terminal, `_meta`) is kept here and said whole.
"""

from __future__ import annotations

import binascii

from dragoman.dialect.message import Json, Object, as_list, as_object, as_text, without
from dragoman.dialect.shown_terminal import ShownTerminal, exit_text
from dragoman.dialect.v2.to_v1.fields import LossReporter, fits, patched_meta
from dragoman.dialect.v2.to_v1.tool_calls import changes, contents, fallback_title, terminals


class V2AgentToolCalls:
    """The tool calls of one session."""

    def __init__(self, report: LossReporter) -> None:
        self._tell = report
        self._calls: dict[str, _ToolCallState] = {}
        self._terminals: dict[str, V2Terminal] = {}
        self._shown_by: dict[str, str] = {}  # the call that shows a terminal
        self._waiting: dict[str, None] = {}  # terminals with output that is not told yet

    def knows(self, call_id: str) -> bool:
        return call_id in self._calls

    def upsert(self, update: Object) -> list[Object]:
        """Translate a `tool_call_update` into v1."""
        call_id = update.get("toolCallId")
        if not fits(call_id, str):
            self._tell.note_loss("a tool call without an id", "left out")
            return []
        is_new = call_id not in self._calls
        fields = self.members(update)
        if is_new:
            return [{"sessionUpdate": "tool_call", "toolCallId": call_id, **_complete(fields)}]
        if not fields:  # nothing that v1 has a word for
            return []
        return [{"sessionUpdate": "tool_call_update", "toolCallId": call_id, **fields}]

    def members(self, update: Object, *, made_up: bool = False) -> Object:
        """Return the fields of an upsert in v1, and remember them, unless the call is unknown and made up."""
        call_id = update["toolCallId"]
        call = self._calls.get(call_id)
        if call is None and made_up:
            return changes(update, self._text, self._tell)
        if call is None:
            call = self._calls[call_id] = _ToolCallState()
            update = {name: value for name, value in update.items() if value is not None}
        if "content" in update:
            call.content = [item for item in as_list(update["content"]) if as_object(item)]
            self._note_terminals(call_id, call)
        fields = changes(update, self._text, self._tell)
        if "_meta" in update:
            fields = call.with_meta(fields, update["_meta"])
        return fields

    def grow(self, update: Object) -> list[Object]:
        """Add one item of content, from a `tool_call_content_chunk`."""
        call_id, item = update.get("toolCallId"), as_object(update.get("content"))
        if not fits(call_id, str) or not item:
            self._tell.note_loss("a malformed piece of a tool call's content", "left out")
            return []
        if call_id not in self._calls:
            return self.upsert({"toolCallId": call_id, "content": [item]})
        call = self._calls[call_id]
        call.content.append(item)
        self._note_terminals(call_id, call)
        return [self._content(call_id)]

    def terminal(self, update: Object) -> list[Object]:
        """Translate a `terminal_update` or a `terminal_output_chunk`."""
        terminal_id = as_text(update.get("terminalId"))
        terminal = self._terminals.setdefault(terminal_id, V2Terminal())
        if update["sessionUpdate"] == "terminal_update":
            terminal.update(update, self._tell)
        else:
            terminal.add(update.get("data"), self._tell)
        if terminal_id not in self._shown_by:
            return []
        if terminal.has_grown:
            self._waiting.pop(terminal_id, None)
            return [self._content(self._shown_by[terminal_id])]
        if terminal.unsent:
            self._waiting[terminal_id] = None
        return []

    def rest(self) -> list[Object]:
        """Return updates with the terminal output that was held back."""
        if not self._waiting:
            return []
        calls = dict.fromkeys(self._shown_by[terminal_id] for terminal_id in self._waiting)
        self._waiting.clear()
        return [self._content(call_id) for call_id in calls]

    def unseen(self) -> None:
        """At the end, record terminal output that no tool call has shown."""
        if any(
            key not in self._shown_by and not terminal.is_empty for key, terminal in self._terminals.items()
        ):
            self._tell.note_loss(
                "a terminal that no tool call shows", "left out: v1 shows them in tool calls only"
            )

    def _content(self, call_id: str) -> Object:
        content = contents(self._calls[call_id].content, self._text, self._tell)
        return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "content": content}

    def _note_terminals(self, call_id: str, call: _ToolCallState) -> None:
        for terminal_id in terminals(call.content):
            self._shown_by.setdefault(terminal_id, call_id)

    def _text(self, terminal_id: str) -> str:
        self._waiting.pop(terminal_id, None)
        return self._terminals.setdefault(terminal_id, V2Terminal()).text()


class V2Terminal(ShownTerminal):
    """One terminal of one session."""

    def update(self, fields: Object, report: LossReporter) -> None:
        """Apply an upsert: absent fields keep their values."""
        if any(fields.get(name) for name in ("size", "capabilities", "_meta")):
            report.note_loss("size, capabilities and _meta of a terminal", "left out: v1 is shown its text")
        if "command" in fields:
            self.command = as_text(fields["command"])
        if "cwd" in fields:
            self.cwd = as_text(fields["cwd"])
        if "output" in fields:
            self.output.clear()
            self.add(as_object(fields["output"]).get("data", ""), report)
        if "exitStatus" in fields:
            status = as_object(fields["exitStatus"])
            self.exit = exit_text(status.get("exitCode"), status.get("signal"))
        self.unsent = max(self.unsent, len(self.output) or 1)

    def add(self, data: Json, report: LossReporter) -> None:
        """Add a chunk of output in base64."""
        try:
            more = binascii.a2b_base64(as_text(data), strict_mode=True)
        except ValueError:
            report.note_loss("terminal output that is not base64", "left out")
            return
        if self.append(more):
            report.note_loss("terminal output beyond 256 KiB", "only the end of it is shown")


class _ToolCallState:
    """What has to be remembered of one call."""

    __slots__ = ("content", "meta")

    def __init__(self) -> None:
        self.content: list[Object] = []
        self.meta: Object | None = None

    def with_meta(self, fields: Object, patch: object) -> Object:
        before = self.meta
        self.meta = patched_meta(before, patch)
        if self.meta == before:
            return fields
        return {**fields, "_meta": {**(self.meta or {}), **as_object(fields.get("_meta"))}}


def _complete(fields: Object) -> Object:
    """A first upsert, with the title that v1 wants."""
    return {"title": fallback_title(fields), **without(fields, "title")}
