"""Violations of a client in what it answers, and what it cannot live with."""

from __future__ import annotations

from tests.check.mutants.changes import (
    Change,
    Mutant,
    add,
    answer_with,
    die,
    drop,
    fact,
    leave_out,
    put,
)
from tests.check.mutants.script import error


def _by(talk: str, name: str, change: Change, *expected: str) -> Mutant:
    return Mutant(name, talk, "client", change, expected)


PLANTED = [
    _by(
        "work",
        "an option that was not offered",
        put("edit, question, answer", "result.outcome.optionId", "sure"),
        "PERM-06",
    ),
    _by(
        "work",
        "an outcome that is not nested",
        put("edit, question, answer", "result", {"outcome": "selected", "optionId": "yes"}),
        "PERM-05",
    ),
    _by(
        "work",
        "a selection without an option",
        leave_out("edit, question, answer", "result.outcome.optionId"),
        "PERM-05",
    ),
    _by(
        "work",
        "a client that cannot be asked",
        answer_with("edit, question", error=error(-32601, "Method not found")),
        "INIT-23",
    ),
    _by(
        "oddities",
        "one of two questions that is never answered",
        drop("question, answer"),
        "PERM-12",
    ),
    _by(
        "work",
        "a file without its content",
        put("read, file, answer", "result", {}),
        "LEN-06",
    ),
    _by(
        "work",
        "a write that is answered with true",
        put("edit, write, answer", "result", True),
        "LEN-06",
    ),
    _by(
        "oddities",
        "a line that counts from 0",
        put("part of a file, answer", "result.content", "three\nfour\n"),
        "FS-05",
        "RPC-25",
    ),
    _by(
        "oddities",
        "a limit that is ignored",
        put("part of a file, answer", "result.content", "two\nthree\nfour\n"),
        "FS-05",
    ),
    _by(
        "oddities",
        "a missing file with another code",
        put("missing file, answer", "error.code", -32603),
        "FS-10",
    ),
    _by(
        "oddities",
        "a file outside that is served",
        answer_with("file outside", result={"content": "host\n"}),
        "FS-11",
        "ADIR-11",
    ),
    _by(
        "oddities",
        "a file behind dots that is served",
        answer_with("file behind dots", result={"content": "secret\n"}),
        "FS-11",
    ),
    _by(
        "oddities",
        "a new file that cannot be written",
        answer_with("new file", error=error(-32002, "Resource not found")),
        "FS-07",
    ),
    _by("work", "a terminal without an id", put("run, create, answer", "result", {}), "TERM-02"),
    _by(
        "work",
        "output without truncated",
        leave_out("run, output, answer", "result.truncated"),
        "TERM-06",
        "LEN-06",
    ),
    _by("oddities", "more output than the limit", put("output, answer", "result.output", "äöü\n"), "TERM-05"),
    _by(
        "oddities",
        "output that is cut in a letter",
        put("output, answer", "result.output", "\ufffdü\n"),
        "TERM-05",
    ),
    _by(
        "work",
        "a nested exit status",
        put("run, wait, answer", "result", {"exitStatus": {"exitCode": 0}}),
        "TERM-07",
    ),
    _by(
        "work",
        "a code and a signal",
        put("killed, wait, answer", "result", {"exitCode": 1, "signal": "SIGKILL"}),
        "TERM-08",
    ),
    _by(
        "oddities",
        "a killed terminal that is gone",
        answer_with("output after kill", error=error(-32002, "No such terminal")),
        "TERM-09",
    ),
    _by(
        "oddities",
        "a released terminal that answers",
        answer_with("output after release", result={"output": "", "truncated": False}),
        "TERM-12",
    ),
    _by("oddities", "a second waiter that is never answered", drop("wait too, answer"), "TERM-14"),
    _by("work", "a kill that is answered with null", put("killed, kill, answer", "result", None), "TERM-16"),
    _by(
        "oddities",
        "an unknown method with another code",
        put("request nope/nope, answer", "error.code", -32603),
        "RPC-09",
    ),
    _by("oddities", "an unknown method that is never answered", drop("request nope/nope, answer"), "RPC-09"),
    _by(
        "oddities",
        "an unknown private method with another code",
        put("request _tck/x, answer", "error.code", -32600),
        "EXT-07",
    ),
    _by(
        "oddities",
        "an unknown notification that is answered",
        add("unknown notification", "to_agent", {"jsonrpc": "2.0", "id": None, "error": error(-32601, "No")}),
        "RPC-05",
        "EXT-08",
    ),
    _by(
        "oddities",
        "an answer to nothing that is answered",
        add("late answer", "to_agent", {"jsonrpc": "2.0", "id": 4711, "error": error(-32600, "No")}),
        "RPC-15",
    ),
    _by(
        "oddities",
        "an unknown form that is accepted",
        answer_with("unknown form", result={"action": "accept"}),
        "ELIC-32",
    ),
    _by(
        "oddities",
        "a form without what is required",
        put("form, answer", "result.content", {"boats": 2}),
        "ELIC-20",
    ),
    _by(
        "settings",
        "a form filled with another type",
        put("form, form, answer", "result.content.boats", "two"),
        "ELIC-20",
    ),
    _by(
        "settings",
        "a form with a choice that was not offered",
        put("form, form, answer", "result.content.wind", "storm"),
        "ELIC-20",
    ),
    _by(
        "settings",
        "an action that nobody knows",
        put("declined, form, answer", "result.action", "refuse"),
        "ELIC-18",
    ),
    _by("settings", "an answer without an action", put("declined, form, answer", "result", {}), "ELIC-18"),
    _by(
        "work",
        "output that loses its end",
        put(
            "run, last output, answer",
            "result",
            {"output": "checking the harbour\nall is", "truncated": True, "exitStatus": {"exitCode": 0}},
        ),
        "TERM-04",
    ),
    _by(
        "oddities",
        "a client that dies of an unknown update",
        die("unknown kind"),
        "TURN-21",
    ),
    _by(
        "oddities",
        "a client that dies of an unknown severity",
        die("notice"),
        "UPD-07",
    ),
    _by(
        "oddities",
        "a client that dies of an odd tool call",
        die("odd call"),
        "TOOL-20",
    ),
    _by(
        "oddities",
        "a client that dies of an odd plan",
        die("odd plan"),
        "PLAN-07",
    ),
    _by(
        "oddities",
        "a client that dies of an unknown code",
        die("odd error, answer", -6),
        "ERR-05",
    ),
    _by(
        "oddities",
        "a client that dies of a malformed listing",
        die("list, answer"),
        "LST-17",
    ),
    _by(
        "oddities",
        "a client that dies of malformed capabilities",
        die("initialize, answer"),
        "INIT-15",
        "INIT-13",
    ),
    _by("oddities", "a client that breaks its agent off", fact("input", "broken"), "STD-07"),
    _by("work", "a read that is never answered", drop("read, file, answer"), "RPC-03"),
    _by("work", "a write that is never answered", drop("edit, write, answer"), "RPC-03"),
    _by("work", "a terminal that is never named", drop("run, create, answer"), "RPC-03"),
    _by("work", "a release that is never answered", drop("run, release, answer"), "RPC-03"),
]
