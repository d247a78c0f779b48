"""Who did what in a turn, told from frames: agents, commands, and what nobody announced."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from dragoman_local.workspace.tree_store import Change, Turn
from dragoman_local.workspace.turn_facts import FactsReader, TurnFacts


def update(**fields: Any) -> dict[str, Any]:
    return {"method": "session/update", "params": {"update": {"sessionUpdate": "tool_call", **fields}}}


def diff(path: str, old: str, new: str) -> dict[str, str]:
    return {"type": "diff", "path": path, "oldText": old, "newText": new}


def at(seconds: float) -> int:
    return int(seconds * 1e9)


@pytest.fixture
def facts(tmp_path: Path) -> TurnFacts:
    return TurnFacts(str(tmp_path))


def test_a_line_that_a_diff_adds_is_the_agents_and_what_was_there_is_not(
    facts: TurnFacts, tmp_path: Path
) -> None:
    content = [diff(str(tmp_path / "a.py"), "was\n", "was\nmade\n")]
    facts.feed("to_client", 10.0, update(toolCallId="c1", kind="edit", content=content))
    assert facts.who("a.py", "  made", at(10)) == ("agent", "c1")
    assert facts.who("a.py", "was", at(10)) == ("unknown", None)
    assert facts.who("b.py", "made", at(10)) == ("unknown", None)


def test_a_file_that_an_edit_names_without_a_text_is_the_agents(facts: TurnFacts) -> None:
    facts.feed("to_client", 10.0, update(toolCallId="c1", kind="edit", locations=[{"path": "a.py"}]))
    facts.feed("to_client", 10.0, update(toolCallId="c2", kind="read", locations=[{"path": "b.py"}]))
    assert facts.who("a.py", "made", at(10)) == ("agent", "c1")
    assert facts.who("b.py", "made", at(10)) == ("unknown", None)


def test_what_changed_when_the_call_was_over_may_be_a_persons(facts: TurnFacts) -> None:
    facts.feed("to_client", 10.0, update(toolCallId="c1", kind="edit", locations=[{"path": "a.py"}]))
    facts.feed("to_client", 11.0, update(toolCallId="c1", status="completed"))
    assert facts.who("a.py", "made", at(10.9)) == ("agent", "c1")
    assert facts.who("a.py", "typed", at(12)) == ("unknown", None)


def test_what_an_agent_read_before_it_wrote_the_file_is_not_its_own(facts: TurnFacts) -> None:
    place = {"path": "a.py"}
    facts.feed("to_client", 10.0, update(toolCallId="c1", kind="edit", locations=[place]))
    facts.feed("to_client", 10.1, {"id": 1, "method": "fs/read_text_file", "params": place})
    facts.feed("to_agent", 10.2, {"id": 1, "result": {"content": "typed\n}\n"}})
    write = {"method": "fs/write_text_file", "params": {**place, "content": "typed\nmade\n}\n"}}
    facts.feed("to_client", 10.3, {"id": 2, **write})
    assert facts.who("a.py", "made", at(10.4)) == ("agent", "c1")
    assert facts.who("a.py", "typed", at(10.4)) == ("unknown", None)
    facts.feed("to_client", 10.5, {"id": 3, "method": "fs/read_text_file", "params": place})
    facts.feed("to_agent", 10.6, {"id": 3, "result": {"content": "typed\nmade\n}\n"}})
    params = {**place, "content": "typed\nmade\n}\nmore\n}\n"}
    facts.feed("to_client", 10.7, {"id": 4, "method": "fs/write_text_file", "params": params})
    found = [facts.who("a.py", line, at(10.8))[0] for line in ("typed", "made", "more")]
    assert found == ["unknown", "agent", "agent"]


def test_a_command_changes_what_changed_while_it_ran(facts: TurnFacts) -> None:
    facts.feed("to_agent", 10.0, {"id": 1, "method": "initialize"})
    facts.feed("to_client", 20.0, update(toolCallId="c1", kind="execute", status="in_progress"))
    facts.feed("to_client", 21.0, update(toolCallId="c1", status="completed"))
    assert facts.who("a.py", "made", at(20.5)) == ("command", "c1")
    assert facts.who("a.py", "made", at(19.8)) == ("command", "c1")  # its announcement took a while
    assert facts.who("a.py", "made", at(18.0)) == ("unknown", None)
    assert facts.who("a.py", "made", at(22.0)) == ("unknown", None)


def test_a_terminal_of_ours_is_a_command_of_the_call_that_shows_it(facts: TurnFacts) -> None:
    facts.feed("to_client", 10.0, {"id": 1, "method": "terminal/create", "params": {"command": "make"}})
    facts.feed("to_agent", 10.1, {"id": 1, "result": {"terminalId": "t"}})
    facts.feed(
        "to_client", 10.2, {"id": 2, "method": "terminal/wait_for_exit", "params": {"terminalId": "t"}}
    )
    content = [{"type": "terminal", "terminalId": "t"}]
    facts.feed("to_client", 10.3, update(toolCallId="c1", kind="other", content=content))
    facts.feed("to_agent", 11.0, {"id": 2, "result": {"exitCode": 0}})
    assert facts.who("a.py", "made", at(10.9)) == ("command", "c1")
    assert facts.who("a.py", "made", at(11.5)) == ("unknown", None)


def test_what_a_command_made_stays_its_own_when_the_agent_writes_the_file_again(
    facts: TurnFacts, tmp_path: Path
) -> None:
    path = str(tmp_path / "a.py")
    facts.feed("to_client", 10.0, update(toolCallId="c1", kind="execute", status="in_progress"))
    facts.feed("to_client", 11.0, update(toolCallId="c1", status="completed"))
    facts.feed("to_client", 12.0, update(toolCallId="c2", kind="edit", content=[diff(path, "", "made\n")]))
    params = {"path": path, "content": "generated\nmade\n"}
    facts.feed("to_client", 12.1, {"id": 3, "method": "fs/write_text_file", "params": params})
    assert facts.who("a.py", "made", at(12.1)) == ("agent", "c2")
    assert facts.who("a.py", "generated", at(12.1)) == ("command", "c1")


def test_of_turns_side_by_side_the_first_to_announce_a_line_wrote_it(tmp_path: Path) -> None:
    reader = FactsReader({}, {}, nullcontext)
    turns = [Turn(n, f"s{n}", 1, "turn", "", "", "", "", 0.0, 1, 2, 0) for n in (1, 2, 3)]
    change = Change("a.py", None, at(5))
    assert reader.choose(turns[:2], change, "made") is None  # nothing is known of them
    for turn, time in zip(turns, (9.0, 8.0), strict=False):
        reader._known[turn.id] = TurnFacts(str(tmp_path))
        content = [diff(str(tmp_path / "a.py"), "", "made\n")]
        reader.of(turn).feed("to_client", time, update(toolCallId="c", kind="edit", content=content))
    assert reader.choose(turns[:2], change, "made") is turns[1]
    assert reader.choose(turns[:2], change, "other") is None
    assert reader.choose(turns, change, "made") is None


@pytest.mark.parametrize(
    "frame", [{}, {"method": "session/update"}, {"id": 7, "result": 3}, update(content=3)]
)
def test_frames_that_make_no_sense_tell_nothing(facts: TurnFacts, frame: dict[str, Any]) -> None:
    facts.feed("to_client", 1.0, frame)
    assert facts.who("a.py", "made", at(1)) == ("unknown", None)


def test_a_hub_notes_who_answered(facts: TurnFacts) -> None:
    call, options = {"toolCallId": "c1"}, [{"optionId": "yes", "name": "Allow"}]
    params = {"toolCall": call, "options": options}
    facts.feed("to_client", 1.0, {"id": 7, "method": "session/request_permission", "params": params}, 12)
    facts.feed("note", 1.0, {"hub": "settled", "request": "12", "by": "early"})
    facts.feed("to_agent", 2.0, {"id": 7, "result": {"outcome": {"optionId": "yes"}}})
    facts.feed("note", 2.0, {"hub": "settled", "request": "11", "by": "another"})
    facts.feed("note", 2.0, {"hub": "settled", "request": "12", "by": "owner"})
    assert (facts.approvals, facts.approvers) == ({"c1": "Allow"}, {"c1": "owner"})


def ended(facts: TurnFacts, time: float) -> None:
    facts.feed("to_client", time, {"id": 9, "result": {"stopReason": "end_turn"}})


def test_slack_and_open_ends_do_not_reach_behind_the_answer(facts: TurnFacts) -> None:
    facts.feed("to_client", 10.0, update(toolCallId="c1", kind="execute", status="in_progress"))
    place = [{"path": "a.py"}]
    facts.feed("to_client", 10.1, update(toolCallId="c2", kind="edit", locations=place))
    facts.feed("to_client", 10.2, update(toolCallId="c2", status="completed"))
    ended(facts, 10.21)
    assert [facts.may_have_changed("b.py", at(moment)) for moment in (10.2, 10.22)] == [True, False]
    assert facts.who("b.py", "made", at(10.22)) == ("unknown", None)
    assert facts.who("a.py", "made", at(10.22)) == ("unknown", None)
    facts.feed("to_client", 11.0, update(toolCallId="c1", status="completed"))  # it went on until then
    assert [facts.may_have_changed("b.py", at(moment)) for moment in (10.9, 11.01)] == [True, False]


def test_work_is_its_own_from_its_announcement_to_its_end(facts: TurnFacts) -> None:
    place = [{"path": "a.py"}]
    facts.feed("to_client", 10.0, update(toolCallId="c1", kind="edit", locations=place))
    facts.feed("to_client", 12.0, update(toolCallId="c1", status="completed"))
    ended(facts, 20.0)
    found = [facts.may_have_changed("a.py", at(moment)) for moment in (9.0, 9.9, 11.0, 12.1, 13.0)]
    assert found == [False, True, True, True, False]
    assert [facts.may_have_changed(path, None) for path in ("a.py", "b.py")] == [True, False]
    assert not facts.may_have_changed("b.py", at(11))


def test_an_edit_that_failed_and_a_write_that_was_refused_changed_nothing(facts: TurnFacts) -> None:
    place = {"path": "a.py"}
    facts.feed("to_client", 10.0, update(toolCallId="c1", kind="edit", locations=[place]))
    facts.feed("to_client", 10.1, update(toolCallId="c1", status="failed"))
    write = {"method": "fs/write_text_file", "params": {**place, "content": "made\n"}}
    facts.feed("to_client", 10.2, {"id": 1, **write})
    facts.feed("to_agent", 10.3, {"id": 1, "error": {"code": -32603, "message": "conflict"}})
    assert not facts.may_have_changed("a.py", at(10.1))
    facts.feed("to_client", 10.4, {"id": 1, **write})
    facts.feed("to_agent", 10.5, {"id": 1, "result": None})
    assert facts.may_have_changed("a.py", at(10.45))


def test_an_edit_that_names_no_file_may_change_any_while_it_runs(facts: TurnFacts) -> None:
    facts.feed("to_client", 10.0, update(toolCallId="c1", kind="edit", title="Edit something"))
    facts.feed("to_client", 11.0, update(toolCallId="c1", status="completed"))
    assert [facts.may_have_changed("a.py", at(moment)) for moment in (9.0, 10.5, 12.0)] == [
        False,
        True,
        False,
    ]
    facts.feed("to_client", 13.0, update(toolCallId="c2", kind="other", title="Do something"))
    assert not facts.may_have_changed("a.py", at(13.1))


def test_a_command_that_is_told_of_when_it_is_over_began_when_it_was_allowed(facts: TurnFacts) -> None:
    call, options = {"toolCallId": "c1", "kind": "execute"}, [{"optionId": "yes", "kind": "allow_once"}]
    params = {"toolCall": call, "options": options}
    facts.feed("to_client", 1.0, {"id": 7, "method": "session/request_permission", "params": params})
    facts.feed("to_agent", 2.0, {"id": 7, "result": {"outcome": {"optionId": "yes"}}})
    facts.feed("to_client", 9.0, update(toolCallId="c1", kind="execute", status="completed"))
    assert [facts.who("a.py", "made", at(moment))[0] for moment in (1.5, 5.0, 9.5)] == [
        "unknown",
        "command",
        "unknown",
    ]


def test_diffs_of_several_files_in_a_later_protocol_name_them(facts: TurnFacts, tmp_path: Path) -> None:
    changes = [{"operation": "add", "path": str(tmp_path / name)} for name in ("a.py", "b.py")]
    content = [{"type": "diff", "changes": changes}]
    facts.feed("to_client", 10.0, update(toolCallId="c1", kind="edit", content=content, status="completed"))
    facts.feed("to_client", 20.0, {"params": {"update": {"stopReason": "end_turn"}}})
    assert [facts.may_have_changed(name, at(10)) for name in ("a.py", "b.py", "c.py")] == [True, True, False]
    assert facts.answered_at == 20.0


def test_what_follows_the_next_prompt_is_not_the_turns(tmp_path: Path) -> None:
    facts = TurnFacts(str(tmp_path), key="first")
    facts.feed("note", 9.0, {"hub": "turn_ended", "key": "another"})
    facts.feed("to_agent", 9.5, {"id": 1, "method": "session/prompt"})
    facts.feed("note", 10.0, {"hub": "turn_ended", "key": "first"})
    facts.feed("to_agent", 10.1, {"id": 2, "method": "session/prompt"})
    facts.feed("to_client", 10.2, update(toolCallId="c1", kind="execute", status="completed"))
    assert facts.answered_at == 10.0
    assert not facts.may_have_changed("a.py", at(9.9))


def test_turns_whose_snapshot_seems_older_than_their_answer_explain_nothing(tmp_path: Path) -> None:
    turn = Turn(1, "s", 1, "turn", "", "", "", "", 0.0, 1, 2, 0)
    for end, is_explained in ((11.0, True), (9.0, False)):  # somebody set the clock back
        reader = FactsReader({}, {1: end}, nullcontext)
        facts = reader._known[turn.id] = TurnFacts(str(tmp_path))
        facts.feed("to_client", 8.0, update(toolCallId="c1", kind="execute", status="in_progress"))
        ended(facts, 10.0)
        assert reader.explain([turn], Change("a.py", None, at(8.5))) is is_explained


def test_a_call_that_is_named_like_a_write_breaks_nothing(facts: TurnFacts) -> None:
    write = {"id": 7, "method": "fs/write_text_file", "params": {"path": "a.py", "content": "made\n"}}
    facts.feed("to_client", 10.0, write)
    facts.feed("to_client", 10.1, update(toolCallId="write 7", kind="edit", status="failed"))
    facts.feed("to_agent", 10.2, {"id": 7, "error": {"code": -32603, "message": "no"}})
    assert not facts.may_have_changed("a.py", at(10.1))
