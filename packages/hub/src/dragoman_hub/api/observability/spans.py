"""Spans: a turn as a trace, with its tool calls and its waiting time for people.

This is the face, which imports nothing. `NoSpans` is what a hub has by default and costs a call;
`open_spans` gives the one that tells an OpenTelemetry collector, and needs `dragoman[otel]`. Nothing that was
said is told, neither prompts nor titles nor paths: names of agents and tools' kinds, ids, outcomes, counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from dragoman.errors import LocalMistake
from dragoman_hub.api.observability.digest import ToolCallEntry, read_entry
from dragoman_hub.api.observability.otel_variables import EXPORT_SECONDS, HUB
from dragoman_hub.api.observability.trace_context import Meta
from dragoman_hub.api.observability.usage import Tokens
from dragoman_local.journal import StoredEntry

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider


class TurnSpans(Protocol):
    """Creates spans from the events of turns. It never raises an error, for any order of events."""

    def turn_started(self, session: str, key: str, meta: Meta, *, agent: str = "") -> Meta:
        """A prompt was accepted: returns the `_meta` for the agent. The prompt may have to wait for others of
        its session; tools and questions belong to the oldest unfinished one.
        """

    def turn_began(self, session: str, key: str) -> None:
        """The agent has received the prompt."""

    def tool(self, session: str, call: ToolCallEntry) -> None: ...
    def question_asked(self, session: str, request: str, *, method: str = "", call: str = "") -> None: ...
    def question_settled(self, session: str, request: str, outcome: str) -> None: ...
    def turn_ended(self, session: str, key: str, how: str, *, tokens: Tokens | None = None) -> None: ...
    async def aclose(self) -> None: ...


class NoSpans:
    """Does nothing, if spans are not configured."""

    def turn_started(self, session: str, key: str, meta: Meta, *, agent: str = "") -> Meta:
        return meta

    def turn_began(self, session: str, key: str) -> None:
        pass

    def tool(self, session: str, call: ToolCallEntry) -> None:
        pass

    def question_asked(self, session: str, request: str, *, method: str = "", call: str = "") -> None:
        pass

    def question_settled(self, session: str, request: str, outcome: str) -> None:
        pass

    def turn_ended(self, session: str, key: str, how: str, *, tokens: Tokens | None = None) -> None:
        pass

    async def aclose(self) -> None:
        pass


def update(spans: TurnSpans, session: str, frame: bytes) -> None:
    """Return a frame of the agent, for callers without a journal."""
    event = read_entry(StoredEntry(0, "to_client", frame, 0.0))
    if isinstance(event, ToolCallEntry):
        spans.tool(session, event)


def open_spans(
    endpoint: str = "",
    *,
    provider: TracerProvider | None = None,
    service: str = HUB,
    seconds: float = EXPORT_SECONDS,
) -> TurnSpans:
    """Return spans for the collector at `endpoint` (OTLP over HTTP), or for a given provider. A batch may
    take this many `seconds`, unless a variable of OpenTelemetry is set.
    """
    try:
        from dragoman_hub.api.observability.otel import OtelSpans, provider_for
    except ImportError:
        raise LocalMistake("traces need OpenTelemetry: pip install 'dragoman[otel]'") from None
    own = provider or provider_for(endpoint, service=service, seconds=seconds)
    return OtelSpans(own, is_owner=provider is None)
