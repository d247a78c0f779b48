"""Violations of an agent that works: tools, plans, questions, files and terminals."""

from __future__ import annotations

from tests.check.mutants.changes import (
    Change,
    Mutant,
    add_request,
    add_update,
    drop,
    leave_out,
    move,
    put,
    together,
)
from tests.check.mutants.values import FIRST, PERMISSIONS, text

S = FIRST


def _by(talk: str, name: str, change: Change, *expected: str) -> Mutant:
    return Mutant(name, talk, "agent", change, expected)


PLANTED = [
    _by("work", "a tool call without an id", leave_out("read, call", "params.update.toolCallId"), "TOOL-02"),
    _by("work", "a tool call without a title", leave_out("read, call", "params.update.title"), "TOOL-02"),
    _by(
        "work",
        "the id of an earlier tool call",
        together(
            *(
                put(label, "params.update.toolCallId", "call-1")
                for label in ("refused, call", "refused, done")
            ),
            put("refused, question", "params.toolCall.toolCallId", "call-1"),
        ),
        "TOOL-03",
    ),
    _by("work", "a tool of an unknown kind", put("read, call", "params.update.kind", "browse"), "TOOL-04"),
    _by(
        "work",
        "a status that v1 does not have",
        put("refused, done", "params.update.status", "cancelled"),
        "TOOL-05",
    ),
    _by(
        "work",
        "an update without its tool call",
        leave_out("read, done", "params.update.toolCallId"),
        "TOOL-06",
    ),
    _by(
        "work",
        "an update of a tool call that nobody knows",
        put("read, done", "params.update.toolCallId", "call-99"),
        "TOOL-22",
    ),
    _by("work", "an update before its tool call", move("read, call", after="read, progress"), "TOOL-22"),
    _by(
        "work",
        "a completed tool call that is pending again",
        add_update("read, done", S, "tool_call_update", toolCallId="call-1", status="pending"),
        "TOOL-10",
    ),
    _by("work", "a tool call that never ends", drop("read, done"), "TOOL-10"),
    _by("work", "a tool call that never begins", drop("run, progress"), "TOOL-08"),
    _by(
        "work",
        "bare text as the content of a tool call",
        put("read, done", "params.update.content", [text("2 lines")]),
        "TOOL-11",
    ),
    _by(
        "work",
        "content of a tool call as a text",
        put("read, done", "params.update.content", "2 lines"),
        "TOOL-11",
    ),
    _by(
        "work",
        "a diff without its new text",
        leave_out("edit, done", "params.update.content.0.newText"),
        "TOOL-12",
    ),
    _by(
        "work",
        "a terminal that was never made",
        put("run, progress", "params.update.content.0.terminalId", "term-99"),
        "TOOL-14",
    ),
    _by(
        "work",
        "a location without a path",
        leave_out("read, call", "params.update.locations.0.path"),
        "TOOL-16",
    ),
    _by(
        "work",
        "a tool that changes its name",
        put("read, done", "params.update.name", "open_file"),
        "TOOL-17",
    ),
    _by(
        "work",
        "a write that no tool call told",
        move("edit, call", after="edit, write, answer"),
        "TOOL-22",
    ),
    _by(
        "work",
        "a plan without priorities",
        leave_out("edit, plan", "params.update.entries.0.priority"),
        "PLAN-02",
    ),
    _by(
        "work",
        "a plan with a status of its own",
        put("edit, plan", "params.update.entries.0.status", "done"),
        "PLAN-02",
    ),
    _by("work", "a plan without entries", leave_out("edit, plan", "params.update.entries"), "PLAN-02"),
    _by(
        "work",
        "half a plan",
        put(
            "edit, second plan",
            "params.update.entries",
            [{"content": "Mend the pier", "priority": "high", "status": "completed"}],
        ),
        "PLAN-03",
    ),
    _by("work", "a question without options", leave_out("edit, question", "params.options"), "PERM-02"),
    _by("work", "a question without a tool call", leave_out("edit, question", "params.toolCall"), "PERM-02"),
    _by(
        "work",
        "an option without a name",
        put("edit, question", "params.options", [{"optionId": "yes", "kind": "allow_once"}]),
        "PERM-02",
    ),
    _by(
        "work",
        "an option of an unknown kind",
        put(
            "edit, question",
            "params.options",
            [*PERMISSIONS, {"optionId": "perhaps", "name": "Perhaps", "kind": "allow_perhaps"}],
        ),
        "PERM-03",
    ),
    _by("work", "a question after the turn", move("edit, answer", after="edit, call"), "PERM-11", "TURN-06"),
    _by(
        "work",
        "a question of another session",
        put("edit, question", "params.sessionId", "ses-nobody"),
        "PERM-11",
    ),
    _by(
        "work",
        "a write after a refusal",
        add_request(
            "refused, question, answer",
            "to_client",
            "fs/write_text_file",
            {"sessionId": S, "path": "/home/ada/harbour/harbour.py", "content": "9"},
            result={},
        ),
        "PERM-09",
    ),
    _by(
        "work",
        "a refused tool that is completed",
        put("refused, done", "params.update.status", "completed"),
        "PERM-09",
    ),
    _by(
        "work", "a file that is written without content", leave_out("edit, write", "params.content"), "FS-02"
    ),
    _by(
        "work", "a file that is read without a session", leave_out("read, file", "params.sessionId"), "FS-02"
    ),
    _by("work", "a limit that is a text", put("read, file", "params.limit", "200"), "FS-02"),
    _by("work", "a terminal without a command", leave_out("run, create", "params.command"), "TERM-03"),
    _by(
        "work",
        "an environment that is an object",
        put("run, create", "params.env", {"QUIET": "1"}),
        "TERM-03",
    ),
    _by(
        "work",
        "a terminal in a relative folder",
        put("run, create", "params.cwd", "src"),
        "TERM-03",
        "RPC-24",
    ),
    _by("work", "a terminal that is never released", drop("run, release", "run, release, answer"), "TERM-10"),
    _by(
        "work",
        "a killed terminal that is never released",
        drop("killed, release", "killed, release, answer"),
        "TERM-10",
    ),
]
