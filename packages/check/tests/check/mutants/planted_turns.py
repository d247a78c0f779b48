"""Violations of an agent in its turns: their order, their end, and their updates."""

from __future__ import annotations

from tests.check.mutants.changes import (
    Change,
    Mutant,
    answer_with,
    drop,
    end_after,
    fact,
    leave_out,
    move,
    put,
    together,
)
from tests.check.mutants.values import text


def _by(talk: str, name: str, change: Change, *expected: str) -> Mutant:
    return Mutant(name, talk, "agent", change, expected)


PLANTED = [
    _by(
        "work",
        "a stop reason that nobody knows",
        put("hello, answer", "result.stopReason", "done"),
        "TURN-04",
    ),
    _by("work", "no stop reason", put("hello, answer", "result", {}), "TURN-03", "TURN-04"),
    _by(
        "work",
        "an answer before its last update",
        move("hello, answer", after="hello, first words"),
        "TURN-06",
    ),
    _by(
        "work",
        "an update for another session",
        put("hello, first words", "params.sessionId", "ses-nobody"),
        "TURN-07",
    ),
    _by("work", "a chunk without its session", leave_out("hello, first words", "params.sessionId"), "UPD-01"),
    _by(
        "work",
        "an update without its kind",
        leave_out("hello, first words", "params.update.sessionUpdate"),
        "UPD-01",
    ),
    _by("work", "an update as a request", put("hello, first words", "id", 99), "UPD-01"),
    _by(
        "work",
        "content as a list",
        put("hello, first words", "params.update.content", [text("Three")]),
        "UPD-02",
    ),
    _by("work", "content as a text", put("hello, first words", "params.update.content", "Three"), "UPD-02"),
    _by(
        "work",
        "an unknown kind of update",
        put("hello, thought", "params.update.sessionUpdate", "agent_musing"),
        "LEN-06",
    ),
    _by(
        "work",
        "a messageId of an earlier turn",
        put("read, words", "params.update.messageId", "msg-2"),
        "TURN-09",
    ),
    _by(
        "work",
        "a messageId that is a number",
        put("read, words", "params.update.messageId", 3),
        "LEN-06",
    ),
    _by(
        "work",
        "a messageId on one chunk only",
        leave_out("hello, last words", "params.update.messageId"),
        "TURN-11",
    ),
    _by("work", "usage below zero", put("hello, usage", "params.update.used", -1), "TURN-13"),
    _by("work", "usage without a size", leave_out("hello, usage", "params.update.size"), "TURN-13"),
    _by(
        "work", "cost without a currency", leave_out("hello, usage", "params.update.cost.currency"), "TURN-13"
    ),
    _by("work", "usage of a window of size 0", put("hello, usage", "params.update.size", 0), "TURN-14"),
    _by(
        "work",
        "a failure as a stop reason",
        answer_with("broken", result={"stopReason": "error"}),
        "TURN-23",
        "TURN-04",
    ),
    _by(
        "work",
        "a word that is forgotten",
        put("recall, words", "params.update.content.text", "Which word?"),
        "TURN-15",
    ),
    _by("work", "a prompt that is never answered", drop("read, answer"), "TURN-03"),
    _by(
        "work",
        "a file of another folder",
        put("read, file", "params.path", "/etc/harbour.py"),
        "SES-08",
    ),
    _by(
        "work",
        "a command with a slash",
        put("commands", "params.update.availableCommands.0.name", "/tidy"),
        "CMD-07",
    ),
    _by(
        "work",
        "a command without a description",
        leave_out("commands", "params.update.availableCommands.0.description"),
        "CMD-02",
    ),
    _by(
        "work",
        "a command with a text as input",
        put("commands", "params.update.availableCommands.0.input", "file"),
        "CMD-02",
    ),
    _by(
        "work",
        "commands that are no list",
        put("commands", "params.update.availableCommands", {}),
        "UPD-04",
        "CMD-02",
    ),
    _by(
        "work",
        "a command that fails",
        answer_with("command", error={"code": -32602, "message": "No such command"}),
        "CMD-05",
    ),
    _by(
        "work",
        "a text block without text",
        leave_out("hello, first words", "params.update.content.text"),
        "CONT-02",
    ),
    _by(
        "work",
        "a block of no known kind",
        put("hello, first words", "params.update.content.type", "markdown"),
        "CONT-01",
    ),
    _by(
        "work",
        "an image without its type",
        leave_out("blocks, done", "params.update.content.0.content.mimeType"),
        "CONT-04",
    ),
    _by(
        "work",
        "an image that is not base64",
        put("blocks, done", "params.update.content.0.content.data", "!pixel!"),
        "CONT-04",
    ),
    _by(
        "work",
        "a link without a name",
        leave_out("blocks, done", "params.update.content.1.content.name"),
        "CONT-05",
    ),
    _by("work", "a title that is a number", put("hello, title", "params.update.title", 5), "LST-14"),
    _by(
        "work", "a session's folder in its title", put("hello, title", "params.update.cwd", "/tmp"), "LST-14"
    ),
    _by(
        "work",
        "a prompt refused for its link",
        answer_with("link", error={"code": -32602, "message": "Links are not supported"}),
        "INIT-22",
    ),
    _by(
        "bare",
        "a turn that not even a cancel ends",
        together(end_after("ask, question, answer"), fact("given up", [6])),
        "TURN-03",
    ),
]
