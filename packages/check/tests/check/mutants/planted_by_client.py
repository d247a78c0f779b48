"""Violations of a client in what it says by itself."""

from __future__ import annotations

from tests.check.mutants.changes import (
    Change,
    Mutant,
    add,
    add_request,
    again,
    answer_with,
    drop,
    leave_out,
    move,
    put,
    rename,
    together,
)
from tests.check.mutants.script import error
from tests.check.mutants.values import EXTRA, FIRST, FOLDER, OLD

S = FIRST


def _by(talk: str, name: str, change: Change, *expected: str) -> Mutant:
    return Mutant(name, talk, "client", change, expected)


PLANTED = [
    _by("work", "a prompt without jsonrpc", leave_out("hello", "jsonrpc"), "RPC-01"),
    _by("work", "the id of an answer as text", put("read, file, answer", "id", "1"), "RPC-03"),
    _by("work", "a question that is answered twice", again("edit, question, answer"), "RPC-03"),
    _by(
        "work",
        "an answer with both halves",
        put("read, file, answer", "error", error(-32603, "No")),
        "RPC-04",
    ),
    _by(
        "work",
        "an error without a code",
        put("write, look, answer", "error", {"message": "Not found"}),
        "RPC-07",
    ),
    _by("work", "text that is not JSON", add("hello, answer", "to_agent", b"exit"), "STD-04"),
    _by("work", "a session before the handshake", move("initialize, answer", after="new"), "INIT-01"),
    _by("work", "no handshake at all", drop("initialize", "initialize, answer"), "INIT-01"),
    _by("work", "a version as text", put("initialize", "params.protocolVersion", "1"), "INIT-02"),
    _by("work", "a version by its date", put("initialize", "params.protocolVersion", 20250326), "INIT-02"),
    _by("work", "capabilities as a list", put("initialize", "params.clientCapabilities", []), "INIT-03"),
    _by("work", "no capabilities", leave_out("initialize", "params.clientCapabilities"), "INIT-20"),
    _by("work", "no name", leave_out("initialize", "params.clientInfo"), "INIT-04"),
    _by(
        "work",
        "a method of version 2",
        add_request("new, answer", "to_agent", "session/archive", {"sessionId": S}, result={}),
        "INIT-12",
    ),
    _by(
        "bare",
        "a client that goes on with a version it does not speak",
        put("initialize, answer", "result.protocolVersion", 2),
        "INIT-09",
    ),
    _by("login", "a login that was never offered", put("authenticate", "params.methodId", "card"), "AUTH-05"),
    _by(
        "login", "a terminal login over the wire", put("authenticate", "params.methodId", "shell"), "AUTH-06"
    ),
    _by(
        "bare",
        "a logout that was not offered",
        add_request("ask, answer", "to_agent", "logout", {}, result={}),
        "AUTH-17",
    ),
    _by("work", "a session without servers", leave_out("new", "params.mcpServers"), "SES-01"),
    _by("work", "a session without a folder", leave_out("new", "params.cwd"), "SES-01"),
    _by("work", "a relative folder", put("new", "params.cwd", "harbour"), "SES-02", "RPC-24"),
    _by(
        "bare",
        "a server over SSE that the agent does not take",
        put(
            "new",
            "params.mcpServers",
            [{"type": "sse", "name": "a", "url": "https://a.example/", "headers": []}],
        ),
        "SES-12",
    ),
    _by("work", "a server without its arguments", leave_out("new", "params.mcpServers.0.args"), "SES-14"),
    _by(
        "work",
        "the environment of a server as an object",
        put("new", "params.mcpServers.0.env", {"PORT": "9"}),
        "SES-14",
    ),
    _by(
        "work",
        "the command of a server that is relative",
        put("new", "params.mcpServers.0.command", "tides"),
        "SES-14",
    ),
    _by("work", "a server over stdio with a type", put("new", "params.mcpServers.0.type", "stdio"), "SES-14"),
    _by(
        "work",
        "a server over HTTP without headers",
        leave_out("new", "params.mcpServers.1.headers"),
        "SES-14",
    ),
    _by(
        "bare",
        "a load that was not offered",
        add_request(
            "new, answer",
            "to_agent",
            "session/load",
            {"sessionId": OLD, "cwd": FOLDER, "mcpServers": []},
            result={},
        ),
        "LOAD-01",
    ),
    _by(
        "bare",
        "a resume that was not offered",
        add_request(
            "new, answer",
            "to_agent",
            "session/resume",
            {"sessionId": OLD, "cwd": FOLDER, "mcpServers": []},
            result={},
        ),
        "RES-01",
    ),
    _by(
        "bare",
        "a listing that was not offered",
        add_request("new, answer", "to_agent", "session/list", {}, result={"sessions": []}),
        "LST-01",
    ),
    _by(
        "bare",
        "a close that was not offered",
        add_request("ask, answer", "to_agent", "session/close", {"sessionId": S}, result={}),
        "CLO-01",
    ),
    _by(
        "bare",
        "a delete that was not offered",
        add_request("ask, answer", "to_agent", "session/delete", {"sessionId": S}, result={}),
        "DEL-01",
    ),
    _by(
        "bare",
        "roots that the agent does not take",
        put("new", "params.additionalDirectories", [EXTRA]),
        "ADIR-01",
    ),
    _by("sessions", "a load without servers", leave_out("load", "params.mcpServers"), "LOAD-02"),
    _by("sessions", "a cursor that was changed", put("list, next", "params.cursor", "page/3=="), "LST-08"),
    _by(
        "sessions",
        "a listing that goes on without a cursor",
        put("list, folder again", "params.cursor", "page/2=="),
        "LST-07",
    ),
    _by("sessions", "a relative root", put("fresh", "params.additionalDirectories", ["charts"]), "ADIR-02"),
    _by(
        "sessions",
        "roots that are forgotten on load",
        leave_out("load, fresh", "params.additionalDirectories"),
        "ADIR-06",
    ),
    _by(
        "sessions",
        "the folder as another root",
        put("fresh", "params.additionalDirectories", [EXTRA, FOLDER]),
        "ADIR-10",
    ),
    _by("work", "a prompt before its session", move("new, answer", after="hello"), "TURN-01"),
    _by(
        "bare",
        "an image for an agent that takes none",
        put("work", "params.prompt", [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]),
        "TURN-02",
        "CONT-07",
    ),
    _by("work", "a prompt that is a text", put("hello", "params.prompt", "Good morning"), "LEN-06"),
    _by("work", "a text block without text", put("hello", "params.prompt", [{"type": "text"}]), "CONT-02"),
    _by("work", "a link without a name", leave_out("blocks", "params.prompt.1.name"), "CONT-05"),
    _by(
        "work", "a resource without its text", leave_out("blocks", "params.prompt.2.resource.text"), "CONT-06"
    ),
    _by(
        "work",
        "annotations that are wrong",
        put("blocks", "params.prompt.0.annotations.audience", "all"),
        "CONT-10",
        "LEN-06",
    ),
    _by("work", "a private member in a prompt", put("hello", "params.colour", "red"), "EXT-01"),
    _by("work", "a member with underscores", rename("hello", "params.sessionId", "session_id"), "RPC-17"),
    _by(
        "cancelling",
        "an open question that is refused after a cancel",
        put("asked, question, answer", "result.outcome", {"outcome": "selected", "optionId": "no"}),
        "CAN-04",
        "PERM-07",
    ),
    _by(
        "cancelling",
        "an open question that is allowed after a cancel",
        put("asked, question, answer", "result.outcome", {"outcome": "selected", "optionId": "yes"}),
        "CAN-04",
        "PERM-07",
    ),
    _by(
        "cancelling",
        "an open question that is never answered",
        drop("asked, question, answer"),
        "CAN-04",
        "PERM-07",
    ),
    _by(
        "cancelling",
        "a withdrawn question with another code",
        answer_with("unsure, question", error=error(-32603, "Aborted")),
        "CRQ-03",
        "CRQ-05",
    ),
    _by("settings", "an option set to a number", put("set model", "params.value", 7), "CFG-14"),
    _by("settings", "a boolean without its type", leave_out("set brief", "params.type"), "CFG-14"),
    _by(
        "settings",
        "a mode set beside its option",
        add_request(
            "set model, answer", "to_agent", "session/set_mode", {"sessionId": S, "modeId": "code"}, result={}
        ),
        "CFG-02",
    ),
    _by("bare", "a mode that was not offered", put("set mode", "params.modeId", "sleep"), "MODE-04"),
    _by(
        "bare",
        "an option where only modes are",
        together(
            put("set mode", "method", "session/set_config_option"),
            put("set mode", "params", {"sessionId": S, "configId": "mode", "value": "code"}),
        ),
        "CFG-03",
    ),
    _by("cancelling", "a cancel without its method", leave_out("slow, cancel", "method"), "STD-04"),
    _by("work", "a prompt without params", leave_out("hello", "params"), "LEN-06"),
    _by("sessions", "a close without params", leave_out("close", "params"), "LEN-06"),
]
