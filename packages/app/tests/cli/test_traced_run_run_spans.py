"""`dragoman run` sends spans when variables of OpenTelemetry name a collector, and no option of ours."""

from __future__ import annotations

import sys
from pathlib import Path

from msgspec import UNSET

from dragoman_app.apps.run import events
from dragoman_app.cli.traced_run import TURN, RunSpans
from dragoman_hub.api.observability.spans import NoSpans
from dragoman_hub.api.observability.usage import Tokens
from tests.apps.run.run_process import home, run
from tests.hub.api.observability.collector import Collector, attributes_of

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"

AGENT = """
from dragoman import Agent, Turn, serve
agent = Agent("tools")
@agent.prompt
async def reply(turn: Turn) -> None:
    async with turn.tool("Look", kind="read"):
        pass
    await turn.say(str((turn.request.meta or {}).get("traceparent")))
serve(agent)
"""


def test_a_turn_its_tools_and_its_service_reach_the_collector(tmp_path: Path) -> None:
    agent = tmp_path / "tools.py"
    agent.write_text(AGENT)
    with Collector().running() as collector:
        env = home(
            tmp_path,
            no_proxy="*",
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.address,
            OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20key",
            OTEL_RESOURCE_ATTRIBUTES="deployment.environment.name=test",
            TRACEPARENT=f"00-{TRACE}-{SPAN}-01",
        )
        command = f"{sys.executable} {agent}"
        done = run("Hello", "--agent", command, "--format", "json", "--no-history", folder=tmp_path, env=env)
    assert done.status == 0, done.err
    ((path, authorization, request),) = collector.posted
    assert (path, authorization) == ("/v1/traces", "Bearer key")
    resource = attributes_of(request.resource_spans[0].resource.attributes)
    assert resource["service.name"] == "dragoman-run"
    assert resource["deployment.environment.name"] == "test"
    spans = {span.name.partition(" ")[0]: span for span in request.resource_spans[0].scope_spans[0].spans}
    turn, tool = spans["invoke_agent"], spans["execute_tool"]
    assert (turn.trace_id.hex(), turn.parent_span_id.hex()) == (TRACE, SPAN)
    assert tool.parent_span_id == turn.span_id
    assert attributes_of(tool.attributes)["gen_ai.tool.name"] == "read"
    values = attributes_of(turn.attributes)
    assert values["gen_ai.operation.name"] == "invoke_agent"
    assert values["gen_ai.conversation.id"] == done.named("session")[0]["sessionId"]
    assert values["dragoman.stop_reason"] == "end_turn"
    assert done.text == f"00-{TRACE}-{turn.span_id.hex()}-01"  # the agent can go on with the trace


class NotedSpans(NoSpans):
    """Keeps how turns ended."""

    def __init__(self) -> None:
        self.ends: list[tuple[str, str, str, Tokens | None]] = []

    def turn_ended(self, session: str, key: str, how: str, *, tokens: Tokens | None = None) -> None:
        self.ends.append((session, key, how, tokens))


def end_event(*, stop_reason: str | None, usage: object = UNSET) -> events.EndEvent:
    return events.EndEvent(time="", outcome="x", status=0, seconds=0.0, stop_reason=stop_reason, usage=usage)


def test_the_end_of_a_run_has_its_tokens_or_is_an_error() -> None:
    spans = NotedSpans()
    run_spans = RunSpans(spans, {})
    run_spans.on_prompt("s")
    usage = {"totalTokens": 7, "inputTokens": 3, "outputTokens": 4}
    run_spans.on_event(end_event(stop_reason="end_turn", usage=usage))
    run_spans.on_event(end_event(stop_reason=None, usage={"inputTokens": "many"}))
    assert spans.ends == [
        ("s", TURN, "end_turn", Tokens(total=7, input=3, output=4)),
        ("s", TURN, "error", None),
    ]
