"""Violations of a client in the corners: lines that are none, leniency, odd settings, forms and races."""

from __future__ import annotations

from tests.check.mutants.changes import (
    Change,
    Mutant,
    add,
    add_request,
    answer_with,
    become,
    die,
    drop,
    fact,
    put,
    together,
)
from tests.check.mutants.script import error, message
from tests.check.mutants.values import EXTRA, FIRST

S = FIRST
BAD = error(-32602, "Invalid params")


def _by(talk: str, name: str, change: Change, *expected: str) -> Mutant:
    return Mutant(name, talk, "client", change, expected)


PLANTED = [
    _by(
        "work",
        "a request with a fraction as id",
        together(put("hello", "id", 2.5), put("hello, answer", "id", 2.5)),
        "RPC-02",
        "RPC-06",
    ),
    _by(
        "work",
        "a request with null as id",
        together(put("hello", "id", None), put("hello, answer", "id", None)),
        "RPC-06",
    ),
    _by(
        "work",
        "a stack as the message of an error",
        put("write, look, answer", "error.message", "failed\n at 1\n at 2"),
        "RPC-08",
    ),
    _by(
        "work",
        "a version beyond its bounds",
        put("initialize", "params.protocolVersion", 70000),
        "RPC-23",
        "INIT-02",
    ),
    _by(
        "work", "an exit code beyond its bounds", put("run, wait, answer", "result.exitCode", 2**40), "RPC-23"
    ),
    _by("work", "_meta that is a list", put("hello", "params._meta", []), "EXT-02"),
    _by("work", "traceparent that is none", put("hello", "params._meta", {"traceparent": "yes"}), "EXT-03"),
    _by(
        "work",
        "Latin-1",
        become(
            "remember",
            b'{"jsonrpc":"2.0","id":12,"method":"session/prompt","params":{"sessionId":"ses-first","prompt":[{"type":"text","text":"gr\xfc\xdfe"}]}}',
        ),
        "STD-01",
    ),
    _by(
        "work",
        "a message over two lines",
        together(
            become("remember", b'{"jsonrpc":"2.0","id":12,'),
            add("remember", "to_agent", b'"method":"session/prompt"}'),
        ),
        "STD-02",
        "STD-04",
    ),
    _by(
        "work",
        "a code that is not an int32",
        put("write, look, answer", "error.code", -4_000_000_000),
        "ERR-01",
    ),
    _by("work", "a code in the range of servers", put("write, look, answer", "error.code", -32077), "ERR-04"),
    _by("work", "a block of no known kind", put("blocks", "params.prompt.0.type", "markdown"), "CONT-01"),
    _by("work", "an image that is not base64", put("blocks", "params.prompt.3.data", "!pixel!"), "CONT-04"),
    _by(
        "work",
        "a method of version 2 in version 1",
        add_request("initialize, answer", "to_agent", "auth/login", {"methodId": "k"}, result={}),
        "INIT-11",
    ),
    _by(
        "work",
        "a command without its slash",
        put("command", "params.prompt.0.text", "tidy harbour.py"),
        "CMD-04",
    ),
    _by(
        "work",
        "a command as a member",
        put("command", "params.prompt", [{"type": "text", "text": "please /tidy"}]),
        "CMD-04",
    ),
    _by("lines", "nothing said about broken JSON", drop("no JSON, answer"), "RPC-10"),
    _by("lines", "nothing said about a number", drop("a number, answer"), "RPC-11"),
    _by("lines", "broken JSON with another code", put("no JSON, answer", "error.code", -32603), "RPC-10"),
    _by("lines", "a $/ request with another code", put("dollar, answer", "error.code", -32600), "CRQ-11"),
    _by("lines", "a member nobody knows that is refused", answer_with("bogus question", error=BAD), "RPC-21"),
    _by(
        "lines",
        "missing options with another code",
        put("optionless, answer", "error.code", -32603),
        "RPC-12",
    ),
    _by(
        "lines",
        "missing options that are taken",
        answer_with("optionless", result={"outcome": {"outcome": "cancelled"}}),
        "LEN-05",
    ),
    _by("lines", "meta as text that is refused", answer_with("meta question", error=BAD), "EXT-11"),
    _by(
        "lines",
        "a secret that comes back",
        put("no command, answer", "error.data", {"env": "TOKEN=hunter2-stays-here"}),
        "ERR-06",
    ),
    _by(
        "lines",
        "a withdrawn wait with another code",
        put("wait, answer", "error.code", -32603),
        "TERM-17",
        "CRQ-03",
    ),
    _by(
        "lines",
        "a withdrawn wait that is answered twice",
        add("nothing withdrawn", "to_agent", {"jsonrpc": "2.0", "id": 7, "result": {"exitCode": 0}}),
        "RPC-03",
        "CRQ-03",
    ),
    _by(
        "lines",
        "a withdrawal of nothing that is answered",
        add("nothing withdrawn", "to_agent", {"jsonrpc": "2.0", "id": None, "error": error(-32601, "No")}),
        "CRQ-07",
        "RPC-05",
    ),
    _by(
        "lines",
        "an option of an unknown type that is set",
        put("set model", "params", {"sessionId": S, "configId": "odd", "value": "red"}),
        "CFG-09",
    ),
    _by(
        "lines",
        "an option that is gone and is set",
        put("set model", "params", {"sessionId": S, "configId": "bare", "type": "boolean", "value": True}),
        "CFG-20",
    ),
    _by(
        "lines",
        "a page without asking for pages",
        answer_with("page", result={"action": "accept"}),
        "ELIC-27",
        "ELIC-02",
    ),
    _by("lines", "a form without a type that is refused", answer_with("typeless form", error=BAD), "ELIC-09"),
    _by(
        "lines",
        "roots that are merged with earlier ones",
        put("load", "params.additionalDirectories", [EXTRA, "/home/ada/letters"]),
        "LST-12",
    ),
    _by("lines", "a client that dies of a broken login", die("initialize, answer"), "AUTH-22"),
    _by("lines", "a client that dies of an unknown option", die("new, answer"), "CFG-09"),
    _by("lines", "a client that dies of an update between turns", die("fewer options"), "TURN-22"),
    _by("lines", "a client that dies of a slow pattern", die("slow form"), "ELIC-33"),
    _by("lines", "a client that dies of an odd completion", die("odd completion"), "ELIC-26"),
    _by("lines", "a client that dies of a late login", die("late login, answer"), "AUTH-21"),
    _by(
        "lines", "a client that dies of an update after its cancel", together(die("slow, stopped")), "CAN-09"
    ),
    _by("lines", "a client that dies of a close of nothing", die("close, answer"), "CLO-06"),
    _by("lines", "a client that dies of content as text", die("call, done"), "LEN-04", "TOOL-19"),
    _by("oddities", "a client that dies of an unknown compaction", die("compaction"), "UPD-16"),
    _by("oddities", "a client that dies of bad items", die("odd step"), "LEN-02"),
    _by(
        "login",
        "a login that cannot be read",
        together(
            put("initialize, answer", "result.authMethods.1.args", "login"),
            put("authenticate", "params.methodId", "shell"),
        ),
        "AUTH-25",
    ),
    _by(
        "settings",
        "a form with a number out of bounds",
        put("form, form, answer", "result.content.boats", 99),
        "ELIC-16",
        "ELIC-20",
    ),
    _by(
        "settings",
        "a form without its text",
        put("form, form, answer", "result.content.berth", ""),
        "ELIC-20",
    ),
    _by("lines", "a client that dies of a missing category", die("new, answer"), "CFG-10"),
    _by("lines", "a command that outlives its terminal", fact("released process gone", False), "TERM-11"),
    _by(
        "lines",
        "a late withdrawal that is obeyed",
        together(
            add("wait, answer", "to_client", message("$/cancel_request", {"requestId": 7})),
            add(
                "planted after wait, answer",
                "to_agent",
                {"jsonrpc": "2.0", "id": 7, "error": error(-32800, "Cancelled")},
            ),
        ),
        "CRQ-06",
        "RPC-03",
    ),
    _by(
        "lines",
        "the text of a number that cancels",
        together(put("wait, withdrawn", "params.requestId", "7")),
        "CRQ-08",
    ),
]
