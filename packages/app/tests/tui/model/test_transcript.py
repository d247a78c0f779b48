from collections.abc import Sequence

from dragoman.schema import v1
from dragoman.schema.v1 import AgentMessageChunk, AgentThoughtChunk, TextContent, ToolCall, ToolCallProgress
from dragoman_app.tui.model.entries import (
    NoteEntry,
    PictureEntry,
    PlannedSteps,
    SpeechEntry,
    ToolEntry,
    TranscriptEntry,
)
from dragoman_app.tui.model.transcript import Transcript


def said(text: str, message_id: str | None = None) -> AgentMessageChunk:
    return AgentMessageChunk(content=TextContent(text=text), message_id=message_id)


def user(text: str) -> v1.UserMessageChunk:
    return v1.UserMessageChunk(content=TextContent(text=text))


def shown(transcript: Transcript) -> list[str]:
    return [_shown(entry) for entry in transcript.entries]


def _shown(entry: TranscriptEntry) -> str:
    match entry:
        case SpeechEntry():
            return f"{entry.who}: {entry.text}"
        case ToolEntry():
            return f"{entry.state.status}: {entry.state.title}"
        case PlannedSteps():
            return f"plan of {len(entry.steps)}"
        case PictureEntry():
            return f"picture: {entry.mime_type}"
        case NoteEntry():
            return f"{entry.level}: {entry.text}"
    raise AssertionError(entry)


def on_update(*updates: v1.SessionUpdate) -> Transcript:
    transcript = Transcript()
    for update in updates:
        transcript.hear(update)
    return transcript


def test_chunks_of_one_speaker_become_one_entry() -> None:
    thought = AgentThoughtChunk(content=TextContent(text="hm"))
    transcript = on_update(said("a"), said("b"), thought, said("c"), said("d", message_id="2"))
    assert shown(transcript) == ["agent: ab", "thought: hm", "agent: c", "agent: d"]


def test_a_tool_call_is_one_entry_however_often_it_is_mentioned() -> None:
    progress = ToolCallProgress(tool_call_id="1", status="completed")
    transcript = on_update(ToolCall(tool_call_id="1", title="Read"), said("x"), progress, said("y"))
    assert shown(transcript) == ["completed: Read", "agent: xy"]


def test_a_tool_call_that_was_never_announced_is_shown() -> None:
    assert shown(on_update(ToolCallProgress(tool_call_id="1", title="Run", status="failed"))) == [
        "failed: Run"
    ]


def test_a_turn_has_one_plan() -> None:
    step = v1.PlanEntry(content="x", priority="medium", status="pending")
    transcript = on_update(v1.Plan(entries=[step]), said("a"), v1.Plan(entries=[step, step]))
    assert shown(transcript) == ["plan of 2", "agent: a"]
    transcript.prompt("next")
    transcript.hear(v1.Plan(entries=[step]))
    assert shown(transcript)[-2:] == ["user: next", "plan of 1"]


def test_a_prompt_that_the_agent_says_again_is_shown_once() -> None:
    transcript = Transcript()
    transcript.prompt("do this")
    for piece in ("do ", "this"):
        transcript.hear(user(piece))
    transcript.hear(said("done"))
    assert shown(transcript) == ["user: do this", "agent: done"]


def test_what_was_said_before_a_replay_is_replayed_as_it_was() -> None:
    assert shown(on_update(user("a"), said("b"), user("c"))) == ["user: a", "agent: b", "user: c"]


def test_facts_are_learnt_and_make_no_entries() -> None:
    command = v1.AvailableCommand(name="go", description="goes")
    transcript = on_update(
        v1.AvailableCommandsUpdate(available_commands=[command]),
        v1.CurrentModeUpdate(current_mode_id="b"),
        v1.UsageUpdate(used=5, size=10, cost=v1.Cost(amount=1.5, currency="EUR")),
        v1.SessionInfoUpdate(title="A title"),
    )
    facts = transcript.facts
    assert (facts.commands, facts.mode, facts.used, facts.cost, facts.title) == (
        [command],
        "b",
        5,
        "1.50 EUR",
        "A title",
    )
    assert transcript.entries == []


def test_a_notice_is_a_note_and_pictures_are_named() -> None:
    picture = AgentMessageChunk(content=v1.ImageContent(data="aGk=", mime_type="image/png"))
    transcript = on_update(v1.Notice(severity="warning", title="Old", description="very"), picture)
    assert shown(transcript) == ["warning: Old: very", "picture: image/png"]


def test_changes_are_gathered_until_somebody_takes_them() -> None:
    transcript = on_update(*[said("x")] * 1000)
    assert [len(transcript.take_changes().touched_entries) for _ in range(2)] == [1, 0]
    transcript.hear(said("y"))
    assert transcript.take_changes().touched_entries == {transcript.entries[0]}


def test_an_earlier_page_joins_what_the_cut_went_through() -> None:
    earlier = on_update(user("q"), ToolCall(tool_call_id="1", title="Run", kind="execute"), said("one "))
    later = on_update(said("two"), ToolCallProgress(tool_call_id="1", status="completed"))
    later.prepend(earlier)
    assert shown(later) == ["user: q", "agent: one two", "completed: Run"]
    assert later.take_changes().added_before == 1


def test_too_many_entries_let_the_oldest_go() -> None:
    transcript = Transcript(most_entries=10)
    for number in range(11):
        transcript.note(str(number))
    change = transcript.take_changes()
    assert (change.cut, transcript.is_cut) == (2, True)
    assert shown(transcript)[0] == "info: 2"


def test_too_much_text_lets_the_oldest_go() -> None:
    transcript = Transcript(most_characters=10_000)
    for number in range(5):
        transcript.hear(user(str(number) * 3000))
        transcript.hear(said("x"))
    transcript.take_changes()
    kept: Sequence[str] = shown(transcript)
    assert kept[-2].startswith("user: 4")
    assert sum(map(len, kept)) < 10_500
