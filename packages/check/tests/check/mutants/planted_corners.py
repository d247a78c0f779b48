"""Violations of an agent in the corners: leniency, folders, servers, races, and forms."""

from __future__ import annotations

from tests.check.mutants.changes import (
    Change,
    Mutant,
    add,
    add_request,
    answer_with,
    drop,
    end_after,
    fact,
    later,
    leave_out,
    move,
    put,
    together,
)
from tests.check.mutants.script import error, message
from tests.check.mutants.values import EXTRA, FIRST, FOLDER, OLD, SECOND

S = FIRST
BAD = error(-32602, "Invalid params")
FAILED = error(-32603, "Internal error")
MANY = [{"sessionId": f"ses-{number}", "cwd": FOLDER} for number in range(1001)]


def _by(talk: str, name: str, change: Change, *expected: str) -> Mutant:
    return Mutant(name, talk, "agent", change, expected)


PLANTED = [
    _by(
        "versions",
        "a version that does not exist is agreed upon",
        put("initialize, answer", "result.protocolVersion", 65535),
        "INIT-07",
    ),
    _by(
        "versions",
        "a version that does not exist is an error",
        answer_with("initialize", error=BAD),
        "INIT-07",
    ),
    _by(
        "versions",
        "a malformed capability is refused",
        answer_with("initialize", error=BAD),
        "INIT-15",
        "LEN-01",
    ),
    _by(
        "versions",
        "the session that only meta names",
        put("new with hostile meta, answer", "result.sessionId", "ses-etc"),
        "EXT-04",
        "EXT-05",
    ),
    _by(
        "versions",
        "a request refused for what meta says",
        answer_with("new with hostile meta", error=BAD),
        "EXT-04",
    ),
    _by("versions", "null roots that are refused", answer_with("new with null roots", error=BAD), "LEN-03"),
    _by(
        "versions",
        "a session without a folder",
        answer_with("new without cwd", result={"sessionId": "ses-x"}),
        "LEN-05",
    ),
    _by("versions", "odd annotations that are refused", answer_with("odd blocks", error=BAD), "LEN-01"),
    _by(
        "versions",
        "a resource with neither text nor bytes",
        leave_out("odd blocks, done", "params.update.content.0.content.resource.text"),
        "CONT-06",
    ),
    _by(
        "versions",
        "annotations that are wrong",
        put("odd blocks, words", "params.update.content.annotations", {"priority": "high"}),
        "CONT-10",
    ),
    _by("versions", "a turn that fails without forms", answer_with("formless", error=FAILED), "ELIC-03"),
    _by(
        "versions",
        "a form for a client that advertises no mode",
        add_request(
            "formless",
            "to_client",
            "elicitation/create",
            {
                "sessionId": S,
                "mode": "form",
                "message": "?",
                "requestedSchema": {"type": "object", "properties": {}},
            },
            result={"action": "cancel"},
        ),
        "ELIC-01",
    ),
    _by(
        "work",
        "a private method that nobody announced",
        add_request("hello, answer", "to_agent", "_pilot/speed", {}, result={}),
        "INIT-25",
        "EXT-09",
    ),
    _by("work", "a plain prompt that is refused", answer_with("hello", error=BAD), "CONT-08"),
    _by(
        "work",
        "a file written before any tool was told",
        together(move("edit, write", after="edit, plan"), move("edit, write, answer", after="edit, write")),
        "TURN-12",
    ),
    _by(
        "work",
        "a tool that is never told",
        together(drop("killed, call", "killed, progress", "killed, done")),
        "TOOL-01",
    ),
    _by(
        "work",
        "a file looked for elsewhere",
        together(
            put("read, call", "params.update.locations.0.path", "/srv/harbour.py"),
            put("read, file", "params.path", "/srv/harbour.py"),
        ),
        "SES-05",
        "SES-06",
    ),
    _by(
        "work",
        "a command that runs elsewhere",
        put("run, output, answer", "result.output", "/srv/elsewhere\n"),
        "SES-05",
    ),
    _by(
        "work", "a file that could not be used", put("read, done", "params.update.status", "failed"), "SES-07"
    ),
    _by(
        "work",
        "no servers over HTTP",
        put("initialize, answer", "result.agentCapabilities.mcpCapabilities", {}),
        "SES-13",
    ),
    _by("work", "a server that is not started", fact("logs", [[]]), "SES-10"),
    _by(
        "work",
        "one server of two that is not started",
        fact("logs", [["initialize", "tools/list"], []]),
        "SES-11",
    ),
    _by(
        "work",
        "an image without its bytes",
        leave_out("blocks, done", "params.update.content.0.content.data"),
        "CONT-04",
    ),
    _by(
        "cancelling",
        "the folder of another session",
        add_request(
            "right, words",
            "to_client",
            "fs/read_text_file",
            {"sessionId": SECOND, "path": f"{FOLDER}/harbour.py"},
            result={"content": ""},
        ),
        "SES-18",
    ),
    _by(
        "cancelling",
        "a file outside of the only folder",
        add_request(
            "on, words",
            "to_client",
            "fs/read_text_file",
            {"sessionId": S, "path": "/etc/passwd"},
            result={"content": ""},
        ),
        "SES-08",
    ),
    _by(
        "cancelling",
        "a turn that waits for another session",
        together(
            add_request(
                "left", "to_client", "fs/read_text_file", {"sessionId": S, "path": f"{FOLDER}/a.txt"}
            ),
            move("right, words", after="left, answer"),
            later("left, cancel", 20.0),
        ),
        "TURN-17",
    ),
    _by(
        "cancelling",
        "a late withdrawal that is obeyed",
        add("late withdrawal", "to_client", {"jsonrpc": "2.0", "id": 8, "error": error(-32800, "Cancelled")}),
        "CRQ-06",
        "RPC-03",
    ),
    _by(
        "cancelling",
        "the text of a number that cancels",
        together(
            add("right, words", "to_agent", message("$/cancel_request", {"requestId": "12"})),
            put("right, answer", "result.stopReason", "cancelled"),
        ),
        "CRQ-08",
        "CAN-12",
    ),
    _by(
        "cancelling",
        "a withdrawal of nothing that is answered",
        together(
            add("on, answer", "to_agent", message("$/cancel_request", {"requestId": 4711})),
            add(
                "planted after on, answer",
                "to_client",
                {"jsonrpc": "2.0", "id": None, "error": error(-32601, "No")},
            ),
        ),
        "CRQ-07",
        "RPC-05",
    ),
    _by(
        "cancelling",
        "two answers to one cancel",
        add(
            "slow, answer", "to_client", {"jsonrpc": "2.0", "id": None, "result": {"stopReason": "cancelled"}}
        ),
        "CAN-02",
        "RPC-05",
    ),
    _by(
        "probes",
        "an unknown notification that is answered as such",
        add(
            "unknown notification",
            "to_client",
            {"jsonrpc": "2.0", "id": None, "error": error(-32601, "No such notification")},
        ),
        "EXT-08",
    ),
    _by(
        "probes",
        "a missing session as an internal error",
        answer_with("prompt of an unknown session", error=error(-32603, "Session not found")),
        "ERR-03",
        "SES-20",
    ),
    _by(
        "probes",
        "an agent that is silent after a failure",
        together(put("new without cwd, answer", "error.code", -32603), end_after("new without servers")),
        "RPC-13",
        "RPC-12",
    ),
    _by(
        "sessions",
        "a page without an end",
        put("list, after delete, answer", "result.sessions", MANY),
        "LST-10",
    ),
    _by(
        "sessions",
        "the root of another session",
        add_request(
            "after load, words",
            "to_client",
            "fs/read_text_file",
            {"sessionId": OLD, "path": f"{EXTRA}/a.txt"},
            result={"content": ""},
        ),
        "ADIR-04",
        "SES-08",
    ),
    _by(
        "sessions",
        "old roots that are used again",
        together(
            leave_out("load, fresh", "params.additionalDirectories"),
            add_request(
                "busy, words",
                "to_client",
                "fs/read_text_file",
                {"sessionId": S, "path": f"{EXTRA}/a.txt"},
                result={"content": ""},
            ),
        ),
        "ADIR-05",
    ),
    _by(
        "settings",
        "a form about a request that is over",
        together(
            leave_out("form, form", "params.sessionId"),
            leave_out("form, form", "params.toolCallId"),
            put("form, form", "params.requestId", 1),
        ),
        "ELIC-05",
    ),
    _by(
        "settings",
        "a mode of its own without underscore",
        put("form, form", "params.mode", "voice"),
        "ELIC-32",
        "ELIC-01",
    ),
    _by(
        "settings",
        "a secret in a form",
        put("form, form", "params.requestedSchema.properties.pin", {"type": "string", "title": "API key"}),
        "ELIC-10",
        "ELIC-11",
    ),
    _by(
        "settings",
        "a turn that fails when its form is declined",
        answer_with("declined", error=FAILED),
        "ELIC-21",
    ),
    _by(
        "settings",
        "one id for two pages",
        add_request(
            "page, url, answer",
            "to_client",
            "elicitation/create",
            {
                "sessionId": S,
                "mode": "url",
                "message": "Again",
                "url": "https://pay.example/",
                "elicitationId": "pay-1",
            },
            result={"action": "accept"},
        ),
        "ELIC-23",
    ),
    _by(
        "settings",
        "a plan tool without a plan",
        together(
            put("form, call", "params.update.name", "update_plan"),
            put("form, done", "params.update.name", "update_plan"),
        ),
        "PLAN-01",
    ),
]
