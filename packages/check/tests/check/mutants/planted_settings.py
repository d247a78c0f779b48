"""Violations of an agent in modes, options, forms, notices and compactions."""

from __future__ import annotations

from tests.check.mutants.changes import Change, Mutant, again, answer_with, leave_out, put, together
from tests.check.mutants.script import error
from tests.check.mutants.values import options

FAILED = error(-32603, "Internal error")


def _by(talk: str, name: str, change: Change, *expected: str) -> Mutant:
    return Mutant(name, talk, "agent", change, expected)


PLANTED = [
    _by(
        "settings",
        "modes without a current one",
        leave_out("new, answer", "result.modes.currentModeId"),
        "MODE-02",
    ),
    _by(
        "settings",
        "a current mode that is not offered",
        put("new, answer", "result.modes.currentModeId", "sleep"),
        "MODE-03",
    ),
    _by(
        "settings",
        "a mode without a name",
        leave_out("new, answer", "result.modes.availableModes.0.name"),
        "MODE-02",
    ),
    _by("bare", "a mode that cannot be set", answer_with("set mode", error=FAILED), "MODE-05"),
    _by("bare", "null as the answer to a mode", put("set mode, answer", "result", None), "MODE-05"),
    _by(
        "settings",
        "a change to a mode that is not offered",
        put("switch, mode", "params.update.currentModeId", "sleep"),
        "MODE-07",
    ),
    _by(
        "settings",
        "a tool that switches modes in secret",
        put("switch, call", "params.update.kind", "other"),
        "MODE-08",
    ),
    _by(
        "settings",
        "a setting without a name",
        leave_out("new, answer", "result.configOptions.0.name"),
        "CFG-05",
    ),
    _by(
        "settings",
        "an option without a value",
        leave_out("new, answer", "result.configOptions.1.currentValue"),
        "CFG-05",
        "CFG-06",
    ),
    _by(
        "settings",
        "a value that is not offered",
        put("new, answer", "result.configOptions.1.currentValue", "huge"),
        "CFG-07",
    ),
    _by(
        "settings",
        "a select without choices",
        leave_out("new, answer", "result.configOptions.1.options"),
        "CFG-05",
    ),
    _by(
        "settings",
        "a category without underscore",
        put("new, answer", "result.configOptions.2.category", "style"),
        "CFG-11",
    ),
    _by(
        "settings",
        "a mode and its option that differ",
        put("new, answer", "result.configOptions.0.currentValue", "code"),
        "CFG-04",
    ),
    _by("settings", "modes that are no option", leave_out("new, answer", "result.configOptions.0"), "CFG-04"),
    _by(
        "settings",
        "an answer with the changed option only",
        put("set model, answer", "result.configOptions", options(model="large")[1:2]),
        "CFG-16",
    ),
    _by(
        "settings",
        "an update with one option only",
        put("switch, options", "params.update.configOptions", options("code", brief=True)[:2]),
        "CFG-17",
        "UPD-04",
    ),
    _by(
        "settings",
        "a value that is set and stays as it was",
        put("set model, answer", "result.configOptions", options()),
        "CFG-15",
    ),
    _by(
        "settings",
        "an option that cannot be set in a turn",
        answer_with("set model back", error=error(-32600, "Busy")),
        "CFG-19",
    ),
    _by(
        "settings",
        "a form without properties",
        leave_out("form, form", "params.requestedSchema.properties"),
        "ELIC-08",
    ),
    _by(
        "settings", "a form without a type", leave_out("form, form", "params.requestedSchema.type"), "ELIC-08"
    ),
    _by(
        "settings",
        "a form of nested objects",
        put("form, form", "params.requestedSchema.properties.berth", {"type": "object", "properties": {}}),
        "ELIC-07",
    ),
    _by(
        "settings",
        "a form that asks for a password",
        put(
            "form, form",
            "params.requestedSchema.properties.password",
            {"type": "string", "title": "Password"},
        ),
        "ELIC-10",
    ),
    _by("settings", "a form without a message", leave_out("form, form", "params.message"), "ELIC-04"),
    _by(
        "settings",
        "a form without a scope",
        together(leave_out("form, form", "params.sessionId"), leave_out("form, form", "params.toolCallId")),
        "ELIC-04",
    ),
    _by(
        "settings",
        "a page without an id",
        leave_out("page, url", "params.elicitationId"),
        "ELIC-04",
    ),
    _by(
        "settings",
        "a page with a token in its address",
        put("page, url", "params.url", "https://ada:secret@pay.example/harbour?token=abc123"),
        "ELIC-28",
    ),
    _by(
        "settings",
        "a page without encryption",
        put("page, url", "params.url", "http://pay.example/harbour"),
        "ELIC-29",
    ),
    _by("settings", "a notice without a title", leave_out("notice", "params.update.title"), "UPD-06"),
    _by("settings", "a notice with an empty title", put("notice", "params.update.title", " "), "UPD-06"),
    _by(
        "settings",
        "a compaction without a status",
        leave_out("compact, begun", "params.update.status"),
        "UPD-11",
    ),
    _by("settings", "a compaction that ends twice", again("compact, done"), "UPD-12"),
    _by(
        "settings",
        "an error of a compaction that succeeds",
        put("compact, done", "params.update.error", "It failed"),
        "UPD-15",
    ),
]
