"""RPC: what a side says, frame by frame."""

from __future__ import annotations

from typing import Any

from dragoman_check.verdict import judge
from tests.check.conversations import Said, agent, client, make_recording
from tests.check.rules.talks import Talk, breaks, keeps, says, says_nothing
from tests.every import every


def raw(text: bytes) -> Said:
    """A line of the agent."""
    return "to_client", text


def line(text: bytes) -> Said:
    """A line of the client."""
    return "to_agent", text


def asking(request_id: Any) -> Talk:
    """The agent asks under an id."""
    return Talk().ask("session/request_permission", {"sessionId": "s"}, {"outcome": {}}, id=request_id)


def test_rpc_01_every_message_names_the_version() -> None:
    keeps("RPC-01", Talk())
    breaks("RPC-01", Talk().add(raw(b'{"method":"session/update","params":{}}')))
    breaks("RPC-01", Talk().add(agent("session/update", {}, jsonrpc="1.0")))
    breaks("RPC-01", Talk().add(line(b'{"method":"nope"}')), "client")
    keeps("RPC-01", Talk().add(line(b'{"method":"nope"}')))


def test_rpc_02_a_request_has_a_method_and_an_id() -> None:
    for fine in (1, -1, "a", None, 2**53 + 1):
        keeps("RPC-02", asking(fine))
    wrongs: list[Any] = [1.5, True, [], 2**63]
    for wrong in wrongs:
        breaks("RPC-02", asking(wrong))
    breaks("RPC-02", Talk().add(raw(b'{"jsonrpc":"2.0","id":1,"method":5}')))


@every("wrong", ["1", 1.0, 3, None, True])
def test_rpc_03_an_answer_repeats_the_id(wrong: Any) -> None:
    talk = Talk().begin("session/list", {})
    keeps("RPC-03", Talk().call("session/list", {}))
    if wrong is None:
        breaks("RPC-03", talk.add(raw(b'{"jsonrpc":"2.0","result":{}}')))
    else:
        breaks("RPC-03", talk.add(agent(id=wrong, result={})))


def test_rpc_03_a_second_answer_belongs_to_no_request() -> None:
    breaks("RPC-03", Talk().call("session/list", {}).answer({}))


def test_rpc_03_large_ids_come_back_whole() -> None:
    question = client("session/list", {}, id=2**53 + 1)
    keeps("RPC-03", Talk().add(question, agent(id=2**53 + 1, result={})))
    breaks("RPC-03", Talk().add(question, agent(id=2**53, result={})))


def test_rpc_03_what_began_before_the_recording_is_left_alone() -> None:
    recording = make_recording(agent(id=7, result={}), client("session/prompt", {}, id=8))
    (verdict,) = judge([recording], "agent", only=["RPC-03"])
    assert verdict.status == "not exercised"


def test_rpc_04_an_answer_has_one_half() -> None:
    keeps("RPC-04", Talk())
    both: dict[str, Any] = {"result": {}, "error": {"code": 1, "message": "x"}}
    breaks("RPC-04", Talk().begin("session/list").add(agent(id=2, **both)))
    breaks("RPC-04", Talk().begin("session/list").add(agent(id=2)))
    keeps("RPC-04", Talk().begin("session/list").add(agent(id=2, result=None)))


def test_rpc_05_a_notification_is_never_answered() -> None:
    note = client("nope", {})
    refusal = agent(id=None, error={"code": -32601, "message": "No."})
    keeps("RPC-05", Talk().add(note).call("session/list"))
    breaks("RPC-05", Talk().add(note, refusal).call("session/list"))
    says_nothing("RPC-05", Talk().add(note))


def test_rpc_05_a_refusal_of_a_broken_line_is_no_answer_to_a_notification() -> None:
    refusal = agent(id=None, error={"code": -32700, "message": "No."})
    keeps("RPC-05", Talk().add(client("nope", {}), line(b"{"), refusal).call("session/list"))
    # It was overtaken by the answer to a later request.
    late = Talk().add(client("nope", {}), line(b"{")).call("session/list").add(refusal)
    keeps("RPC-05", late)
    keeps("RPC-10", late)


def test_rpc_05_codes_tell_whom_a_refusal_is_for() -> None:
    unknown = agent(id=None, error={"code": -32601, "message": "No."})
    broken = agent(id=None, error={"code": -32700, "message": "No."})
    talk = Talk().add(client("nope", {}), line(b"{"), unknown, broken).call("session/list")
    breaks("RPC-05", talk)
    keeps("RPC-10", talk)


def test_rpc_06_ids_are_whole_and_not_null() -> None:
    keeps("RPC-06", asking(1))
    breaks("RPC-06", asking(None))
    breaks("RPC-06", asking(1.5))


def test_rpc_07_errors_have_a_code_and_a_message() -> None:
    keeps("RPC-07", Talk().call("session/list", code=-32601))
    for wrong in ({"code": "x", "message": "m"}, {"code": 1}, "text", {"code": True, "message": "m"}):
        breaks("RPC-07", Talk().begin("session/list").add(agent(id=2, error=wrong)))


def test_rpc_08_the_message_of_an_error_is_short() -> None:
    keeps("RPC-08", Talk().call("session/list", code=-32601))
    breaks("RPC-08", Talk().call("session/list", code=-32603, message="Traceback\n  File x"))
    breaks("RPC-08", Talk().call("session/list", code=-32603, message="no " * 200))


def test_rpc_17_names_are_written_as_in_the_schema() -> None:
    keeps("RPC-17", Talk().new().add(says("s", "hi", _meta={"session_id": 1})))
    breaks("RPC-17", Talk().add(agent("session/update", {"session_id": "s", "update": {}})))
    wrong = {"sessionId": "s", "update": {"sessionUpdate": "agentMessageChunk"}}
    breaks("RPC-17", Talk().add(agent("session/update", wrong)))
    keeps("RPC-17", Talk().add(agent("_mine/note", {"session_id": "s"})))


def test_rpc_19_both_sides_may_use_one_id_at_once() -> None:
    question = agent("session/request_permission", {}, id=2)
    reply = client(id=2, result={})
    keeps("RPC-19", Talk().begin("session/list").add(question).answer().add(reply))
    lost = Talk().begin("session/list").add(question, reply).call("session/new", {})
    breaks("RPC-19", lost)
    says_nothing("RPC-19", Talk().call("session/list").add(question, reply))


def test_rpc_20_an_id_that_is_in_use() -> None:
    twice = (client("session/list", {}, id=9), client("session/list", {}, id=9))
    keeps("RPC-20", Talk().add(*twice, agent(id=9, result={}), agent(id=9, result={})))
    breaks("RPC-20", Talk().add(*twice, agent(id=9, result={})).call("session/list"))
