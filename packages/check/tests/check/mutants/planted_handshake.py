"""Violations of an agent before it works: the handshake, capabilities and logins."""

from __future__ import annotations

from tests.check.mutants.changes import Change, Mutant, add_request, add_update, answer_with, leave_out, put
from tests.check.mutants.script import error
from tests.check.mutants.values import FIRST, FOLDER, FORM, options

S = FIRST
FAILED = error(-32603, "Internal error")


def _by(talk: str, name: str, change: Change, *expected: str) -> Mutant:
    return Mutant(name, talk, "agent", change, expected)


PLANTED = [
    _by(
        "work",
        "a handshake without a version",
        leave_out("initialize, answer", "result.protocolVersion"),
        "INIT-05",
    ),
    _by("work", "a version as text", put("initialize, answer", "result.protocolVersion", "1"), "INIT-05"),
    _by(
        "work",
        "another version than was asked for",
        put("initialize, answer", "result.protocolVersion", 0),
        "INIT-06",
    ),
    _by("work", "an error as handshake", answer_with("initialize", error=FAILED), "INIT-06", "INIT-13"),
    _by("work", "an agent without a name", leave_out("initialize, answer", "result.agentInfo"), "INIT-10"),
    _by(
        "work",
        "an agent without its version",
        leave_out("initialize, answer", "result.agentInfo.version"),
        "INIT-10",
    ),
    _by(
        "work",
        "no capabilities at all",
        leave_out("initialize, answer", "result.agentCapabilities"),
        "INIT-19",
    ),
    _by(
        "work",
        "loadSession as an object",
        put("initialize, answer", "result.agentCapabilities.loadSession", {}),
        "INIT-26",
        "INIT-05",
    ),
    _by(
        "work",
        "list as a boolean",
        put("initialize, answer", "result.agentCapabilities.sessionCapabilities.list", True),
        "INIT-26",
    ),
    _by(
        "work",
        "prompts that are unknown",
        answer_with("hello", error=error(-32601, "Method not found")),
        "INIT-21",
    ),
    _by(
        "work",
        "an update of version 2",
        add_update("hello, thought", S, "state_update", state="idle"),
        "INIT-11",
    ),
    _by(
        "bare",
        "a file of a client without files",
        add_request(
            "work, progress",
            "to_client",
            "fs/read_text_file",
            {"sessionId": S, "path": f"{FOLDER}/harbour.py"},
            result={"content": "x"},
        ),
        "FS-01",
        "INIT-12",
    ),
    _by(
        "bare",
        "a file written for a client without files",
        add_request(
            "work, progress",
            "to_client",
            "fs/write_text_file",
            {"sessionId": S, "path": f"{FOLDER}/harbour.py", "content": ""},
            result={},
        ),
        "FS-01",
    ),
    _by(
        "bare",
        "a terminal of a client without terminals",
        add_request(
            "work, progress",
            "to_client",
            "terminal/create",
            {"sessionId": S, "command": "ls"},
            result={"terminalId": "t"},
        ),
        "TERM-01",
    ),
    _by(
        "bare",
        "a form for a client without forms",
        add_request(
            "work, progress",
            "to_client",
            "elicitation/create",
            {"sessionId": S, "mode": "form", "message": "?", "requestedSchema": FORM},
            result={"action": "cancel"},
        ),
        "ELIC-01",
    ),
    _by(
        "bare",
        "a notice for a client without notices",
        add_update("work, words", S, "notice", severity="info", title="Mist"),
        "UPD-05",
    ),
    _by(
        "bare",
        "a compaction for a client without them",
        add_update("work, words", S, "compaction_update", compactionId="c", status="completed"),
        "UPD-10",
    ),
    _by(
        "bare",
        "a boolean option for a client without them",
        put("new, answer", "result.configOptions", options()),
        "CFG-08",
    ),
    _by(
        "login",
        "a login without a name",
        leave_out("initialize, answer", "result.authMethods.0.name"),
        "AUTH-01",
    ),
    _by(
        "login",
        "a terminal login with a command",
        put("initialize, answer", "result.authMethods.1.command", "/bin/login"),
        "AUTH-15",
    ),
    _by(
        "login",
        "the environment of a login as a list",
        put("initialize, answer", "result.authMethods.1.env", [{"name": "A", "value": "b"}]),
        "AUTH-16",
    ),
    _by(
        "login", "a login that is answered with null", put("authenticate, answer", "result", None), "AUTH-07"
    ),
    _by(
        "login",
        "a login that changes nothing",
        answer_with("new", error=error(-32000, "Authentication required")),
        "AUTH-08",
    ),
    _by(
        "login", "another code for a missing login", put("too early, answer", "error.code", -32001), "ERR-02"
    ),
    _by("login", "a logout with more to say", put("logout, answer", "result", {"goodbye": True}), "AUTH-18"),
    _by(
        "login",
        "a logout that changes nothing",
        answer_with("too late", result={"sessionId": "ses-late"}),
        "AUTH-19",
    ),
    _by(
        "login",
        "a terminal login for a client without a terminal",
        put("initialize", "params.clientCapabilities.auth", {}),
        "AUTH-03",
    ),
]
