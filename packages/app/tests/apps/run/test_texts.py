"""Events as text for people: in a terminal, and into a pipe."""

import json
from typing import Any

import msgspec
import pytest

from dragoman_app.apps.run import events
from dragoman_app.apps.run.events import AnyEvent
from dragoman_app.apps.run.reporter import EventView, JsonView, QuietView
from dragoman_app.apps.run.texts import LINES, TextView
from dragoman_app.apps.terminals import Paint

T = "2026-01-01T00:00:00.000Z"


def raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(value).encode())


def text(said: str, **more: Any) -> events.TextEvent:
    return events.TextEvent(time=T, text=said, **more)


def tool(status: str, *, content: Any = msgspec.UNSET, title: str = "Look") -> events.ToolEvent:
    given = content if content is msgspec.UNSET else raw(content)
    return events.ToolEvent(time=T, id="t", title=title, kind="read", status=status, content=given)


def shown(view: EventView, *happened: AnyEvent) -> str:
    return (b"".join(map(view.show, happened)) + view.finish()).decode()


def terminal(*, colours: bool = False) -> TextView:
    return TextView(Paint(colours=colours), is_terminal=True)


def pipe() -> TextView:
    return TextView(Paint(colours=False), is_terminal=False)


def test_pieces_of_a_message_are_joined_and_the_last_line_is_ended() -> None:
    assert shown(pipe(), text("Hel"), text("lo")) == "Hello\n"
    assert shown(pipe(), text("Hello\n")) == "Hello\n"
    assert shown(pipe()) == ""


def test_a_tool_call_stands_on_lines_of_its_own() -> None:
    happened: list[AnyEvent] = [
        text("Let me see"),
        tool("pending"),
        tool("in_progress"),
        tool("completed"),
        text("Done"),
    ]
    assert shown(terminal(), *happened) == "Let me see\n• Look (read)\n✓ Look (read)\nDone\n"
    assert shown(pipe(), *happened) == "Let me see\n✓ Look (read)\nDone\n"


def test_a_tool_call_whose_end_is_never_told_is_shown_when_the_turn_is_over() -> None:
    end = events.EndEvent(time=T, outcome="end_turn", status=0, seconds=1.0)
    changes = events.ChangesEvent(time=T, files=[])
    begun = tool("pending"), tool("in_progress")
    assert (
        shown(pipe(), text("Let me see"), *begun, text("Done"), changes, end)
        == "Let me see\nDone\n… Look (read)\n"
    )
    assert shown(pipe(), text("No"), tool("pending"), tool("failed"), end) == "No\n✗ Look (read)\n"


def test_a_long_output_is_cut_and_says_so() -> None:
    output = [{"type": "content", "content": {"type": "text", "text": "\n".join(map(str, range(100)))}}]
    said = shown(terminal(), tool("completed", content=output))
    assert f"… {100 - LINES} more lines" in said
    assert said.count("\n") == LINES + 2


def test_an_output_is_shown_without_its_fence() -> None:
    output = [{"type": "content", "content": {"type": "text", "text": "```console\n1\n2\n```"}}]
    assert shown(terminal(), tool("completed", content=output)) == "✓ Look (read)\n  1\n  2\n"


@pytest.mark.parametrize(("view", "expected"), [(pipe(), "no\nyes\n"), (QuietView(), "no\n\nyes\n")])
def test_the_words_of_the_agent_that_goes_on_begin_a_line(view: EventView, expected: str) -> None:
    handover = events.HandoverEvent(time=T, from_agent="a", agent="b", reason="agent_error")
    assert shown(view, text("no"), handover, text("yes")) == expected


def test_what_a_tool_brought_before_its_end_is_shown_at_its_end() -> None:
    diff = [{"type": "diff", "path": "/a", "oldText": None, "newText": "new"}]
    said = shown(pipe(), tool("in_progress", content=diff), tool("completed"))
    assert said == "✓ Look (read)\n--- /dev/null\n+++ /a\n@@ -0,0 +1 @@\n+new\n"


def test_thoughts_plan_and_usage_are_for_terminals() -> None:
    happened: list[AnyEvent] = [
        events.ThoughtEvent(time=T, text="hm"),
        events.PlanEvent(time=T, entries=raw([{"content": "Look", "status": "completed"}])),
        events.UsageEvent(time=T, used=10, size=100, cost=raw({"amount": 0.5, "currency": "USD"})),
        text("Hi"),
        events.EndEvent(time=T, outcome="end_turn", status=0, seconds=1.0),
    ]
    assert shown(pipe(), *happened) == "Hi\n"
    said = shown(terminal(), *happened)
    assert said == "hm\n☑ Look\nHi\ndone · 1.0 s · context 10 of 100 · 0.5 USD\n"


def test_a_replay_is_not_shown_as_if_it_happened_now() -> None:
    assert shown(terminal(), text("old", phase="replay"), text("new")) == "new\n"
    assert shown(QuietView(), text("old", phase="replay"), text("new")) == "new\n"
    assert "old" in shown(JsonView(), text("old", phase="replay"))


def test_changes_are_listed_with_their_size() -> None:
    file = events.ChangedFileEntry(
        path="/p/a.py", kind="modified", lines_added=2, lines_removed=1, diff="@@ x\n"
    )
    said = shown(pipe(), text("Hi"), events.ChangesEvent(time=T, files=[file], notes=["too large"]))
    assert said == "Hi\nChanged on disk:\n  modified /p/a.py (+2 -1)\n  note: too large\n"
    assert "@@ x" in shown(terminal(), events.ChangesEvent(time=T, files=[file]))
    assert shown(pipe(), text("Hi"), events.ChangesEvent(time=T, files=[])) == "Hi\n"


def test_changes_that_nobody_was_asked_about_are_named_with_a_mode_that_asks() -> None:
    files = [
        events.ChangedFileEntry(path="/p/a", kind="added"),
        events.ChangedFileEntry(path="/p/b\x1b[2J", kind="added", decision="none"),
        events.ChangedFileEntry(path="/p/c", kind="added", decision="denied"),
    ]
    unasked = [file.path for file in files[1:]]
    event = events.ChangesEvent(time=T, files=files, unasked=unasked, asking_mode="default")
    heading, *lines = shown(pipe(), event).splitlines()[4:]
    assert heading == "2 files changed without approval:"
    assert "\x1b" not in lines[0]
    assert lines[1:] == [
        "  /p/c (it was denied)",
        "  To be asked first, use this agent's mode: --mode default",
    ]


def test_what_cannot_be_shown_is_named() -> None:
    block = raw({"type": "image", "mimeType": "image/png", "data": "AAAA"})
    assert shown(pipe(), events.ContentEvent(time=T, role="agent", block=block)) == "[image image/png]\n"


def test_styles_end_before_the_line_does() -> None:
    said = shown(
        terminal(colours=True), events.ThoughtEvent(time=T, text="hm\n"), text("**bold**"), tool("failed")
    )
    assert "\x1b[2mhm\x1b[0m\n" in said
    assert "\x1b[31m✗\x1b[0m Look" in said


def test_quiet_keeps_messages_apart_that_a_tool_call_lies_between() -> None:
    assert shown(QuietView(), text("One."), tool("completed"), text("Two.")) == "One.\n\nTwo.\n"
    assert shown(QuietView(), tool("completed"), text("Two.")) == "Two.\n"
    assert shown(QuietView()) == ""


def test_a_line_end_that_is_cut_in_two_is_one() -> None:
    assert shown(QuietView(), text("a\r"), text("\nb")) == "a\nb\n"
    assert shown(pipe(), text("a\r"), text("\nb")) == "a\nb\n"


def test_a_lone_surrogate_does_not_stop_the_stream() -> None:
    event = json.loads(shown(JsonView(), text("a\ud800b")))
    assert event["text"].startswith("a")
    assert shown(pipe(), text("a\ud800b")) == "a\\ud800b\n"
