"""Violations of an agent in what it does with sessions, and with cancels."""

from __future__ import annotations

from tests.check.mutants.changes import (
    Change,
    Mutant,
    add,
    add_update,
    again,
    answer_with,
    drop,
    fact,
    later,
    leave_out,
    move,
    put,
    together,
)
from tests.check.mutants.script import error
from tests.check.mutants.values import FIRST, FOLDER, OLD, OTHER, SECOND, text

S = FIRST
FAILED = error(-32603, "Internal error")


def _by(talk: str, name: str, change: Change, *expected: str) -> Mutant:
    return Mutant(name, talk, "agent", change, expected)


PLANTED = [
    _by("work", "a session without an id", put("new, answer", "result.sessionId", ""), "SES-04"),
    _by("sessions", "a load without its replay", drop("load, user", "load, words"), "LOAD-03"),
    _by("sessions", "a replay without what the user said", drop("load, user"), "LOAD-03", "LOAD-05"),
    _by("sessions", "a replay after its answer", move("load, answer", after="load, user"), "LOAD-04"),
    _by(
        "sessions",
        "the user's words as the agent's",
        put("load, user", "params.update.sessionUpdate", "agent_message_chunk"),
        "LOAD-05",
        "LOAD-03",
    ),
    _by(
        "sessions",
        "one messageId for two replayed messages",
        put("load, words", "params.update.messageId", "old-1"),
        "LOAD-06",
    ),
    _by(
        "sessions",
        "a replay that names another session",
        put("load, words", "params.sessionId", "ses-nobody"),
        "LOAD-11",
    ),
    _by("sessions", "a load that forgets usage", drop("load, usage"), "LOAD-12"),
    _by(
        "sessions",
        "a replayed notice",
        add_update("load, user", OLD, "notice", severity="info", title="Fog"),
        "LOAD-13",
    ),
    _by(
        "sessions",
        "a compaction replayed in pieces",
        add_update("load, plan", OLD, "compaction_update", compactionId="old-cmp", status="in_progress"),
        "LOAD-16",
    ),
    _by(
        "sessions",
        "a loaded session that is unknown",
        answer_with("after load", error=error(-32002, "Not found", sessionId=OLD)),
        "LOAD-08",
    ),
    _by(
        "sessions",
        "history on resume",
        add_update("resume", SECOND, "user_message_chunk", content=text("Old words")),
        "RES-03",
    ),
    _by("sessions", "null as the answer to a resume", put("resume, answer", "result", None), "RES-06"),
    _by(
        "sessions",
        "a resumed session that is unknown",
        answer_with("after resume", error=error(-32002, "Not found", sessionId=SECOND)),
        "RES-04",
    ),
    _by(
        "sessions",
        "a file beside the roots",
        put("after resume, file", "params.path", "/home/ada/letters/chart.txt"),
        "SES-08",
    ),
    _by(
        "sessions",
        "a relative name looked for in another root",
        together(
            put("after resume, file", "params.path", "/home/ada/charts/chart.txt"),
            put("after resume, call", "params.update.locations.0.path", "/home/ada/charts/chart.txt"),
        ),
        "ADIR-08",
    ),
    _by(
        "sessions",
        "sessions that are null",
        put("list, nothing, answer", "result.sessions", None),
        "LST-03",
        "LST-04",
    ),
    _by(
        "sessions",
        "nothing found as an error",
        answer_with("list, nothing", error=error(-32002, "Nothing found")),
        "LST-04",
    ),
    _by(
        "sessions",
        "a session of another folder",
        put("list, folder, answer", "result.sessions.0.cwd", OTHER),
        "LST-05",
    ),
    _by(
        "sessions",
        "a listed session without an id",
        leave_out("list, answer", "result.sessions.0.sessionId"),
        "LST-06",
    ),
    _by(
        "sessions",
        "a listed session in a relative folder",
        put("list, answer", "result.sessions.0.cwd", "harbour"),
        "LST-06",
    ),
    _by(
        "sessions",
        "a time as a number",
        put("list, answer", "result.sessions.0.updatedAt", 1772300000),
        "LST-06",
    ),
    _by(
        "sessions",
        "a listing that changes the listing",
        put("list, folder again, answer", "result.sessions", []),
        "LST-13",
    ),
    _by(
        "sessions",
        "another title than was told",
        put("list, titles, answer", "result.sessions.0.title", "Untitled"),
        "LST-16",
    ),
    _by(
        "sessions",
        "a root that is dropped",
        put("list, titles, answer", "result.sessions.0.additionalDirectories", []),
        "ADIR-07",
    ),
    _by("sessions", "a close that is answered with true", put("close, answer", "result", True), "CLO-04"),
    _by(
        "sessions",
        "a turn that is answered after the close",
        together(
            put("busy, answer", "result.stopReason", "end_turn"), move("busy, answer", after="close, answer")
        ),
        "CLO-02",
    ),
    _by(
        "sessions",
        "a deleted session that is listed",
        put("list, after delete, answer", "result.sessions", [{"sessionId": S, "cwd": FOLDER}]),
        "DEL-02",
    ),
    _by(
        "sessions",
        "a delete that fails the second time",
        answer_with("delete, again", error=error(-32002, "Not found")),
        "DEL-03",
    ),
    _by("sessions", "null as the answer to a delete", put("delete, answer", "result", None), "DEL-04"),
    _by(
        "cancelling",
        "a cancelled turn that ends otherwise",
        put("asked, answer", "result.stopReason", "end_turn"),
        "CAN-06",
    ),
    _by(
        "cancelling",
        "a cancelled turn that is an error",
        answer_with("asked", error=error(-32603, "Aborted")),
        "CAN-07",
        "CAN-06",
    ),
    _by(
        "cancelling",
        "an update after a cancelled turn",
        move("asked, stopped", after="asked, answer"),
        "CAN-08",
        "TURN-06",
    ),
    _by("cancelling", "a cancel that takes a minute", later("slow, answer", 60.0), "CAN-05"),
    _by(
        "cancelling",
        "a cancel that is answered",
        add("slow, cancel", "to_client", {"jsonrpc": "2.0", "id": None, "result": {}}),
        "CAN-02",
        "RPC-05",
    ),
    _by("cancelling", "a cancelled turn that is never answered", drop("slow, answer"), "CAN-06"),
    _by("cancelling", "a session that is dead after a cancel", answer_with("on", error=FAILED), "CAN-13"),
    _by(
        "cancelling",
        "a neighbour that is cancelled too",
        put("right, answer", "result.stopReason", "cancelled"),
        "CAN-12",
    ),
    _by(
        "cancelling",
        "a withdrawn prompt with another code",
        put("back, answer", "error.code", -32603),
        "CRQ-05",
        "CRQ-03",
    ),
    _by("cancelling", "a withdrawn prompt that is answered twice", again("back, answer"), "CRQ-03", "RPC-03"),
    _by("cancelling", "a withdrawn prompt that is never answered", drop("back, answer"), "CRQ-03"),
    _by(
        "cancelling",
        "a withdrawal that is answered",
        add("late withdrawal", "to_client", {"jsonrpc": "2.0", "id": None, "error": error(-32601, "No")}),
        "RPC-05",
    ),
    _by("cancelling", "an agent that stays when its input ends", fact("exit", None), "STD-08"),
]
