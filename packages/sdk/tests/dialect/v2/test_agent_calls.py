"""Tool calls and terminals of a v2 agent, as a v1 client sees them grow."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from tests.dialect.v2.agent_stage import Stage, text


def content(words: str) -> dict[str, Any]:
    return {"type": "content", "content": text(words)}


def data(words: str) -> str:
    return b64encode(words.encode()).decode()


def shown_text(update: dict[str, Any]) -> str:
    (item,) = update["content"]
    return str(item["content"]["text"])


def test_the_first_word_about_a_call_announces_it() -> None:
    stage = Stage(open=True)
    stage.updates("tool_call_update", toolCallId="c", title="Dive", kind="fetch", status="pending")
    stage.updates("tool_call_update", toolCallId="c", status="completed", rawOutput={"fish": 2})
    assert stage.shown == [
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "c",
            "title": "Dive",
            "kind": "fetch",
            "status": "pending",
        },
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "c",
            "status": "completed",
            "rawOutput": {"fish": 2},
        },
    ]


def test_a_call_without_a_title_gets_one() -> None:
    stage = Stage(open=True)
    stage.updates("tool_call_update", toolCallId="a", name="dive", title=None)
    stage.updates("tool_call_update", toolCallId="b", kind="read")
    stage.updates("tool_call_update", toolCallId="c")
    assert [update["title"] for update in stage.shown] == ["dive", "read", "Tool call"]
    assert stage.losses == []  # nothing was cleared: there was nothing


def test_what_is_cleared_stays_where_v1_cannot_clear_it() -> None:
    stage = Stage(open=True)
    stage.updates(
        "tool_call_update", toolCallId="c", title="Dive", locations=[{"path": "/a"}], content=[content("x")]
    )
    stage.forget()
    stage.updates(
        "tool_call_update", toolCallId="c", title=None, locations=None, content=None, kind=None, status=None
    )
    (update,) = stage.shown
    assert update == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "c",
        "kind": "other",
        "status": "pending",
        "content": [],
        "locations": [],
    }
    assert stage.losses == ["a title, name, input or output of a tool call cleared"]


def test_states_that_v1_does_not_know_are_said_as_their_nearest() -> None:
    stage = Stage(open=True)
    for status in ("paused", "cancelled", "_dreaming"):
        stage.updates("tool_call_update", toolCallId="c", status=status)
    shown = stage.shown
    assert [update["status"] for update in shown] == ["in_progress", "failed", "in_progress"]
    assert shown[1]["_meta"] == {"dragoman/dialect": {"name": "v2", "raw": {"status": "cancelled"}}}
    assert stage.losses == ["a tool call that is paused, cancelled or in a state of its own"]


def test_content_that_grows_is_told_whole() -> None:
    stage = Stage(open=True)
    stage.updates("tool_call_content_chunk", toolCallId="c", content=content("a"))
    stage.updates("tool_call_content_chunk", toolCallId="c", content=content("b"))
    first, second = stage.shown
    assert (first["sessionUpdate"], first["content"]) == ("tool_call", [content("a")])
    assert (second["sessionUpdate"], second["content"]) == ("tool_call_update", [content("a"), content("b")])


def test_meta_of_a_call_is_patched_here_and_told_whole() -> None:
    stage = Stage(open=True)
    stage.updates("tool_call_update", toolCallId="c", _meta={"a": 1, "b": 2})
    stage.updates("tool_call_update", toolCallId="c", _meta={"a": None, "c": 3})
    stage.updates("tool_call_update", toolCallId="c", _meta={})
    stage.updates("tool_call_update", toolCallId="c", _meta=None)
    assert [update["_meta"] for update in stage.shown] == [{"a": 1, "b": 2}, {"b": 2, "c": 3}, {}]


def test_an_upsert_of_which_v1_knows_nothing_is_silent() -> None:
    stage = Stage(open=True)
    stage.updates("tool_call_update", toolCallId="c")
    stage.forget()
    stage.updates("tool_call_update", toolCallId="c", capabilities={"cancel": {}})
    assert stage.shown == []


def test_a_terminal_is_text_in_the_call_that_shows_it() -> None:
    stage = Stage(open=True)
    stage.updates("terminal_update", terminalId="t", command="ls", cwd="/pond")
    stage.updates("terminal_output_chunk", terminalId="t", data=data("\x1b[31mfish\x1b[0m\r\n"))
    assert stage.shown == []
    stage.updates("tool_call_update", toolCallId="c", content=[{"type": "terminal", "terminalId": "t"}])
    stage.updates("terminal_update", terminalId="t", exitStatus={"exitCode": 1})
    call, ended = stage.shown
    assert shown_text(call) == "```console\n/pond $ ls\nfish\n```"
    assert shown_text(ended) == "```console\n/pond $ ls\nfish\n[exit code 1]\n```"
    assert stage.repairs == ["a terminal of the agent"]


def test_a_terminal_is_told_again_when_it_has_grown_and_the_rest_before_anything_else() -> None:
    stage = Stage(open=True)
    stage.updates("tool_call_update", toolCallId="c", content=[{"type": "terminal", "terminalId": "t"}])
    stage.updates("terminal_output_chunk", terminalId="t", data=data("x" * 1000 + "\n"))
    stage.forget()
    stage.updates("terminal_output_chunk", terminalId="t", data=data("little"))
    assert stage.shown == []
    stage.updates("agent_message_chunk", messageId="m", content=text("done"))
    rest, after = stage.shown
    assert shown_text(rest).endswith("\nlittle\n```")
    assert after["content"] == text("done")
    stage.updates("terminal_output_chunk", terminalId="t", data=data("more"))
    stage.state("running")
    assert shown_text(stage.shown[0]).endswith("littlemore\n```")


def test_telling_a_long_output_costs_a_few_times_its_length() -> None:
    stage = Stage(open=True)
    stage.updates("tool_call_update", toolCallId="c", content=[{"type": "terminal", "terminalId": "t"}])
    for _ in range(1000):
        stage.updates("terminal_output_chunk", terminalId="t", data=data("y" * 100))
    assert sum(len(shown_text(update)) for update in stage.shown) < 15 * 100_000


def test_a_terminal_that_nobody_shows_is_named_at_the_end() -> None:
    stage = Stage(open=True)
    stage.updates("terminal_output_chunk", terminalId="t", data=data("unseen"))
    assert stage.losses == []
    stage.agent_ends()
    assert stage.losses == ["a terminal that no tool call shows"]


def test_a_loaded_session_announces_its_calls_again() -> None:
    stage = Stage(open=True)
    stage.updates("tool_call_update", toolCallId="c", title="Dive")
    stage.client(3, "session/load", sessionId="s", cwd="/pond", mcpServers=[])
    stage.updates("tool_call_update", toolCallId="c", title="Dive")
    stage.updates("user_message", messageId="u", content=[text("swim")])
    assert [update["sessionUpdate"] for update in stage.shown] == [
        "tool_call",
        "tool_call",
        "user_message_chunk",
    ]
