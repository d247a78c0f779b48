"""The spans of one run: the turn, and each tool call below it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.decoders import decode_json
from dragoman_app.apps.run import events
from dragoman_hub.api.observability.digest import ToolCallEntry
from dragoman_hub.api.observability.spans import TurnSpans
from dragoman_hub.api.observability.usage import Tokens

TURN = "run"
"""The key of the only turn."""


class RunSpans:
    """Tells a collector of the turn of a run; see `RunListener`."""

    def __init__(self, spans: TurnSpans, parent: Mapping[str, str]) -> None:
        self._spans = spans
        self._parent = parent
        self._agent = ""
        self._session_id = ""

    def on_prompt(self, session_id: str) -> Mapping[str, Any] | None:
        self._session_id = session_id
        meta = self._spans.turn_started(session_id, TURN, self._parent, agent=self._agent)
        self._spans.turn_began(session_id, TURN)
        return meta

    def on_event(self, event: events.AnyEvent) -> None:
        match event:
            case events.StartEvent() | events.HandoverEvent():
                self._agent = event.agent
            case events.ToolEvent():
                call = ToolCallEntry(event.id, event.kind, event.status, event.name or "")
                self._spans.tool(self._session_id, call)
            case events.EndEvent():
                self._on_end(event.stop_reason or "error", event.usage)

    def _on_end(self, how: str, usage: object) -> None:
        tokens = None
        if usage is not msgspec.UNSET:
            try:
                tokens = decode_json(msgspec.json.encode(usage), Tokens)
            except msgspec.MsgspecError:
                pass  # counts of the agent's own making
        self._spans.turn_ended(self._session_id, TURN, how, tokens=tokens)

    async def aclose(self) -> None:
        await self._spans.aclose()
