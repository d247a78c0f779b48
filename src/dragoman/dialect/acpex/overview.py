"""The form of the overview document: `kind` with everything under `content`."""

from __future__ import annotations

from functools import partial

from dragoman.dialect.acpex.blocks import text_of, write_all, write_flat
from dragoman.dialect.acpex.form import AcpexForm, original
from dragoman.dialect.acpex.greeting import (
    FILES,
    MCP,
    PROMPTS,
    TERMINAL,
    flags,
    read_greeting,
    read_introduction,
)
from dragoman.dialect.acpex.ledger_notes import (
    AGENT_CAPABILITIES,
    CLIENT_CAPABILITIES,
    MESSAGE_ID,
    NAMELESS_AGENT,
    OTHER_KIND,
    PLAN_DETAILS,
    THOUGHT_BLOCK,
)
from dragoman.dialect.acpex.tools import dumped, write_call, write_result
from dragoman.dialect.acpex.turn import original_content, write_end
from dragoman.dialect.acpex.updates import STEP, read_one
from dragoman.dialect.keeping import dropped
from dragoman.dialect.ledger import LedgerNote, Note, ignore_note
from dragoman.dialect.message import Object, as_list, as_object, as_text

ROLES = {"agent_message_chunk": "assistant", "user_message_chunk": "user"}


class OverviewForm(AcpexForm):
    """`acpex`."""

    name = "acpex"
    tag = "kind"

    def block(self, block: Object, note: Note) -> Object | None:
        return write_flat(block, self, note)

    def greeting(self, params: Object, note: Note) -> Object:
        read = partial(read_greeting, form=self, note=ignore_note)
        said = original(params, self, read, lambda raw: "clientCapabilities" in raw)
        if said is not None:
            return said
        offered = as_object(params.get("clientCapabilities"))
        note_others(offered, ("fs", "terminal", "_meta"), CLIENT_CAPABILITIES, note)
        capabilities = {
            "fileSystem": flags(offered.get("fs"), FILES),
            "terminal": flags(offered.get("terminal") is True, TERMINAL),
        }
        fields = without(dropped(params), "clientCapabilities")
        return {**fields, "capabilities": capabilities, "authenticationMethods": []}

    def introduction(self, result: Object, note: Note) -> Object:
        read = partial(read_introduction, form=self, note=ignore_note)
        said = original(result, self, read, lambda raw: "authMethods" in raw or "agentInfo" in raw)
        if said is not None:
            return said
        offered = as_object(result.get("agentCapabilities"))
        note_others(offered, CARRIED, AGENT_CAPABILITIES, note)
        info = as_object(result.get("agentInfo"))
        if not info:
            note(NAMELESS_AGENT)
        fields = without(dropped(result), "agentCapabilities", "agentInfo", "authMethods")
        return {
            **fields,
            "agentCapabilities": {
                "sessions": {"new": True, "load": offered.get("loadSession") is True},
                "mcp": flags(offered.get("mcpCapabilities"), MCP),
                "prompts": flags(offered.get("promptCapabilities"), PROMPTS),
            },
            "meta": {**NAMELESS, **info},
            "authenticationMethods": as_list(result.get("authMethods")),
        }

    def prompt(self, params: Object, note: Note) -> Object:
        return {
            **without(dropped(params), "prompt"),
            "content": write_all(params.get("prompt"), self, note),
        }

    def end(self, result: Object, note: Note) -> Object:
        content = original_content(result, self)
        return {**write_end(result, self, note), "content": [] if content is None else content}

    def update(self, update: Object, note: Note) -> Object | None:
        known = original(
            update, self, partial(read_one, form=self, note=ignore_note), lambda raw: "type" in raw
        )
        if known is not None:
            return _with_strings(known)
        fields = dropped(update)
        content = self._content(as_text(fields.get("sessionUpdate")), fields, note)
        if content is None:
            return None
        said: Object = {"kind": fields.get("sessionUpdate"), "content": content}
        return {**said, "_meta": fields["_meta"]} if fields.get("_meta") else said

    def _content(self, kind: str, fields: Object, note: Note) -> Object | None:
        if kind == "agent_thought_chunk" or kind in ROLES:
            return self._chunk(kind, fields, note)
        if kind == "tool_call":
            return write_call(fields, note)
        if kind == "tool_call_update":
            return write_result(fields, note)
        if kind == "plan":
            entries = [as_object(entry) for entry in as_list(fields.get("entries"))]
            if any(STEP.items() - entry.items() for entry in map(_words, entries)):
                note(PLAN_DETAILS)
            return {"steps": [as_text(entry.get("content")) for entry in entries]}
        note(OTHER_KIND)
        return without(fields, "sessionUpdate", "_meta")

    def _chunk(self, kind: str, fields: Object, note: Note) -> Object | None:
        if fields.get("messageId") is not None:
            note(MESSAGE_ID)
        block = as_object(fields.get("content"))
        if kind in ROLES:
            said = self.block(block, note)
            return None if said is None else {"role": ROLES[kind], "content": [said]}
        thought = text_of(block)
        if thought is None:
            note(THOUGHT_BLOCK)
        return None if thought is None else {"thought": thought}


CARRIED = ("loadSession", "mcpCapabilities", "promptCapabilities", "_meta")
NAMELESS = {"name": "unknown", "version": "unknown"}


def note_others(offered: Object, carried: tuple[str, ...], phrase: LedgerNote, note: Note) -> None:
    """Say so if something is offered that the form has no name for."""
    if any(value for name, value in offered.items() if name not in carried):
        note(phrase)


def without(fields: Object, *names: str) -> Object:
    return {name: value for name, value in fields.items() if name not in names}


def _words(entry: Object) -> dict[str, str]:
    return {name: as_text(entry.get(name)) for name in STEP}


def _with_strings(update: Object) -> Object:
    """A kept tool call with its arguments as a string again."""
    content = as_object(update.get("content"))
    function = as_object(content.get("function"))
    arguments = function.get("arguments")
    if "arguments" not in function or type(arguments) is str:
        return update
    return {**update, "content": {**content, "function": {**function, "arguments": dumped(arguments)}}}
