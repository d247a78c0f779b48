"""Exports turns as spans of OpenTelemetry. Only this module imports it, and only if spans are configured.

    turn (client) ── tool call …
                  └─ approval, under the tool call that it is about

The parent of a turn is whatever the client's prompt names in its `_meta`, and the agent is told of the turn
in the same way, so that a trace goes through from the editor to the tools of the agent. A turn that was open
when the hub went away is not told.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    TraceState,
)

from dragoman.errors import LocalMistake
from dragoman.version import VERSION
from dragoman_hub.api.observability.digest import ToolCallEntry
from dragoman_hub.api.observability.otel_variables import (
    EXPORT_SECONDS,
    HTTP,
    HUB,
    has_own_name,
    other_protocol,
)
from dragoman_hub.api.observability.trace_context import Meta, TraceContext, read_meta, with_context
from dragoman_hub.api.observability.usage import Tokens

log = logging.getLogger(__name__)

SCOPE = "dragoman_hub"

PROVIDERS = {
    "claude": "anthropic",
    "code": "dragoman",
    "codex": "openai",
    "copilot": "github.copilot",
    "echo": "dragoman",
    "gemini": "gcp.gemini",
    "grok": "x_ai",
    "review": "dragoman",
    "vibe": "mistral_ai",
}
"""The providers of well-known agents. Any other agent's own name is used as its provider: it does not report
which models it uses.
"""

MOST_SPANS = 2000
"""The most open tool calls and questions of one turn, for agents that never end one."""

MOST_TURNS = 256
"""The most open turns of one session: more than any queue holds, so that none is forgotten early."""


@dataclass
class _TurnSpan:
    span: Span
    context: Context
    calls: dict[str, Span] = field(default_factory=dict)
    questions: dict[str, Span] = field(default_factory=dict)

    def end(self) -> None:
        """End the span and all open spans within it, without an outcome."""
        for span in (*self.questions.values(), *self.calls.values()):
            span.set_attribute("dragoman.unfinished", True)
            span.end()
        self.span.end()


class OtelSpans:
    """See `spans.Spans`. With `is_owner` the provider ends with us."""

    def __init__(self, provider: TracerProvider, *, is_owner: bool) -> None:
        self._provider = provider
        self._is_owner = is_owner
        self._tracer = provider.get_tracer(SCOPE)
        self._turns: dict[str, dict[str, _TurnSpan]] = {}  # of each session by their keys, the oldest first

    def turn_started(self, session: str, key: str, meta: Meta, *, agent: str = "") -> Meta:
        turns = self._turns.setdefault(session, {})
        turn = turns.get(key)
        if turn is None:  # else it was sent again, and is the same turn
            turn = turns[key] = self._start(session, key, meta, agent)
        if len(turns) > MOST_TURNS:
            self._drop(session, next(iter(turns)))
        own = turn.span.get_span_context()
        if not own.is_valid:
            return meta
        state = tuple(own.trace_state.items())
        return with_context(meta, TraceContext(own.trace_id, own.span_id, int(own.trace_flags), state))

    def _start(self, session: str, key: str, meta: Meta, agent: str) -> _TurnSpan:
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": PROVIDERS.get(agent, agent),
            "gen_ai.agent.name": agent,
            "gen_ai.conversation.id": session,
            "dragoman.turn": key,
        }
        span = self._tracer.start_span(
            f"invoke_agent {agent}".strip(),
            context=_parent(read_meta(meta)),
            kind=SpanKind.CLIENT,
            attributes=attributes,
        )
        return _TurnSpan(span, trace.set_span_in_context(span, Context()))

    def turn_began(self, session: str, key: str) -> None:
        """Drop earlier turns of the queue that never began."""
        turns = self._turns.get(session, {})
        if key in turns:
            turns[key].span.add_event("began")  # what lies before it is the time in the queue
            for older in list(takewhile(lambda one: one != key, turns)):
                self._drop(session, older)

    def _running_span(self, session: str) -> _TurnSpan | None:
        """Prompts of a session are taken one after the other: the oldest is the one that runs."""
        return next(iter(self._turns.get(session, {}).values()), None)

    def _drop(self, session: str, key: str) -> None:
        turn = self._turns[session].pop(key)
        turn.span.set_attribute("dragoman.unfinished", True)
        turn.end()

    def tool(self, session: str, call: ToolCallEntry) -> None:
        turn = self._running_span(session)
        if turn is None:
            return  # an agent may go on behind its turn; nobody waits for that
        span = turn.calls.get(call.call)
        if span is None:
            if len(turn.calls) >= MOST_SPANS:
                return
            # The agent's title of it may quote what was said; its name, where there is one, does not.
            name = (call.name or call.kind or "other")[:50]
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.call.id": call.call[:256],
                "gen_ai.tool.name": name,
            }
            span = turn.calls[call.call] = self._tracer.start_span(
                f"execute_tool {name}", context=turn.context, attributes=attributes
            )
        if call.status in ("completed", "failed"):
            del turn.calls[call.call]
            _close(span, "dragoman.tool.status", call.status, is_failure=call.status == "failed")

    def question_asked(self, session: str, request: str, *, method: str = "", call: str = "") -> None:
        turn = self._running_span(session)
        if turn is None or request in turn.questions or len(turn.questions) >= MOST_SPANS:
            return
        about = turn.calls.get(call)
        context = turn.context if about is None else trace.set_span_in_context(about, Context())
        turn.questions[request] = self._tracer.start_span(
            "approval", context=context, attributes={"dragoman.method": method[:64]}
        )

    def question_settled(self, session: str, request: str, outcome: str) -> None:
        turn = self._running_span(session)
        span = None if turn is None else turn.questions.pop(request, None)
        if span is not None:
            _close(span, "dragoman.outcome", outcome, is_failure=False)

    def turn_ended(self, session: str, key: str, how: str, *, tokens: Tokens | None = None) -> None:
        turns = self._turns.get(session, {})
        turn = turns.pop(key, None)
        if turn is None:
            return  # it began before we did
        if not turns:
            del self._turns[session]
        turn.span.set_attribute("dragoman.stop_reason", how)
        if tokens is not None:
            turn.span.set_attribute("gen_ai.usage.input_tokens", tokens.input)
            turn.span.set_attribute("gen_ai.usage.output_tokens", tokens.output)
            if tokens.cached_read is not None:
                turn.span.set_attribute("gen_ai.usage.cache_read.input_tokens", tokens.cached_read)
            if tokens.cached_write is not None:
                turn.span.set_attribute("gen_ai.usage.cache_creation.input_tokens", tokens.cached_write)
        if how == "error":
            turn.span.set_attribute("error.type", "_OTHER")
            turn.span.set_status(Status(StatusCode.ERROR))
        turn.end()

    async def aclose(self) -> None:
        for session, turns in self._turns.items():
            for key in list(turns):
                self._drop(session, key)
        self._turns.clear()
        if self._is_owner:  # it waits for its thread, which waits for the collector
            await asyncio.to_thread(self._provider.shutdown)


def _close(span: Span, name: str, value: str, *, is_failure: bool) -> None:
    span.set_attribute(name, value)
    if is_failure:
        span.set_status(Status(StatusCode.ERROR))
    span.end()


def _parent(context: TraceContext | None) -> Context:
    """The parent of a turn: its client's span or none, never the context that is current here."""
    if context is None:
        return Context()
    remote = SpanContext(
        context.trace, context.span, True, TraceFlags(context.flags), TraceState(list(context.state))
    )
    return trace.set_span_in_context(NonRecordingSpan(remote), Context())


# The way to a collector.

TIMEOUTS = ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")
DEFAULT_COLLECTOR = "http://localhost:4318"


def provider_for(
    endpoint: str,
    environ: Mapping[str, str] | None = None,
    *,
    service: str = HUB,
    seconds: float = EXPORT_SECONDS,
) -> TracerProvider:
    """Return a provider that sends finished spans every few seconds from its own thread. Without our own
    endpoint, the variables of OpenTelemetry set it; their other settings (names, sampling, batches) apply
    too.
    """
    env = os.environ if environ is None else environ
    names = (
        {"service.version": VERSION}
        if has_own_name(env)
        else {"service.name": service, "service.version": VERSION}
    )
    provider = TracerProvider(resource=Resource.create(names))
    url = traces_url(endpoint) if endpoint else collector_url(env)
    if protocol := other_protocol(env):
        log.warning("spans are sent to %s as %s: %s is not supported here", url, HTTP, protocol)
    timeout = None if any(env.get(name) for name in TIMEOUTS) else seconds
    provider.add_span_processor(BatchSpanProcessor(LoggedExporter(url, seconds=timeout)))
    return provider


def collector_url(environ: Mapping[str, str]) -> str:
    """Return the span address from the variables of OpenTelemetry: a whole URL for traces, or the base of all
    signals.
    """
    if whole := environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        traces_url(whole)  # raises for what is not a URL
        return whole
    base = environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or DEFAULT_COLLECTOR
    traces_url(base)
    return f"{base.rstrip('/')}/v1/traces"


def traces_url(endpoint: str) -> str:
    """Return the URL for posting spans: an address without a path is a collector's, whose path is known."""
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise LocalMistake(f"{endpoint!r} is not an address of a collector: write http://HOST:4318")
    return endpoint if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}/v1/traces"


class LoggedExporter(SpanExporter):
    """Drops batches that cannot be sent, and logs the first failure only."""

    def __init__(self, url: str, *, seconds: float | None) -> None:
        self._exporter: SpanExporter = OTLPSpanExporter(url, timeout=seconds)
        self._logger = logging.getLogger(OTLPSpanExporter.__module__)
        self._filter = FirstFailure()
        self._logger.addFilter(self._filter)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        was_failing, self._filter.is_closed = self._filter.is_closed, result is not SpanExportResult.SUCCESS
        if self._filter.is_closed and not was_failing:
            log.warning("spans cannot be sent: the collector refuses them")
        elif was_failing and not self._filter.is_closed:
            log.info("spans are sent again")
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()
        self._logger.removeFilter(self._filter)


class FirstFailure(logging.Filter):
    """Lets the library log the first failed batch; resets when a batch was sent."""

    is_closed = False

    def filter(self, record: logging.LogRecord) -> bool:
        return not self.is_closed
