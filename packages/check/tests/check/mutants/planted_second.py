"""Violations in version 2, of an agent and of a client."""

from __future__ import annotations

from dragoman_check.manifest import Side
from tests.check.mutants.changes import (
    Change,
    Mutant,
    add,
    add_request,
    add_update,
    again,
    answer_with,
    drop,
    leave_out,
    move,
    put,
    rename,
)
from tests.check.mutants.script import error
from tests.check.mutants.values import FIRST, FOLDER, OLD, text

S = FIRST


def _by(side: Side, name: str, change: Change, *expected: str) -> Mutant:
    return Mutant(f"{name}, version 2", "second", side, change, expected)


AGENT = [
    _by(
        "agent",
        "a handshake without a name",
        leave_out("initialize, answer", "result.info"),
        "INIT-10",
        "INIT-05",
    ),
    _by("agent", "capabilities as a list", put("initialize, answer", "result.capabilities", []), "INIT-05"),
    _by("agent", "an update without jsonrpc", leave_out("hello, words", "jsonrpc"), "RPC-01"),
    _by("agent", "a prompt that is acknowledged twice", again("hello, answer"), "RPC-03"),
    _by("agent", "a log line on stdout", add("hello", "to_client", b"INFO ready"), "STD-03"),
    _by("agent", "work after idle", move("hello, idle", after="hello, words"), "TURN-06"),
    _by(
        "agent",
        "a session that is never idle",
        drop("hello, idle", "edit, idle", "slow, idle", "on, idle"),
        "TURN-03",
    ),
    _by("agent", "a reason that is a number", put("hello, idle", "params.update.stopReason", 7), "TURN-04"),
    _by(
        "agent",
        "an update of a session that nobody has",
        put("hello, words", "params.sessionId", "ses-nobody"),
        "TURN-07",
    ),
    _by(
        "agent",
        "another message than was acknowledged",
        put("hello, answer", "result.messageId", "user-99"),
        "TURN-09",
    ),
    _by(
        "agent",
        "a chunk without a messageId",
        leave_out("hello, words", "params.update.messageId"),
        "UPD-02",
    ),
    _by(
        "agent",
        "an update without its kind",
        leave_out("hello, words", "params.update.sessionUpdate"),
        "UPD-01",
    ),
    _by(
        "agent",
        "content as a list in a chunk",
        put("hello, words", "params.update.content", [text("Good")]),
        "UPD-02",
    ),
    _by("agent", "usage without a size", leave_out("hello, usage", "params.update.size"), "TURN-13"),
    _by("agent", "usage of a window of size 0", put("hello, usage", "params.update.size", 0), "TURN-14"),
    _by("agent", "a tool call without an id", leave_out("edit, call", "params.update.toolCallId"), "TOOL-06"),
    _by("agent", "a tool call that never ends", drop("edit, done"), "TOOL-10"),
    _by(
        "agent",
        "a relative location",
        put("edit, call", "params.update.locations.0.path", "harbour.py"),
        "RPC-24",
        "TOOL-16",
    ),
    _by("agent", "a question without a title", leave_out("edit, question", "params.title"), "PERM-02"),
    _by("agent", "a question without options", leave_out("edit, question", "params.options"), "PERM-02"),
    _by(
        "agent",
        "a plan entry without a status",
        leave_out("edit, plan", "params.update.plan.entries.0.status"),
        "PLAN-02",
    ),
    _by(
        "agent",
        "a cancelled turn that ends otherwise",
        put("slow, idle", "params.update.stopReason", "end_turn"),
        "CAN-06",
    ),
    _by(
        "agent",
        "a cancelled turn that is an error",
        put("slow, idle", "params.update.stopReason", "error"),
        "CAN-07",
        "CAN-06",
    ),
    _by(
        "agent",
        "an update after a cancelled turn",
        move("slow, stopped", after="slow, idle"),
        "CAN-08",
        "TURN-06",
    ),
    _by(
        "agent",
        "a session that is dead after a cancel",
        answer_with("on", error=error(-32603, "Internal error")),
        "CAN-13",
    ),
    _by(
        "agent",
        "history that nobody asked for",
        add_update("resume", OLD, "user_message", messageId="old-1", content=[text("Old words")]),
        "RES-03",
    ),
    _by("agent", "a resumed session without a state", drop("resume, state"), "RES-04"),
    _by(
        "agent",
        "a close in a turn that goes on",
        move("old, idle", after="close, answer"),
        "CLO-02",
        "CLO-03",
    ),
    _by("agent", "a listing without its sessions", put("list, answer", "result", {}), "LST-03"),
    _by("agent", "null as the answer to a close", put("close, answer", "result", 5), "CLO-04"),
    _by(
        "agent",
        "a method of version 1",
        add_request(
            "hello, words",
            "to_client",
            "fs/read_text_file",
            {"sessionId": S, "path": f"{FOLDER}/a"},
            result={"content": ""},
        ),
        "INIT-11",
    ),
]

CLIENT = [
    _by("client", "a client without a name", leave_out("initialize", "params.info"), "INIT-04"),
    _by("client", "a session before the handshake", move("initialize, answer", after="new"), "INIT-01"),
    _by(
        "client",
        "an option that was not offered",
        put("edit, question, answer", "result.outcome.optionId", "sure"),
        "PERM-06",
    ),
    _by(
        "client",
        "an outcome that is not nested",
        put("edit, question, answer", "result", {"outcome": "selected", "optionId": "yes"}),
        "PERM-05",
    ),
    _by("client", "a prompt before its session", move("new, answer", after="hello"), "TURN-01"),
    _by(
        "client",
        "audio for an agent that takes none",
        put("hello", "params.prompt", [{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}]),
        "TURN-02",
        "CONT-07",
    ),
    _by(
        "client",
        "an open question that is allowed after a cancel",
        put("slow, question, answer", "result.outcome", {"outcome": "selected", "optionId": "yes"}),
        "PERM-07",
    ),
    _by("client", "a relative folder", put("new", "params.cwd", "harbour"), "RPC-24", "SES-02"),
    _by("client", "a member with underscores", rename("hello", "params.sessionId", "session_id"), "RPC-17"),
    _by(
        "client",
        "a method of version 1",
        add_request(
            "hello, idle", "to_agent", "session/set_mode", {"sessionId": S, "modeId": "ask"}, result={}
        ),
        "INIT-11",
    ),
    _by("client", "a file that is no answer", put("edit, question, answer", "id", "1"), "RPC-03"),
]

PLANTED = [*AGENT, *CLIENT]
