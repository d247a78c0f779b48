"""Turns as spans: with the SDK's own exporter in memory, and through OTLP to a collector."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from dragoman.errors import LocalMistake
from dragoman_hub.api.observability.digest import ToolCallEntry
from dragoman_hub.api.observability.observer import Observer
from dragoman_hub.api.observability.otel import (
    MOST_SPANS,
    MOST_TURNS,
    collector_url,
    provider_for,
    traces_url,
)
from dragoman_hub.api.observability.otel_variables import are_spans_off, are_spans_wanted, other_protocol
from dragoman_hub.api.observability.spans import NoSpans, TurnSpans, open_spans, update
from dragoman_hub.api.observability.trace_context import read_meta
from dragoman_hub.api.observability.usage import Tokens
from dragoman_hub.runner import _spans as hub_spans
from dragoman_hub.settings import HubSettings
from dragoman_local.journal import MemoryJournal
from tests.hub.api.observability import fakes
from tests.hub.api.observability.collector import Collector

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


class Told:
    """Spans, and what became of them."""

    def __init__(self) -> None:
        self._memory = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._memory))
        self.spans: TurnSpans = open_spans(provider=provider)

    def __getitem__(self, name: str) -> ReadableSpan:
        found = [span for span in self._memory.get_finished_spans() if span.name == name]
        assert len(found) == 1, (name, [span.name for span in self._memory.get_finished_spans()])
        return found[0]

    def __len__(self) -> int:
        return len(self._memory.get_finished_spans())


def parent_of(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def id_of(span: ReadableSpan) -> int:
    context = span.get_span_context()
    assert context is not None
    return context.span_id


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_a_turn_is_a_span_with_its_tools_and_waits_inside() -> None:
    told = Told()
    spans = told.spans
    spans.turn_started("s", "k", None, agent="review")
    spans.tool("s", ToolCallEntry("c1", "edit", "pending"))
    spans.question_asked("s", "4", method="session/request_permission", call="c1")
    spans.question_asked("s", "5", method="elicitation/create")
    spans.question_settled("s", "4", "answered")
    spans.tool("s", ToolCallEntry("c1", "", "failed"))
    spans.turn_ended("s", "k", "end_turn", tokens=Tokens(total=3, input=1, output=2))
    turn, tool = told["invoke_agent review"], told["execute_tool edit"]
    assert (turn.kind, turn.parent) == (SpanKind.CLIENT, None)
    assert attributes(turn) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "dragoman",
        "gen_ai.agent.name": "review",
        "gen_ai.conversation.id": "s",
        "dragoman.turn": "k",
        "dragoman.stop_reason": "end_turn",
        "gen_ai.usage.input_tokens": 1,
        "gen_ai.usage.output_tokens": 2,
    }
    assert parent_of(tool) == id_of(turn)
    assert tool.status.status_code is StatusCode.ERROR
    waits = {
        attributes(span)["dragoman.method"]: span
        for span in told._memory.get_finished_spans()
        if span.name == "approval"
    }
    assert parent_of(waits["session/request_permission"]) == id_of(tool)
    assert attributes(waits["session/request_permission"])["dragoman.outcome"] == "answered"
    assert parent_of(waits["elicitation/create"]) == id_of(turn)
    assert attributes(waits["elicitation/create"])["dragoman.unfinished"] is True


def test_the_clients_context_is_the_parent_and_the_agent_is_told_of_ours() -> None:
    told = Told()
    meta = {"traceparent": f"00-{TRACE}-{SPAN}-01", "tracestate": "rojo=1", "dragoman": {"key": "k"}, "x": 1}
    passed = told.spans.turn_started("s", "k", meta, agent="a")
    told.spans.turn_ended("s", "k", "end_turn")
    turn = told["invoke_agent a"]
    assert parent_of(turn) == int(SPAN, 16)
    assert passed == {
        "dragoman": {"key": "k"},
        "x": 1,
        "traceparent": f"00-{TRACE}-{id_of(turn):016x}-01",
        "tracestate": "rojo=1",
    }


@pytest.mark.parametrize("meta", [None, {}, {"traceparent": "00-0-0-00", "tracestate": "rojo=1"}])
def test_garbage_begins_a_trace_of_our_own(meta: dict[str, Any] | None) -> None:
    told = Told()
    passed = read_meta(told.spans.turn_started("s", "k", meta, agent="a"))
    told.spans.turn_ended("s", "k", "error")
    turn = told["invoke_agent a"]
    assert turn.parent is None
    assert passed is not None
    assert (passed.span, passed.state) == (id_of(turn), ())
    assert turn.status.status_code is StatusCode.ERROR


def test_a_trace_that_nobody_samples_is_passed_on_and_not_told() -> None:
    told = Told()
    passed = read_meta(told.spans.turn_started("s", "k", {"traceparent": f"00-{TRACE}-{SPAN}-00"}, agent="a"))
    told.spans.turn_ended("s", "k", "end_turn")
    assert passed is not None
    assert (f"{passed.trace:032x}", passed.flags, len(told)) == (TRACE, 0, 0)


async def test_what_comes_in_the_wrong_order_does_no_harm() -> None:
    told = Told()
    spans = told.spans
    spans.tool("s", ToolCallEntry("c", "read", "completed"))
    spans.question_asked("s", "1")
    spans.question_settled("s", "1", "answered")
    spans.turn_began("s", "k")
    spans.turn_ended("s", "k", "end_turn")
    assert len(told) == 0
    spans.turn_started("s", "k", None, agent="a")
    for number in range(MOST_SPANS + 10):
        spans.tool("s", ToolCallEntry(str(number), "read", ""))
    await spans.aclose()
    assert len(told) == 1 + MOST_SPANS
    assert attributes(told["invoke_agent a"])["dragoman.unfinished"] is True


def test_a_prompt_that_waits_leaves_the_turn_before_it_alone() -> None:
    told = Told()
    spans = told.spans
    first = spans.turn_started("s", "k1", None, agent="first")
    spans.turn_began("s", "k1")
    spans.turn_started("s", "k2", None, agent="second")
    spans.turn_started("s", "k3", None, agent="withdrawn")
    assert spans.turn_started("s", "k1", None, agent="first") == first  # sent again
    spans.turn_ended("s", "k3", "cancelled")
    spans.tool("s", ToolCallEntry("c", "read", "completed"))
    spans.turn_ended("s", "k1", "end_turn")
    spans.turn_began("s", "k2")
    spans.tool("s", ToolCallEntry("d", "edit", "completed"))
    spans.turn_ended("s", "k2", "end_turn")
    assert parent_of(told["execute_tool read"]) == id_of(told["invoke_agent first"])
    assert parent_of(told["execute_tool edit"]) == id_of(told["invoke_agent second"])
    assert [event.name for event in told["invoke_agent second"].events] == ["began"]
    assert told["invoke_agent withdrawn"].events == ()


def test_turns_whose_end_nobody_told_do_not_stand_in_the_way() -> None:
    told = Told()
    spans = told.spans
    spans.turn_started("s", "lost", None, agent="lost")
    spans.turn_started("s", "k", None, agent="a")
    spans.turn_began("s", "k")
    assert attributes(told["invoke_agent lost"])["dragoman.unfinished"] is True
    spans.tool("s", ToolCallEntry("c", "read", "completed"))
    spans.turn_ended("s", "k", "end_turn")
    assert parent_of(told["execute_tool read"]) == id_of(told["invoke_agent a"])
    for number in range(MOST_TURNS + 5):
        spans.turn_started("s", str(number), None, agent="never")
    assert len(told) == 3 + 5


async def test_a_watched_journal_gives_the_same_spans() -> None:
    told = Told()
    observer = Observer(spans=told.spans)
    journal = observer.measure(MemoryJournal())
    observer.prompt("s", "k", None, "review")
    await fakes.live(journal, [fakes.note("made", agent="review"), fakes.prompt("k")])
    await fakes.live(
        journal,
        [
            fakes.update("tool_call", toolCallId="c", kind="execute", status="in_progress"),
            fakes.ask(toolCall={"toolCallId": "c"}),
            fakes.note("settled", request="4", outcome="expired"),
            fakes.update("tool_call_update", toolCallId="c", status="completed"),
            fakes.answer(stopReason="refusal", usage={"inputTokens": 5}),
            fakes.note("turn_ended", key="k", result={"stopReason": "refusal"}),
        ],
    )
    await observer.aclose()
    assert attributes(told["approval"])["dragoman.outcome"] == "expired"
    assert parent_of(told["approval"]) == id_of(told["execute_tool execute"])
    turn = attributes(told["invoke_agent review"])
    assert (turn["dragoman.stop_reason"], turn["gen_ai.usage.input_tokens"]) == ("refusal", 5)


def test_frames_can_be_given_one_by_one() -> None:
    told = Told()
    told.spans.turn_started("s", "k", None, agent="a")
    update(told.spans, "s", fakes.update("tool_call", toolCallId="c", kind="read", status="completed").frame)
    update(told.spans, "s", b"nonsense")
    assert attributes(told["execute_tool read"])["gen_ai.tool.call.id"] == "c"


async def test_nothing_is_changed_when_nobody_looks() -> None:
    spans = NoSpans()
    meta = {"traceparent": "anything"}
    assert spans.turn_started("s", "k", meta, agent="a") is meta
    spans.turn_ended("s", "k", "end_turn")
    await spans.aclose()


def test_who_has_no_spans_does_not_load_what_they_need() -> None:
    program = (
        "import sys, dragoman_hub.api.observability.observer, dragoman_hub.api.observability.asgi\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# OTLP.


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")  # the collector is here


@pytest.mark.bound(30)
async def test_a_collector_has_all_spans_when_the_hub_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20key")
    with Collector().running() as collector:
        spans = open_spans(collector.address)
        spans.turn_started("s", "k", {"traceparent": f"00-{TRACE}-{SPAN}-01", "tracestate": "r=1"}, agent="a")
        spans.turn_ended("s", "k", "error", tokens=Tokens(total=3, input=1, output=2))
        await spans.aclose()
    ((path, authorization, body),) = collector.posted
    assert (path, authorization) == ("/v1/traces", "Bearer key")
    (resource,) = body.resource_spans
    assert {one.key: one.value.string_value for one in resource.resource.attributes}["service.name"] == (
        "dragoman-hub"
    )
    (scope,) = resource.scope_spans
    (span,) = scope.spans
    assert scope.scope.name == "dragoman_hub"
    assert (span.trace_id.hex(), span.parent_span_id.hex(), span.kind) == (TRACE, SPAN, 3)
    assert (span.status.code, span.trace_state) == (2, "r=1")
    assert span.end_time_unix_nano >= span.start_time_unix_nano > 0
    values = {one.key: one.value for one in span.attributes}
    assert values["dragoman.turn"].string_value == "k"
    assert values["gen_ai.usage.output_tokens"].int_value == 2


def test_a_failing_collector_is_logged_once_until_it_works_again(caplog: pytest.LogCaptureFixture) -> None:
    with Collector().running() as collector, caplog.at_level("INFO"):
        provider = provider_for(collector.address)
        collector.status = 400  # one that is not tried again
        for number in range(6):
            if number == 3:
                collector.status = 200
            provider.get_tracer("t").start_span("s").end()
            provider.force_flush()
        provider.shutdown()
    assert len(collector.posted) == 6
    lines = [record.getMessage() for record in caplog.records]
    assert len([line for line in lines if "400" in line]) == 1
    assert lines[-2:] == ["spans cannot be sent: the collector refuses them", "spans are sent again"]


def test_variables_of_opentelemetry_hold() -> None:
    assert collector_url({}) == "http://localhost:4318/v1/traces"
    assert collector_url({"OTEL_EXPORTER_OTLP_ENDPOINT": "https://c/otlp/"}) == "https://c/otlp/v1/traces"
    both = {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://c", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://t/x"}
    assert collector_url(both) == "https://t/x"
    with pytest.raises(LocalMistake, match="collector"):
        collector_url({"OTEL_EXPORTER_OTLP_ENDPOINT": "c:4318"})
    assert are_spans_off({"OTEL_SDK_DISABLED": "TRUE"})
    assert are_spans_off({"OTEL_TRACES_EXPORTER": "none"})
    assert not are_spans_off({"OTEL_SDK_DISABLED": "false", "OTEL_TRACES_EXPORTER": "otlp"})


def test_variables_alone_ask_for_spans() -> None:
    collector = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}
    assert are_spans_wanted(collector)
    assert are_spans_wanted({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"})
    assert are_spans_wanted({"OTEL_TRACES_EXPORTER": "console, otlp"})
    for off in (
        {},
        {"OTEL_SERVICE_NAME": "mine"},
        collector | {"OTEL_SDK_DISABLED": "true"},
        collector | {"OTEL_TRACES_EXPORTER": "none"},
        collector | {"OTEL_TRACES_EXPORTER": "console"},
    ):
        assert not are_spans_wanted(off)
    assert other_protocol({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}) == "grpc"
    assert other_protocol({"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}) == ""


async def test_a_hub_sends_spans_with_variables_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = HubSettings()
    assert hub_spans(settings) is None
    with Collector().running() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
        spans = hub_spans(settings)
        assert spans is not None
        spans.turn_started("s", "k", None, agent="claude")
        spans.tool("s", ToolCallEntry("c", "execute", "completed", "Bash"))
        spans.turn_ended("s", "k", "end_turn")
        await spans.aclose()
    ours = collector.spans
    assert ours["invoke_agent claude"]["gen_ai.provider.name"] == "anthropic"
    assert ours["execute_tool Bash"]["gen_ai.tool.name"] == "Bash"
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert hub_spans(settings) is None


def test_a_hub_without_the_extra_runs_though_variables_ask_for_spans(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "dragoman_hub.api.observability.otel", None)
    assert hub_spans(HubSettings()) is None
    assert "dragoman[otel]" in caplog.text


def test_the_environment_may_name_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
    provider = provider_for("http://127.0.0.1:9")
    assert provider.resource.attributes["service.name"] == "mine"
    provider.shutdown()


def test_failures_and_cached_tokens_have_the_names_of_the_conventions() -> None:
    told = Told()
    told.spans.turn_started("s", "k", None, agent="a")
    told.spans.tool("s", ToolCallEntry("c", "edit", "completed"))
    told.spans.turn_ended("s", "k", "error", tokens=Tokens(cached_read=3, cached_write=4))
    turn = attributes(told["invoke_agent a"])
    assert turn["error.type"] == "_OTHER"
    assert turn["gen_ai.usage.cache_read.input_tokens"] == 3
    assert turn["gen_ai.usage.cache_creation.input_tokens"] == 4
    assert attributes(told["execute_tool edit"])["gen_ai.tool.name"] == "edit"


def test_where_spans_are_posted() -> None:
    assert traces_url("http://c:4318") == "http://c:4318/v1/traces"
    assert traces_url("https://c/") == "https://c/v1/traces"
    assert traces_url("https://c/otlp/v1/traces") == "https://c/otlp/v1/traces"
    for wrong in ("", "c:4318", "file:///etc/passwd", "http://"):
        with pytest.raises(LocalMistake, match="collector"):
            traces_url(wrong)
