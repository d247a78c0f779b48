"""`dragoman run`, with spans for a collector if the variables of OpenTelemetry are set.

The turn is a span, and each tool call one below it; the agent is told of the turn's in the `_meta` of the
prompt. `TRACEPARENT` of the environment is the parent, so that a job of CI has the run in its own trace.
Without such variables nothing of this is imported.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.decoders import decode_json
from dragoman.errors import LocalMistake
from dragoman_app.apps.console import say
from dragoman_app.apps.run import events
from dragoman_app.apps.run.command import run as run_command
from dragoman_hub.api.observability.digest import ToolCallEntry
from dragoman_hub.api.observability.otel_variables import are_spans_wanted, parent_of
from dragoman_hub.api.observability.spans import TurnSpans
from dragoman_hub.api.observability.usage import Tokens

SERVICE = "dragoman-run"

EXPORT_SECONDS = 2.0
"""The most seconds for exporting: a user waits for the end of the run. `OTEL_EXPORTER_OTLP_TIMEOUT` overrides
it.
"""


def run(args: argparse.Namespace) -> int:
    """Return the exit status; see the help."""
    if not are_spans_wanted(os.environ):
        return run_command(args)
    return run_command(args, open_listener=_open_spans)


def _open_spans() -> RunSpans | None:
    from dragoman_hub.api.observability.spans import open_spans

    try:
        return RunSpans(open_spans(service=SERVICE, seconds=EXPORT_SECONDS), parent_of(os.environ))
    except LocalMistake as error:  # the variables are for every program; this one runs without spans too
        say(f"dragoman run: no spans are sent: {error}", file=sys.stderr, flush=True)
        return None


# The spans of one run: the turn, and each tool call below it.

TURN = "run"
"""The key of the only turn."""


class RunSpans:
    """Reports the turn of a run to a collector; see `RunListener`."""

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
