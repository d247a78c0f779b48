"""What was said about tool calls stays known when a question about them names nothing but an id."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from dragoman.schema import v1
from dragoman_local.workspace.policy.act import ActContext
from dragoman_local.workspace.policy.act_reader import act_of_call, fold_calls
from dragoman_local.workspace.policy.act_view import view_of
from dragoman_local.workspace.policy.tool_calls import MOST_BYTES, MOST_CALLS, MOST_IDS, ToolCalls
from tests.workspace.policy.makers import policy
from tests.workspace.policy.test_permission_service import Desk, Person

BARE = v1.ToolCallUpdate(tool_call_id="t")
RULES = 'default = "allow"\n[[rule]]\ndecision = "deny"\ncommand = "git push"\n'


def told(*updates: v1.ToolCall | v1.ToolCallProgress) -> ToolCalls:
    calls = ToolCalls()
    for update in updates:
        calls.on_update(v1.SessionNotification(session_id="s", update=update))
    return calls


def announced(**members: Any) -> v1.ToolCall:
    return v1.ToolCall(
        tool_call_id="t", title="Work", kind="execute", raw_input={"command": "git push"}, **members
    )


LATER = {
    "nothing": [],
    "its end": [v1.ToolCallProgress(tool_call_id="t", status="completed")],
    "an empty input": [v1.ToolCallProgress(tool_call_id="t", raw_input={})],
    "another input": [v1.ToolCallProgress(tool_call_id="t", raw_input={"description": "harmless"})],
    "another kind": [v1.ToolCallProgress(tool_call_id="t", kind="read")],
    "many other calls": [
        v1.ToolCallProgress(tool_call_id=f"other {number}", kind="read") for number in range(MOST_CALLS - 1)
    ],
}


@pytest.mark.parametrize("later", LATER)
async def test_an_announced_command_is_judged_whatever_is_said_after_it(tmp_path: Path, later: str) -> None:
    person = Person("once")
    desk = Desk(tmp_path, RULES, asker=person, find_tool_call=told(announced(), *LATER[later]).find_call)
    assert await desk.chosen() == "no"
    assert person.asked == []


@pytest.mark.parametrize(
    "members",
    [{"raw_input": {"description": "harmless"}}, {"kind": "read"}, {"content": [], "raw_input": {}}],
)
def test_a_request_does_not_take_back_what_was_announced(members: dict[str, Any]) -> None:
    call = v1.ToolCallUpdate(tool_call_id="t", **members)
    act = act_of_call(call, ActContext(), known_call=told(announced()).find_call("s", call))
    assert policy(RULES).decide(act).outcome == "deny"


@pytest.mark.parametrize(
    "flood",
    [
        [v1.ToolCallProgress(tool_call_id=f"o{number}", kind="read") for number in range(MOST_CALLS)],
        [v1.ToolCallProgress(tool_call_id="o", raw_input={"text": "x" * MOST_BYTES})],
    ],
    ids=["many calls", "many bytes"],
)
def test_a_call_that_was_forgotten_is_a_command_that_nobody_can_read(flood: list[Any]) -> None:
    calls = told(announced(), *flood)
    act = act_of_call(BARE, ActContext(), known_call=calls.find_call("s", BARE))
    assert policy(RULES).decide(act).outcome == "ask"
    clear = v1.ToolCallUpdate(tool_call_id="new", kind="edit", locations=[v1.ToolCallLocation(path="/a")])
    assert calls.find_call("s", clear) is None


def test_a_flood_makes_nobody_forget_that_a_call_was_forgotten() -> None:
    """Where ids are forgotten, too, any call that is not known may be one of them."""
    calls = told(announced())
    for number in range(MOST_CALLS + MOST_IDS + 1):
        calls.hear("s", Raw(b'{"toolCallId":"o%d","kind":"read"}' % number))
    call = v1.ToolCallUpdate(tool_call_id="t", kind="execute", raw_input={"command": "ls"})
    act = act_of_call(call, ActContext(), known_call=calls.find_call("s", call))
    assert act.objection() is not None


@pytest.mark.parametrize("key", ["command", "zork", "argv"])
def test_what_is_announced_anew_does_not_hide_what_was_announced_first(key: str) -> None:
    """Also if many others follow: then it stays known that they did."""
    first, *others = [["git", "push"] if key == "argv" else f"git push {each}" for each in ("", *range(20))]
    inputs = [first, "ls", "ls -l"] if key != "argv" else [first, ["ls"]]
    for said in (inputs, [*inputs, *others]):
        calls = told(*(v1.ToolCallProgress(tool_call_id="t", raw_input={key: each}) for each in said))
        call = v1.ToolCallUpdate(tool_call_id="t", kind="execute", raw_input={"command": "ls -l"})
        known_call = calls.find_call("s", call)
        act = act_of_call(call, ActContext(), known_call=known_call)
        assert act.objection() is not None
        assert "push" in view_of(act, fold_calls(call, known_call)).text


def test_a_request_that_replaces_an_announced_text_does_not_hide_it() -> None:
    call = v1.ToolCallUpdate(tool_call_id="t", raw_input={"zork": "ls"})
    known_call = told(v1.ToolCall(tool_call_id="t", title="x", raw_input={"zork": "git push"})).find_call(
        "s", call
    )
    act = act_of_call(call, ActContext(), known_call=known_call)
    assert set(act.unknown_texts) == {"ls", "git push"}


def test_an_input_that_grows_is_one_input() -> None:
    parts = [{"command": "gi"}, {"command": "git pu", "n": 1}, {"command": "git push", "n": 2, "on": ["a"]}]
    calls = told(*(v1.ToolCallProgress(tool_call_id="t", raw_input=part) for part in parts))
    known_call = calls.find_call("s", BARE)
    assert known_call is not None
    assert known_call.raw_input == parts[-1]


def test_a_change_that_was_announced_and_is_not_asked_for_is_named() -> None:
    diffs = [v1.Diff(path=path, new_text="x") for path in ("/p/a", "/p/b")]
    calls = told(v1.ToolCall(tool_call_id="t", title="x", kind="edit", content=list(diffs)))
    call = v1.ToolCallUpdate(tool_call_id="t", kind="edit", content=[diffs[0]])
    act = act_of_call(call, ActContext(), known_call=calls.find_call("s", call))
    assert act.doubts == ("the agent has announced a change of /p/b that it does not ask for",)
    whole = v1.ToolCallUpdate(tool_call_id="t", kind="edit", content=list(diffs))
    assert not act_of_call(whole, ActContext(), known_call=calls.find_call("s", whole)).doubts


def test_what_is_said_again_in_place_of_what_was_said_takes_no_more_room() -> None:
    part = {"text": "x" * (MOST_BYTES // 3)}
    again = [
        v1.ToolCallProgress(tool_call_id="o", raw_input=part, title=f"step {number}") for number in range(12)
    ]
    calls = told(announced(), *again)
    known_call = calls.find_call("s", BARE)
    assert known_call is not None
    assert known_call.raw_input == {"command": "git push"}
    more = [v1.ToolCallProgress(tool_call_id=f"o{number}", raw_input=part) for number in range(2)]
    calls = told(announced(), *again, *more)
    forgotten = calls.find_call("s", BARE)
    assert forgotten is not None
    assert forgotten.raw_input != {"command": "git push"}
