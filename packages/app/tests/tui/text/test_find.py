from textual.content import Content

from dragoman import ToolState
from dragoman.schema import v1
from dragoman_app.tui.model.entries import NoteEntry, PlannedSteps, SpeechEntry, ToolEntry
from dragoman_app.tui.text.find import find_words, highlight_words, spans_of


def test_every_place_that_has_the_words_is_found_in_what_was_said_and_done() -> None:
    call = v1.ToolCall(
        tool_call_id="t",
        title="Needle work",
        content=[
            v1.Content(content=v1.TextContent(text="a needle")),
            v1.Diff(path="x", old_text="needle", new_text="pin"),
        ],
    )
    steps = [v1.PlanEntry(content="find the NEEDLE", priority="low", status="pending")]
    entries = [
        SpeechEntry("agent", "no"),
        SpeechEntry("agent", "needle, Needle"),
        ToolEntry(ToolState.of(call)),
        PlannedSteps(steps),
        NoteEntry("hay"),
    ]
    hits = find_words(entries, "needle")
    assert [(entries.index(hit.entry), hit.number) for hit in hits] == [
        (1, 0),
        (1, 1),
        (2, 0),
        (2, 1),
        (2, 2),
        (3, 0),
    ]
    assert find_words(entries, "") == find_words(entries, "straw") == []


def test_marks_stand_on_the_words_and_the_text_stays() -> None:
    marked = highlight_words(Content("a [b]Pin[/b] pin"), "pin")
    assert marked.plain == "a [b]Pin[/b] pin"
    assert [(span.start, span.end) for span in marked.spans] == [(5, 8), (13, 16)]
    assert list(spans_of("İpin", "pin")) == []
    assert list(spans_of("x", "")) == []
