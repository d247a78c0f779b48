"""Single things that can go wrong around a cut, one by one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.sdk.resumption.resumption import Resumption
from tests.sdk.resumption.model import Hub, Message, frame, mark_of
from tests.sdk.resumption.table import SESSION, Table


def begun() -> Table:
    """One session, and all is quiet."""
    table = Table(Hub())
    table.ask("initialize", protocolVersion=1)
    table.settle()
    table.ask("session/new", **SESSION)
    table.settle()
    return table


def cut_and_back(table: Table) -> list[Message]:
    """What is said on the next connection until all is quiet."""
    table.cut()
    table.open()
    said: list[Message] = []
    while table.up or table.down:
        if table.up:
            said.append(json.loads(table.up[0]))
            table.carry_up()
        else:
            table.carry_down()
    return said


def test_the_way_back_is_initialize_then_the_sessions_then_what_is_open() -> None:
    table = begun()
    number = table.prompt("s0", "q")
    said = cut_and_back(table)
    assert [one["method"] for one in said] == ["initialize", "session/resume", "session/prompt"]
    (key,) = mark_of(said[1]["params"])["prompts"]
    assert mark_of(said[1]["params"])["after"] == "1"
    assert said[1]["params"]["cwd"] == "/tmp"
    assert (said[2]["id"], mark_of(said[2]["params"])["key"]) == (number, key)
    assert mark_of(said[0]["params"]) == {"cursors": True, "client": "client-0123"}


def test_a_key_of_the_editors_own_is_left_alone() -> None:
    table = begun()
    table.ask("session/prompt", sessionId="s0", prompt=[{"text": "u"}], _meta={"dragoman": {"key": "mine"}})
    assert mark_of(json.loads(table.up[-1])["params"])["key"] == "mine"


def test_a_cancel_is_said_again_only_while_its_turn_is_open() -> None:
    table = begun()
    table.prompt("s0", "q")
    table.say({"method": "session/cancel", "params": {"sessionId": "s0"}})
    said = cut_and_back(table)
    assert [one["method"] for one in said[2:]] == ["session/prompt", "session/cancel"]
    table.settle()
    assert [one["method"] for one in cut_and_back(table)] == ["initialize", "session/resume"]


def test_a_cancel_that_is_said_again_hits_no_later_turn() -> None:
    table = begun()
    table.prompt("s0", "q")
    table.say({"method": "session/cancel", "params": {"sessionId": "s0"}})
    table.prompt("s0", "u")
    while table.up:
        table.carry_up()
    table.step("s0")  # the first turn is over, the second has begun, and nobody has heard of it
    cut_and_back(table)
    table.settle()
    assert [entry[0] for entry in table.hub.sessions["s0"].told] == ["prompt", "cancel", "prompt"]
    ends = [one["result"]["stopReason"] for one in table.messages() if "stopReason" in one.get("result", {})]
    assert ends == ["cancelled", "end_turn"]


def test_a_session_that_the_editor_is_opening_is_not_opened_by_us_as_well() -> None:
    table = begun()
    table.ask("session/load", sessionId="s0", **SESSION)
    assert [one["method"] for one in cut_and_back(table)] == ["initialize", "session/load"]


def test_a_session_that_the_editor_opens_while_it_is_cut_off_is_told_to_it_once() -> None:
    core = introduced()
    core.say(frame({"id": 1, "method": "session/resume", "params": {"sessionId": "s", **SESSION}}))
    hears(core, {"id": 1, "result": {}})
    core.on_connection_lost()
    core.say(frame({"id": 2, "method": "session/load", "params": {"sessionId": "s", **SESSION}}))
    assert [one["method"] for one in back(core)] == ["session/load"]


def test_a_resumed_session_that_has_told_nothing_yet_is_come_back_to_at_its_end() -> None:
    core = introduced()
    core.say(frame({"id": 1, "method": "session/resume", "params": {"sessionId": "s", **SESSION}}))
    told = hears(core, {"id": 1, "result": {"_meta": {"dragoman": {"cursor": "20"}}}})
    assert told == [{"jsonrpc": "2.0", "id": 1, "result": {}}], "the mark is for us"
    (resume,) = back(core)
    assert resume["params"]["_meta"]["dragoman"]["after"] == "20"


def test_an_answer_that_was_lost_is_given_again_and_nobody_is_asked_twice() -> None:
    table = begun()
    table.prompt("s0", "q")
    table.settle(answering=False)
    table.answer()  # on the wire, and lost with it
    cut_and_back(table)
    table.settle()
    assert table.hub.sessions["s0"].told[1:] == [("answer", "n1", "yes to n1")]
    assert len([one for one in table.messages() if "method" in one and "id" in one]) == 1


def test_a_question_that_was_settled_meanwhile_is_withdrawn_before_its_turn_ends() -> None:
    table = begun()
    number = table.prompt("s0", "qu")
    table.settle(answering=False)
    (question,) = table.questions
    table.cut()
    table.hub.answer(table.hub.sessions["s0"], "n1", "by somebody else")
    table.settle(answering=False)
    withdrawn = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": question["id"]}}
    messages = table.messages()
    assert messages.index(withdrawn) < messages.index(table.answers_to(number)[0])
    table.say({"id": question["id"], "result": {"said": "too late"}})
    assert not table.up


def test_a_question_that_was_settled_meanwhile_is_withdrawn_though_its_turn_goes_on() -> None:
    table = begun()
    number = table.prompt("s0", "qqu")
    table.settle(answering=False)
    table.answer()
    table.settle(answering=False)
    (second,) = table.questions
    table.cut()
    table.hub.answer(table.hub.sessions["s0"], "n2", "by somebody else")
    table.open()
    while table.up or table.down:  # the agent has not said anything since
        table.carry_up() if table.up else table.carry_down()
    assert not table.questions
    assert not table.answers_to(number)
    assert table.messages()[-1]["params"] == {"requestId": second["id"]}


def test_a_question_that_is_still_open_stays_so_when_we_are_back() -> None:
    table = begun()
    table.prompt("s0", "q")
    table.settle(answering=False)
    cut_and_back(table)
    cut_and_back(table)
    assert len(table.questions) == 1
    table.settle()
    assert table.hub.sessions["s0"].told[1:] == [("answer", "n1", "yes to n1")]


def test_a_withdrawal_of_the_hub_reaches_the_editor_under_its_own_id() -> None:
    table = begun()
    table.prompt("s0", "q")
    table.settle(answering=False)
    cut_and_back(table)
    (question,) = table.questions
    table.say({"method": "session/cancel", "params": {"sessionId": "s0"}})
    table.settle(answering=False)
    assert not table.questions
    table.say({"id": question["id"], "error": {"code": -32800, "message": "cancelled"}})
    assert json.loads(table.up[-1])["error"]["code"] == -32800


def test_a_method_of_others_is_not_repeated_but_answered() -> None:
    table = begun()
    number = table.ask("_mine/launch")
    said = cut_and_back(table)
    assert [one["method"] for one in said] == ["initialize", "session/resume"]
    assert "may have been carried out or not" in table.answers_to(number)[0]["error"]["message"]


def hears(core: Resumption, message: Message) -> list[Message]:
    core.hear(frame(message))
    heard, core.to_editor = core.to_editor, []
    return [json.loads(one) for one in heard]


def says(core: Resumption) -> list[Message]:
    said, core.to_hub = core.to_hub, []
    return [json.loads(one) for one in said]


def introduced(**mark: Any) -> Resumption:
    core = Resumption(client="client-0123")
    core.on_open()
    core.say(
        frame({"id": 0, "method": "initialize", "params": {"_meta": {"dragoman": mark}} if mark else {}})
    )
    hears(core, {"id": 0, "result": {"_meta": {"dragoman": {"hub": "0"}}}})
    says(core)
    return core


def back(core: Resumption) -> list[Message]:
    """What is said between the introduction and the rest."""
    core.on_connection_lost()
    core.on_open()
    says(core)
    hears(core, {"id": 0, "result": {"_meta": {"dragoman": {"hub": "0"}}}})
    return says(core)


@pytest.mark.parametrize("method", ["session/close", "session/delete"])
def test_a_session_that_was_closed_before_the_cut_is_closed(method: str) -> None:
    core = introduced()
    core.say(frame({"id": 1, "method": method, "params": {"sessionId": "s"}}))
    assert [one["method"] for one in back(core)] == [method]
    (told,) = hears(core, {"id": 1, "error": {"code": -32002, "message": "Session not found"}})
    assert told["result"] == {}


def test_an_editor_that_wants_the_marks_sees_them() -> None:
    core = introduced(cursors=True, client="its-own-name")
    note = {"method": "session/update", "params": {"sessionId": "s", "_meta": {"dragoman": {"cursor": "4"}}}}
    assert hears(core, note) == [{"jsonrpc": "2.0", **note}]


def test_a_closed_session_is_not_come_back_to() -> None:
    core = introduced()
    core.say(frame({"id": 1, "method": "session/resume", "params": {"sessionId": "s", **SESSION}}))
    hears(core, {"id": 1, "result": {}})
    core.say(frame({"id": 2, "method": "session/close", "params": {"sessionId": "s"}}))
    hears(core, {"id": 2, "result": {}})
    assert back(core) == []


def test_a_session_that_is_looked_at_is_looked_at_again() -> None:
    core = introduced()
    core.say(frame({"id": 1, "method": "_dragoman/hub/attach", "params": {"sessionId": "s"}}))
    hears(core, {"id": 1, "result": {"cursor": "8"}})
    core.say(frame({"id": 2, "method": "_dragoman/hub/watch", "params": {"on": True}}))
    hears(core, {"id": 2, "result": {}})
    said = [(one["method"], one["params"]) for one in back(core)]
    assert said == [
        ("_dragoman/hub/watch", {"on": True}),
        ("_dragoman/hub/attach", {"sessionId": "s", "after": "8"}),
    ]
    core.say(frame({"id": 3, "method": "_dragoman/hub/detach", "params": {"sessionId": "s"}}))


def test_nothing_overtakes_while_we_come_back() -> None:
    core = introduced()
    core.say(frame({"id": 1, "method": "session/resume", "params": {"sessionId": "s", **SESSION}}))
    hears(core, {"id": 1, "result": {}})
    (resume,) = back(core)
    core.say(frame({"id": 2, "method": "session/list"}))
    core.say(frame({"id": 3, "method": "session/list"}))
    assert says(core) == []
    assert core.held_bytes > 0
    hears(core, {"id": resume["id"], "result": {}})
    assert [one["id"] for one in says(core)] == [2, 3]
    assert core.held_bytes == 0


def test_a_session_that_is_gone_does_not_keep_the_others_waiting() -> None:
    core = introduced()
    core.say(frame({"id": 1, "method": "session/resume", "params": {"sessionId": "s", **SESSION}}))
    hears(core, {"id": 1, "result": {}})
    (resume,) = back(core)
    assert hears(core, {"id": resume["id"], "error": {"code": -32002, "message": "Session not found"}}) == []
    assert core.phase == "live"


def test_a_hub_that_does_not_take_us_back_is_a_fault_of_the_connection() -> None:
    core = introduced()
    core.on_connection_lost()
    core.on_open()
    assert hears(core, {"id": None, "error": {"code": -32603, "message": "too many clients"}}) == []
    assert "too many clients" in core.fault


def test_a_server_that_is_full_says_so_and_that_is_the_end() -> None:
    core = Resumption(client="client-0123")
    core.on_open()
    core.say(frame({"id": 0, "method": "initialize", "params": {}}))
    full: Message = {"jsonrpc": "2.0", "id": None, "error": {"code": -32603, "message": "too many clients"}}
    assert hears(core, full) == [full]
    assert not core.survives


def test_giving_up_answers_everything_that_the_editor_waits_for() -> None:
    core = introduced()
    core.say(frame({"id": 1, "method": "session/list"}))
    core.on_connection_lost()
    core.say(frame({"id": 2, "method": "session/list"}))
    core.say(frame({"method": "session/cancel", "params": {"sessionId": "s"}}))
    core.give_up("it is gone")
    assert [json.loads(one)["id"] for one in core.to_editor] == [1, 2]
    assert not core.survives


def test_a_connection_that_was_never_introduced_has_nothing_to_come_back_to() -> None:
    core = Resumption(client="client-0123")
    core.on_open()
    assert core.survives
    core.say(frame({"id": 1, "method": "session/list"}))
    assert [one["id"] for one in says(core)] == [1]
    assert not core.survives


def test_an_answer_that_nobody_waits_for_does_not_reach_the_editor() -> None:
    core = introduced()
    assert hears(core, {"id": 77, "result": {}}) == []
    assert hears(core, {"id": None, "error": {"code": -32700, "message": "Parse error"}})
