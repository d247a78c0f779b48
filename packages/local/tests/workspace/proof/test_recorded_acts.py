"""What is read from a recording is what was judged when it was made."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman_local.workspace.proof.recorded_acts import HIDDEN, UNREADABLE, ActFold
from tests.workspace.proof.recording import OPTIONS, ROOT, Recording


def test_requests_lent_calls_and_announced_calls_are_acts_with_their_answers() -> None:
    session = Recording()
    session.command("npm test")
    session.command("git push", "no")
    session.edit(f"{ROOT}/a.py", "")
    session.request("terminal/create", {"command": "ls", "args": ["-l"]}, {"result": {"terminalId": "t"}})
    refusal = {"code": 403, "message": "no", "data": {"reason": "policy"}}
    session.request("fs/write_text_file", {"path": f"{ROOT}/b", "content": "x"}, {"error": refusal})
    missing = {"code": -32002, "message": "no", "data": {"reason": "missing"}}
    session.request("fs/read_text_file", {"path": f"{ROOT}/c"}, {"error": missing})
    session.call("unasked", kind="execute", rawInput={"command": "make"})
    session.call("harmless", kind="read", locations=[{"path": f"{ROOT}/a.py"}])
    found = session.acts()
    assert [(each.source, each.answer) for each in found] == [
        ("request", "allow"),
        ("request", "deny"),
        ("request", "none"),
        ("lent", "allow"),
        ("lent", "deny"),
        ("lent", "none"),
        ("announced", "none"),
    ]
    texts = [each.act.script.text for each in found if each.act is not None and each.act.script is not None]
    assert texts == ["npm test", "git push", "ls -l", "make"]
    assert all(each.act is not None and each.act.roots == (ROOT,) for each in found)


def test_what_was_announced_of_a_call_is_part_of_its_act() -> None:
    session = Recording()
    session.call("c", kind="execute", rawInput={"command": "git push"})
    session.ask("c", title="Tidy up")
    (recorded,) = session.acts()
    assert recorded.act is not None
    assert recorded.act.script is not None
    assert recorded.act.script.text == "git push"


def test_what_an_agent_does_with_lent_things_or_retells_is_not_counted_twice() -> None:
    session = Recording()
    session.call("w", kind="edit", content=[{"type": "diff", "path": f"{ROOT}/a", "newText": "x"}])
    session.request("fs/write_text_file", {"path": f"{ROOT}/a", "content": "x"}, {"result": {}})
    session.call("t", kind="execute", rawInput={"command": "ls"})
    session.request("terminal/create", {"command": "ls"}, {"result": {"terminalId": "1"}})
    session.to_client(id="p1", result={"stopReason": "end_turn"})
    session.to_agent(id="l", method="session/load", params={"cwd": ROOT, "sessionId": "s"})
    session.call("old", kind="execute", rawInput={"command": "make"})
    session.to_client(id="l", result={})
    assert [each.source for each in session.acts()] == ["lent", "lent"]


@pytest.mark.parametrize(
    ("told", "hidden"),
    [
        (b"session/request", rb"session\/\u0072equest"),
        (b'"jsonrpc":"2.0"', b'"jsonrpc":"2.0","method":"session/update"'),  # the later one counts
    ],
)
def test_a_method_cannot_be_hidden_by_escapes_or_another_one(told: bytes, hidden: bytes) -> None:
    session = Recording()
    session.command("make")
    at = next(at for at, (_, frame) in enumerate(session.entries) if b"request_permission" in frame)
    session.entries[at] = ("to_client", session.entries[at][1].replace(told, hidden))
    assert [each.source for each in session.acts()] == ["request"]


@pytest.mark.parametrize(
    "spelled",
    [
        lambda frame: frame,
        lambda frame: json.dumps(json.loads(frame)).encode(),  # with a space behind each sign
        lambda frame: json.dumps(dict(reversed(json.loads(frame).items()))).encode(),
        lambda frame: frame.replace(b"tool_call", b"tool\\u005fcall"),
        lambda frame: frame.replace(b'"method":"session', b'"method":"x","method":"session'),
        lambda frame: frame.replace(b'"update":', b'"meta":{"method":"x"},"update":'),
    ],
)
def test_an_update_is_the_same_however_it_is_spelled(spelled: Callable[[bytes], bytes]) -> None:
    session = Recording()
    session.call("a", kind="execute", rawInput={"command": "make"})
    session.call("a", rawInput={"command": "make all"}, content=[], locations=None)
    session.entries += [("to_client", b'{"jsonrpc":"2.0","method":"session/update","params":7}')]
    session.ask("a")
    before = session.acts()
    assert [each.act and each.act.script and each.act.script.text for each in before] == ["make all"]
    session.entries = [(way, spelled(frame)) for way, frame in session.entries]
    assert session.acts() == before


def test_an_act_that_depends_on_a_secret_says_so_and_one_that_writes_it_does_not() -> None:
    session = Recording()
    session.command("curl -H [redacted] localhost")
    session.edit(f"{ROOT}/a.py", new="key = '[redacted]'")
    assert [each.flaw for each in session.acts()] == [HIDDEN, ""]


def test_what_cannot_be_read_is_told_and_never_passed_over() -> None:
    session = Recording()
    session.request("session/request_permission", {"toolCall": 3, "options": OPTIONS}, None)
    session.request("fs/write_text_file", {"path": 7}, {"result": {}})
    assert [(each.act, each.flaw) for each in session.acts()] == [(None, UNREADABLE), (None, UNREADABLE)]
    for junk in (b"", b"[", b"[1]", b'"x"', b'{"id":1,"method":3}', b"\xff", b'{"hub":3}'):
        for direction in ("to_agent", "to_client", "note"):
            assert not list(ActFold(stream="x").add_runs(1, [(direction, [junk], 0.0, False)]))


def test_a_hubs_notes_say_who_answered_and_where_the_session_lives() -> None:
    session = Recording(cwd="")
    session.note("made", agent="mine", cwd=ROOT, folders=[])
    session.to_agent(id=1, method="session/prompt", params={"sessionId": "s", "prompt": []})
    by_ann = session.command("make")
    chosen = {"outcome": {"outcome": "selected", "optionId": "yes"}}
    session.note("settled", request=str(by_ann), by="ann", outcome="answered", result=chosen)
    by_rule = session.command("git push", "no")
    refused = {"outcome": {"outcome": "selected", "optionId": "no"}}
    session.note("settled", request=str(by_rule), by="policy", outcome="answered", result=refused)
    lent = session.request("fs/write_text_file", {"path": f"{ROOT}/a", "content": "x"}, None)
    about = {"dragoman": {"about": str(lent)}}
    question = {"sessionId": "s", "toolCall": {"toolCallId": "q"}, "options": OPTIONS, "_meta": about}
    own = session.to_client(id="hub:1", method="session/request_permission", params=question)
    session.note("settled", request=str(own), by="bob", outcome="answered", result=refused)
    session.note("settled", request=str(lent), by="hub", outcome="answered")
    found = session.acts()
    assert [(each.source, each.answer, each.by) for each in found] == [
        ("request", "allow", "ann"),
        ("request", "deny", "policy"),
        ("lent", "deny", "bob"),
    ]
    assert {each.act.agent for each in found if each.act} == {"mine"}


def test_no_agent_hides_a_question_as_one_of_a_hub() -> None:
    session = Recording()
    meta = {"dragoman": {"about": "1"}}
    call = {"toolCallId": "x", "kind": "execute", "rawInput": {"command": "make"}}
    params = {"sessionId": "s", "toolCall": call, "options": OPTIONS, "_meta": meta}
    session.to_client(id="hub:1", method="session/request_permission", params=params)
    assert [each.source for each in session.acts()] == ["request"]


def test_links_are_followed_as_a_guard_follows_them(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    session = Recording(cwd=str(tmp_path))
    session.request("fs/read_text_file", {"path": f"{tmp_path}/link/x"}, {"result": {"content": ""}})
    (recorded,) = session.acts()
    assert recorded.act is not None
    assert recorded.act.paths == (str(tmp_path / "real/x"),)
