"""Every kind of update and content that the schema knows has a face; what it does not know is named."""

import json
from typing import Any, get_args

import msgspec
import pytest

from dragoman.schema import v1
from dragoman.schema.base import Unknown
from dragoman.schema.codec import read
from dragoman_app.apps.run.narrate import Narrator
from dragoman_app.apps.run.reporter import JsonView
from dragoman_app.apps.run.subagents import FamilyNarrator
from dragoman_app.apps.run.texts import TextView
from dragoman_app.apps.terminals import Paint
from dragoman_app.tui.drawing.entries import DrawingContext, DrawnEntry
from dragoman_app.tui.model.faces import FACTS, MOST_KINDS, without_fence
from dragoman_app.tui.model.transcript import Transcript

UPDATES: dict[str, type[msgspec.Struct]] = {
    str(kind.__struct_config__.tag): kind for kind in get_args(v1.SessionUpdate) if kind is not Unknown
}
BLOCKS: dict[str, type[msgspec.Struct]] = {
    str(kind.__struct_config__.tag): kind for kind in get_args(v1.ContentBlock) if kind is not Unknown
}
RESULTS: dict[str, type[msgspec.Struct]] = {
    str(kind.__struct_config__.tag): kind for kind in get_args(v1.ToolCallContent) if kind is not Unknown
}
VALUES: dict[str, Any] = {
    "content": {"type": "text", "text": "some words"},
    "entries": [{"content": "a step", "priority": "low", "status": "pending"}],
    "plan": {"type": "markdown", "planId": "p", "content": "a plan in words"},
    "availableCommands": [{"name": "go", "description": "goes"}],
    "configOptions": [],
    "resource": {"uri": "file:///text", "text": "x"},
    "status": "in_progress",
    "used": 1,
    "size": 2,
}
FACTS_BY_NAME = {str(kind.__struct_config__.tag) for kind in FACTS}


def example(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The smallest object of this kind, as it comes on the wire."""
    config = kind.__struct_config__
    fields = [field for field in msgspec.structs.fields(kind) if field.required]
    values = {field.encode_name: VALUES.get(field.encode_name, "text") for field in fields}
    return {str(config.tag_field): config.tag, **values}


def update_of(fields: dict[str, Any]) -> v1.SessionUpdate:
    found: v1.SessionUpdate = read(json.dumps(fields).encode(), v1.SessionUpdate)
    return found


def chunk(block: dict[str, Any]) -> dict[str, Any]:
    return {"sessionUpdate": "agent_message_chunk", "content": block}


def tool(result: dict[str, Any]) -> dict[str, Any]:
    fields = {"toolCallId": "t", "title": "Look", "status": "completed", "content": [result]}
    return {"sessionUpdate": "tool_call", **fields}


def in_chat(*updates: dict[str, Any]) -> list[str]:
    transcript = Transcript()
    for fields in updates:
        transcript.hear(update_of(fields))
    around = DrawingContext(lambda _: None)
    return [line.plain for entry in transcript.entries for line in DrawnEntry(entry, 80, around).lines]


def in_run(*updates: dict[str, Any], is_terminal: bool = True) -> str:
    view, narrator = TextView(Paint(colours=False), is_terminal=is_terminal), FamilyNarrator()
    notes = [v1.SessionNotification(session_id="", update=update_of(fields)) for fields in updates]
    shown = b"".join(view.show(event) for note in notes for event in narrator.tell(note))
    return (shown + view.finish()).decode()


@pytest.mark.parametrize("name", UPDATES)
def test_every_kind_of_update_has_a_face(name: str) -> None:
    fields = example(UPDATES[name])
    chat, run = "\n".join(in_chat(fields)), in_run(fields)
    if name in FACTS_BY_NAME:
        assert Transcript().facts.learn(update_of({**fields, "title": "a title"}))
    else:
        assert chat.strip()
        assert run.strip()
        assert "unknown" not in chat
        assert "unknown" not in run


@pytest.mark.parametrize("name", BLOCKS)
def test_every_kind_of_content_has_a_face(name: str) -> None:
    block = example(BLOCKS[name])
    for fields in (chunk(block), tool({"type": "content", "content": block})):
        chat, run = "\n".join(in_chat(fields)), in_run(fields)
        assert "text" in chat
        assert "text" in run
        assert "unknown" not in chat
        assert "Content" not in chat


@pytest.mark.parametrize("name", RESULTS)
def test_every_kind_of_a_tools_content_has_a_face(name: str) -> None:
    fields = tool(example(RESULTS[name]))
    assert len(in_chat(fields)) > 1
    assert len(in_run(fields).splitlines()) > 1


def test_an_unknown_update_is_named_once_in_a_turn_and_does_not_cut_what_is_said() -> None:
    unknown = {"sessionUpdate": "foo\x1b_update", "n": 1}
    words = [chunk({"type": "text", "text": text}) for text in ("Hel", "lo")]
    updates = [words[0], *[unknown] * 1000, words[1]]
    assert in_chat(*updates) == ["  Hello", '· unknown update "foo␛_update"']
    assert in_run(*updates) == 'Hello\n· unknown update "foo␛_update"\n'
    assert in_run(*updates, is_terminal=False) == 'Hello\n· unknown update "foo␛_update"\n'


def test_an_unknown_update_is_named_again_in_the_next_turn() -> None:
    transcript = Transcript()
    for _ in range(2):
        transcript.prompt("go")
        transcript.hear(update_of({"sessionUpdate": "foo"}))
        transcript.end_turn()
    assert len(transcript.entries) == 4


def test_names_without_end_do_not_fill_the_screen() -> None:
    updates = [{"sessionUpdate": f"foo{number}"} for number in range(1000)]
    assert len(in_chat(*updates)) == MOST_KINDS
    assert in_run(*updates).count("\n") == MOST_KINDS
    assert in_chat(*updates)[-1].endswith("(and more that is not shown)")


def test_an_unknown_plan_is_named() -> None:
    update = {"sessionUpdate": "plan_update", "plan": {"type": "gantt", "planId": "p"}}
    assert in_chat(update) == ['· unknown plan "gantt"']
    assert in_run(update) == '· unknown plan "gantt"\n'


def test_unknown_content_is_named() -> None:
    block = {"type": "hologram", "x": 1}
    assert in_chat(chunk(block)) == ['  [unknown content "hologram"]']
    assert in_run(chunk(block)) == "[hologram]\n"
    assert '[unknown content "hologram"]' in "".join(in_chat(tool(block)))
    assert "[hologram]" in in_run(tool({"type": "content", "content": block}))
    assert "[hologram]" in in_run(tool(block))


def test_json_passes_on_what_is_unknown() -> None:
    event = Narrator().tell(update_of({"sessionUpdate": "foo", "n": {"a": 1}}))
    told = json.loads(JsonView().show(event))
    assert (told["event"], told["kind"], told["update"]) == (
        "update",
        "foo",
        {"sessionUpdate": "foo", "n": {"a": 1}},
    )


def test_a_plan_in_words_is_shown_as_it_stands() -> None:
    plans = [
        {"sessionUpdate": "plan_update", "plan": {"type": "markdown", "planId": "p", "content": text}}
        for text in ("one", "one\ntwo")
    ]
    assert in_chat(*plans) == ["· plan:", "  one", "  two"]


def test_a_notice_reaches_whoever_runs_an_agent() -> None:
    notice = {"sessionUpdate": "notice", "severity": "warning", "title": "Old", "description": "very\x1b[2J"}
    assert in_run(notice, is_terminal=False) == "· warning: Old: very␛[2J\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```console\na\n\nb\n```\n", "a\n\nb"),
        ("````\n```\n````", "```"),
        ("```\n```", ""),
        *(
            (text, text)
            for text in ("a", "", "```", "a\n```", "```\na", "```\na\n```\nb\n```\nc\n```", "$\n``")
        ),
    ],
)
def test_only_the_fence_around_a_whole_output_is_taken_away(text: str, expected: str) -> None:
    assert without_fence(text) == expected
