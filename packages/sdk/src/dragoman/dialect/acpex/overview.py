"""The form in the overview document: `kind`, with all fields under `content`."""

from __future__ import annotations

from functools import partial

from dragoman.dialect.acpex.blocks import text_of, write_all, write_flat
from dragoman.dialect.acpex.form import AcpexForm, original
from dragoman.dialect.acpex.initialize import (
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
from dragoman.dialect.acpex.tools import to_json, write_call, write_result
from dragoman.dialect.acpex.turn import original_content, write_end
from dragoman.dialect.acpex.updates import STEP, read_one
from dragoman.dialect.ledger import LedgerNote, Note, ignore_note
from dragoman.dialect.message import Object, as_list, as_object, as_text, without
from dragoman.dialect.originals import drop_original

ROLES = {"agent_message_chunk": "assistant", "user_message_chunk": "user"}


class OverviewForm(AcpexForm):
    """The form `acpex`."""

    name = "acpex"
    tag = "kind"

    def block(self, block: Object, note: Note) -> Object | None:
        return write_flat(block, self, note)

    def greeting(self, params: Object, note: Note) -> Object:
        read = partial(read_greeting, form=self, note=ignore_note)
        first_form = original(params, self, read, lambda raw: "clientCapabilities" in raw)
        if first_form is not None:
            return first_form
        offers = as_object(params.get("clientCapabilities"))
        note_others(offers, ("fs", "terminal", "_meta"), CLIENT_CAPABILITIES, note)
        capabilities = {
            "fileSystem": flags(offers.get("fs"), FILES),
            "terminal": flags(offers.get("terminal") is True, TERMINAL),
        }
        fields = without(drop_original(params), "clientCapabilities")
        return {**fields, "capabilities": capabilities, "authenticationMethods": []}

    def introduction(self, result: Object, note: Note) -> Object:
        read = partial(read_introduction, form=self, note=ignore_note)
        first_form = original(result, self, read, lambda raw: "authMethods" in raw or "agentInfo" in raw)
        if first_form is not None:
            return first_form
        offers = as_object(result.get("agentCapabilities"))
        note_others(offers, CARRIED, AGENT_CAPABILITIES, note)
        info = as_object(result.get("agentInfo"))
        if not info:
            note(NAMELESS_AGENT)
        fields = without(drop_original(result), "agentCapabilities", "agentInfo", "authMethods")
        return {
            **fields,
            "agentCapabilities": {
                "sessions": {"new": True, "load": offers.get("loadSession") is True},
                "mcp": flags(offers.get("mcpCapabilities"), MCP),
                "prompts": flags(offers.get("promptCapabilities"), PROMPTS),
            },
            "meta": {**NAMELESS, **info},
            "authenticationMethods": as_list(result.get("authMethods")),
        }

    def prompt(self, params: Object, note: Note) -> Object:
        return {
            **without(drop_original(params), "prompt"),
            "content": write_all(params.get("prompt"), self, note),
        }

    def end(self, result: Object, note: Note) -> Object:
        content = original_content(result, self)
        return {**write_end(result, self, note), "content": [] if content is None else content}

    def update(self, update: Object, note: Note) -> Object | None:
        first_form = original(
            update, self, partial(read_one, form=self, note=ignore_note), lambda raw: "type" in raw
        )
        if first_form is not None:
            return _with_strings(first_form)
        fields = drop_original(update)
        content = self._content(as_text(fields.get("sessionUpdate")), fields, note)
        if content is None:
            return None
        written_update: Object = {"kind": fields.get("sessionUpdate"), "content": content}
        return {**written_update, "_meta": fields["_meta"]} if fields.get("_meta") else written_update

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
            written_block = self.block(block, note)
            return None if written_block is None else {"role": ROLES[kind], "content": [written_block]}
        thought = text_of(block)
        if thought is None:
            note(THOUGHT_BLOCK)
        return None if thought is None else {"thought": thought}


CARRIED = ("loadSession", "mcpCapabilities", "promptCapabilities", "_meta")
NAMELESS = {"name": "unknown", "version": "unknown"}


def note_others(offers: Object, names: tuple[str, ...], phrase: LedgerNote, note: Note) -> None:
    """Record each offered capability that the form has no name for."""
    if any(value for name, value in offers.items() if name not in names):
        note(phrase)


def _words(entry: Object) -> dict[str, str]:
    return {name: as_text(entry.get(name)) for name in STEP}


def _with_strings(update: Object) -> Object:
    """A kept tool call with its arguments as a string again."""
    content = as_object(update.get("content"))
    function = as_object(content.get("function"))
    arguments = function.get("arguments")
    if "arguments" not in function or type(arguments) is str:
        return update
    return {**update, "content": {**content, "function": {**function, "arguments": to_json(arguments)}}}
