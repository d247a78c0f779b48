"""Turns the updates of a session into events.

It keeps what an event needs and an update does not carry: the title and the status of a tool call that was
announced before, and the texts of terminals and tool calls that agents resend whole. It neither prints nor
waits.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import UNSET

from dragoman.schema import v1
from dragoman.schema.base import Unknown
from dragoman.schema.codec import write
from dragoman.sdk.client.tool_state import ToolState
from dragoman_app.apps.run import events
from dragoman_app.apps.run.events import InnerEvent, Phase

_BROUGHT = ("content", "locations", "raw_input", "raw_output")


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def raw(message: object) -> msgspec.Raw:
    """Return a message of the protocol as on the wire, with unknown fields."""
    return msgspec.Raw(write(message))


class Narrator:
    """Turns the updates of one session into events."""

    def __init__(self) -> None:
        self.tools: dict[str, ToolState] = {}

    def tell(self, update: v1.SessionUpdate, phase: Phase = "turn") -> InnerEvent:
        match update:
            case v1.AgentMessageChunk():
                return _chunk(events.TextEvent, "agent", update, phase)
            case v1.AgentThoughtChunk():
                return _chunk(events.ThoughtEvent, "thought", update, phase)
            case v1.UserMessageChunk():
                return _chunk(events.UserEvent, "user", update, phase)
            case v1.ToolCall() | v1.ToolCallProgress():
                return self._tool(update, phase)
            case _:
                return _settings_event(update, phase)

    def _tool(self, update: v1.ToolCall | v1.ToolCallProgress, phase: Phase) -> InnerEvent:
        before = self.tools.get(update.tool_call_id)
        state = ToolState.of(update) if before is None else before.after(update)
        # The content is the update's own business: keeping it would keep every resent output as well.
        self.tools[state.id] = msgspec.structs.replace(state, content=[], raw_input=None, raw_output=None)
        brought = {name: value for name in _BROUGHT if (value := getattr(update, name)) not in (UNSET, None)}
        return events.ToolEvent(
            time=now(),
            phase=phase,
            id=state.id,
            title=state.title,
            kind=state.kind,
            status=state.status,
            name=state.name,
            **{name: raw(value) for name, value in brought.items()},
        )


def _chunk(
    kind: type[events.TextEvent] | type[events.ThoughtEvent] | type[events.UserEvent],
    role: Any,
    update: v1.AgentMessageChunk | v1.AgentThoughtChunk | v1.UserMessageChunk,
    phase: Phase,
) -> InnerEvent:
    message_id = update.message_id or None
    if isinstance(update.content, v1.TextContent):
        return kind(time=now(), phase=phase, text=update.content.text, message_id=message_id)
    return events.ContentEvent(
        time=now(), phase=phase, role=role, block=raw(update.content), message_id=message_id
    )


def _settings_event(update: v1.SessionUpdate, phase: Phase) -> InnerEvent:
    match update:
        case v1.Plan(entries=entries) | v1.PlanUpdate(plan=v1.PlanItems(entries=entries)):
            return events.PlanEvent(time=now(), phase=phase, entries=raw(entries))
        case v1.UsageUpdate():
            cost = UNSET if update.cost in (UNSET, None) else raw(update.cost)
            return events.UsageEvent(time=now(), phase=phase, used=update.used, size=update.size, cost=cost)
        case v1.Notice():
            return events.NoticeEvent(
                time=now(),
                phase=phase,
                severity=update.severity,
                title=update.title,
                description=update.description or None,
            )
        case Unknown(tag=tag):
            return events.UpdateEvent(time=now(), phase=phase, kind=tag, update=update.raw)
        case _:
            kind = str(update.__struct_config__.tag)
            return events.UpdateEvent(time=now(), phase=phase, kind=kind, update=raw(update))
