"""Violations of an agent in its lines: the envelope, names, numbers, paths and texts."""

from __future__ import annotations

from tests.check.mutants.changes import (
    Change,
    Mutant,
    add,
    again,
    become,
    drop,
    leave_out,
    put,
    rename,
    together,
)


def _by(talk: str, name: str, change: Change, *expected: str) -> Mutant:
    return Mutant(name, talk, "agent", change, expected)


PLANTED = [
    _by("work", "an update without jsonrpc", leave_out("hello, first words", "jsonrpc"), "RPC-01"),
    _by("work", "an answer of another version", put("hello, answer", "jsonrpc", "1.0"), "RPC-01"),
    _by("work", "the id of an answer as text", put("hello, answer", "id", "3"), "RPC-03"),
    _by("work", "an answer without an id", leave_out("hello, answer", "id"), "RPC-03"),
    _by("work", "a prompt that is answered twice", again("hello, answer"), "RPC-03"),
    _by(
        "work",
        "an answer to nothing",
        add("hello, answer", "to_client", {"jsonrpc": "2.0", "id": 77, "result": {}}),
        "RPC-03",
    ),
    _by("work", "result and error in one answer", put("hello, answer", "error", None), "RPC-04"),
    _by("work", "neither result nor error", leave_out("hello, answer", "result"), "RPC-04"),
    _by(
        "work",
        "a request with a fraction as id",
        together(put("edit, write", "id", 2.5), put("edit, write, answer", "id", 2.5)),
        "RPC-02",
        "RPC-06",
    ),
    _by(
        "work",
        "a request with a list as id",
        together(put("edit, write", "id", [1]), put("edit, write, answer", "id", [1])),
        "RPC-02",
    ),
    _by(
        "work",
        "a request with null as id",
        together(put("edit, write", "id", None), put("edit, write, answer", "id", None)),
        "RPC-06",
    ),
    _by("work", "a code that is a text", put("broken, answer", "error.code", "-32603"), "RPC-07"),
    _by("work", "an error without a message", leave_out("broken, answer", "error.message"), "RPC-07"),
    _by("work", "an error that is a text", put("broken, answer", "error", "It failed"), "RPC-07"),
    _by(
        "work",
        "a stack as the message of an error",
        put("broken, answer", "error.message", "failed\n  at line 3\n  at line 9"),
        "RPC-08",
    ),
    _by(
        "work",
        "a member with underscores",
        rename("read, call", "params.update.rawInput", "raw_input"),
        "RPC-17",
    ),
    _by(
        "work",
        "a kind in camelCase",
        put("read, call", "params.update.kind", "switchMode"),
        "RPC-17",
        "TOOL-04",
    ),
    _by(
        "work",
        "a stop reason in camelCase",
        put("read, answer", "result.stopReason", "endTurn"),
        "RPC-17",
        "TURN-04",
    ),
    _by("work", "usage beyond all bounds", put("hello, usage", "params.update.used", 2**70), "RPC-23"),
    _by("work", "a line below zero", put("read, file", "params.line", -3), "RPC-23"),
    _by("work", "a relative path to read", put("read, file", "params.path", "harbour.py"), "RPC-24", "FS-03"),
    _by(
        "work",
        "a relative location",
        put("read, call", "params.update.locations.0.path", "harbour.py"),
        "RPC-24",
        "TOOL-16",
    ),
    _by(
        "work",
        "a relative path in a diff",
        put("edit, done", "params.update.content.0.path", "src/harbour.py"),
        "RPC-24",
        "TOOL-12",
    ),
    _by("work", "lines that count from 0", put("read, file", "params.line", 0), "RPC-25"),
    _by(
        "work",
        "locations that count from 0",
        put("read, call", "params.update.locations.0.line", 0),
        "RPC-25",
    ),
    _by("work", "a log line on stdout", add("hello", "to_client", b"INFO listening"), "STD-03"),
    _by(
        "work",
        "JSON on stdout that is not a message",
        add("hello", "to_client", b'{"level":"info"}'),
        "STD-03",
    ),
    _by(
        "work",
        "Latin-1",
        become(
            "hello, first words",
            b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ses-first","update":{"sessionUpdate":"agent_message_chunk","messageId":"msg-2","content":{"type":"text","text":"gr\xfc\xdfe"}}}}',
        ),
        "STD-01",
    ),
    _by(
        "work",
        "a message over two lines",
        together(
            become("hello, first words", b'{"jsonrpc":"2.0","method":"session/update",'),
            add("hello, first words", "to_client", b'"params":{}}'),
        ),
        "STD-02",
        "STD-03",
    ),
    _by(
        "work", "a private member in a tool call", put("read, call", "params.update.colour", "red"), "EXT-01"
    ),
    _by("work", "_meta that is a text", put("hello, last words", "params.update._meta", "calm"), "EXT-02"),
    _by(
        "work",
        "a code of its own in the range of servers",
        put("broken, answer", "error.code", -32055),
        "ERR-04",
    ),
    _by("work", "a code that is not an int32", put("broken, answer", "error.code", -4_000_000_000), "ERR-01"),
    _by(
        "work",
        "traceparent that is none",
        put("hello, last words", "params.update._meta", {"traceparent": 5}),
        "EXT-03",
    ),
    _by("work", "an update without its method", leave_out("hello, first words", "method"), "STD-03"),
    _by("work", "a terminal that is waited for without params", leave_out("run, wait", "params"), "LEN-06"),
    _by("work", "logins that are no list", put("initialize, answer", "result.authMethods", {}), "AUTH-01"),
    _by("settings", "a completion without params", leave_out("page, paid", "params"), "LEN-06"),
    _by("work", "a handshake that is never answered", drop("initialize, answer"), "RPC-03"),
    _by("settings", "an option that is never answered", drop("set model, answer"), "RPC-03"),
    _by("sessions", "a listing that is never answered", drop("list, next, answer"), "RPC-03"),
    _by("sessions", "a delete that is never answered", drop("delete, answer"), "RPC-03"),
    _by("bare", "a mode that is never answered", drop("set mode, answer"), "RPC-03"),
]
