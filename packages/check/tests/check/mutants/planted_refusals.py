"""Violations of an agent that is sent something wrong, and takes it badly."""

from __future__ import annotations

from tests.check.mutants.changes import Change, Mutant, add, answer_with, drop, leave_out, put, together
from tests.check.mutants.script import error
from tests.check.mutants.values import FIRST

S = FIRST
FAILED = error(-32603, "Internal error")


def _by(talk: str, name: str, change: Change, *expected: str) -> Mutant:
    return Mutant(name, talk, "agent", change, expected)


PLANTED = [
    _by("probes", "nothing said about broken JSON", drop("no JSON, answer"), "RPC-10"),
    _by("probes", "broken JSON with another code", put("no JSON, answer", "error.code", -32603), "RPC-10"),
    _by("probes", "nothing said about a number", drop("a number, answer"), "RPC-11"),
    _by(
        "probes",
        "an unknown notification that is answered",
        add(
            "unknown notification", "to_client", {"jsonrpc": "2.0", "id": None, "error": error(-32601, "No")}
        ),
        "RPC-05",
    ),
    _by(
        "probes",
        "a cancel of nobody that is answered",
        add(
            "cancel of an unknown session",
            "to_client",
            {"jsonrpc": "2.0", "id": None, "error": error(-32002, "No")},
        ),
        "RPC-05",
    ),
    _by(
        "probes",
        "an answer to nothing that is answered",
        add("answer to nothing", "to_client", {"jsonrpc": "2.0", "id": 4711, "error": error(-32600, "No")}),
        "RPC-15",
    ),
    _by(
        "probes",
        "an unknown method that is internal",
        put("request nope/nope, answer", "error.code", -32603),
        "RPC-09",
    ),
    _by("probes", "an unknown method that succeeds", answer_with("request nope/nope", result={}), "RPC-09"),
    _by("probes", "an unknown method that is not answered", drop("request nope/nope, answer"), "RPC-09"),
    _by(
        "probes",
        "an unknown private method that succeeds with null",
        answer_with("request _tck/x", error=FAILED),
        "EXT-07",
    ),
    _by(
        "probes",
        "an unknown $/ request with another code",
        put("request $/foo, answer", "error.code", -32600),
        "CRQ-11",
        "RPC-09",
    ),
    _by(
        "probes",
        "missing params with another code",
        put("new without cwd, answer", "error.code", -32603),
        "RPC-12",
    ),
    _by(
        "probes",
        "missing servers that are not missed",
        answer_with("new without servers", result={"sessionId": "ses-x"}),
        "SES-03",
    ),
    _by("probes", "a large id that is rounded", put("id 9007199254740993, answer", "id", 2**53), "RPC-03"),
    _by("probes", "a text id that becomes a number", put("id '17', answer", "id", 17), "RPC-03"),
    _by(
        "probes",
        "absent params that are missed",
        answer_with("list, params absent", error=error(-32602, "Invalid params")),
        "RPC-18",
        "LST-02",
    ),
    _by(
        "probes",
        "an unknown member that is refused",
        answer_with("new with bogus", error=error(-32602, "Invalid params")),
        "RPC-21",
    ),
    _by(
        "probes",
        "a made-up cursor that is taken",
        answer_with("bad cursor", result={"sessions": []}),
        "LST-09",
    ),
    _by(
        "probes",
        "a secret that comes back",
        put(
            "new with a secret, answer",
            "error.data",
            {"input": [{"name": "T", "value": "hunter2-must-not-come-back"}]},
        ),
        "ERR-06",
    ),
    _by(
        "probes",
        "a server of an unknown kind that is started",
        answer_with("new with an unknown transport", result={"sessionId": "ses-x"}),
        "SES-23",
    ),
    _by(
        "probes",
        "relative roots that are taken",
        answer_with("roots with a relative one", result={"sessionId": "ses-x"}),
        "ADIR-03",
    ),
    _by(
        "probes",
        "a session for everything without a handshake",
        answer_with("too early", result={"sessionId": "ses-x"}),
        "INIT-17",
    ),
    _by(
        "probes",
        "a handshake without a version that is taken",
        answer_with("version missing", result={"protocolVersion": 1}),
        "INIT-16",
    ),
    _by(
        "probes",
        "a malformed capability that is an error",
        answer_with("initialize", error=error(-32602, "terminal is not a boolean")),
        "INIT-15",
    ),
    _by(
        "probes",
        "an unknown session with another code",
        put("prompt of an unknown session, answer", "error.code", -32602),
        "SES-20",
    ),
    _by(
        "probes",
        "an unknown session without its name",
        leave_out("prompt of an unknown session, answer", "error.data"),
        "SES-20",
    ),
    _by(
        "probes",
        "a load of nobody that succeeds",
        answer_with("load of an unknown session", result={}),
        "LOAD-09",
    ),
    _by(
        "probes",
        "a resume of nobody with another code",
        put("resume of an unknown session, answer", "error.code", -32603),
        "RES-07",
    ),
    _by(
        "probes",
        "a delete of nobody that fails",
        answer_with("delete of an unknown session", error=error(-32002, "Not found")),
        "DEL-03",
    ),
    _by(
        "probes",
        "a closed session that goes on",
        answer_with("prompt after close", result={"stopReason": "end_turn"}),
        "CLO-03",
        "SES-20",
    ),
    _by(
        "probes",
        "null servers that are refused",
        answer_with("new with null servers", error=error(-32602, "Invalid params")),
        "SES-03",
    ),
    _by(
        "probes",
        "meta as text that is refused",
        answer_with("new with meta as text", error=error(-32602, "Invalid params")),
        "EXT-11",
    ),
    _by(
        "probes",
        "the same id for two sessions",
        put("new with bogus, answer", "result.sessionId", S),
        "SES-04",
    ),
    _by(
        "probes",
        "an agent that dies of a number",
        together(drop("a number, answer"), drop("empty object, answer")),
        "RPC-11",
    ),
]
