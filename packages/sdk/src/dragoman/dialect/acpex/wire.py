"""The form that the ACPex code sends, which is mostly v1. The differences: updates with `type` and an id
(`typed_updates`), `done` at the end of a turn, the agent's name in `_meta`, no `clientInfo`.
"""

from __future__ import annotations

from functools import partial

from dragoman.dialect.acpex.blocks import is_flat, read_block, write_all
from dragoman.dialect.acpex.form import AcpexForm, original
from dragoman.dialect.acpex.initialize import FILES, MCP, PROMPTS, flags, read_greeting, read_introduction
from dragoman.dialect.acpex.ledger_notes import (
    AGENT_CAPABILITIES,
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    OTHER_KIND,
)
from dragoman.dialect.acpex.overview import CARRIED, note_others
from dragoman.dialect.acpex.turn import write_end
from dragoman.dialect.acpex.typed_updates import TYPES, write_typed
from dragoman.dialect.acpex.updates import CHUNKS, read_one
from dragoman.dialect.ledger import Note, ignore_note
from dragoman.dialect.message import Object, as_list, as_object, as_text, without
from dragoman.dialect.originals import drop_original


class WireForm(AcpexForm):
    """The form `acpex-wire`."""

    name = "acpex-wire"
    tag = "type"

    def block(self, block: Object, note: Note) -> Object | None:
        first_form = original(block, self, lambda raw: read_block(raw, self, ignore_note) or {}, is_flat)
        return drop_original(block) if first_form is None else first_form

    def greeting(self, params: Object, note: Note) -> Object:
        read = partial(read_greeting, form=self, note=ignore_note)
        first_form = original(params, self, read, lambda raw: "capabilities" in raw or "clientInfo" in raw)
        if first_form is not None:
            return first_form
        offers = as_object(params.get("clientCapabilities"))
        note_others(offers, ("fs", "terminal", "_meta"), CLIENT_CAPABILITIES, note)
        fields = without(drop_original(params), "clientInfo")
        params_written = {
            **fields,
            "clientCapabilities": {
                "fs": flags(offers.get("fs"), FILES),
                "terminal": offers.get("terminal") is True,
            },
        }
        if not params.get("clientInfo"):
            return params_written
        note(CLIENT_INFO)
        return {
            **params_written,
            "_meta": {**as_object(fields.get("_meta")), "clientInfo": params["clientInfo"]},
        }

    def introduction(self, result: Object, note: Note) -> Object:
        read = partial(read_introduction, form=self, note=ignore_note)
        first_form = original(result, self, read, lambda raw: "meta" in raw or "authenticationMethods" in raw)
        if first_form is not None:
            return first_form
        offers = as_object(result.get("agentCapabilities"))
        note_others(offers, CARRIED, AGENT_CAPABILITIES, note)
        fields = without(drop_original(result), "agentInfo")
        result_written = {
            **fields,
            "agentCapabilities": {
                "loadSession": offers.get("loadSession") is True,
                "mcpCapabilities": flags(offers.get("mcpCapabilities"), MCP),
                "promptCapabilities": flags(offers.get("promptCapabilities"), PROMPTS),
            },
            "authMethods": as_list(result.get("authMethods")),
        }
        meta = {**as_object(fields.get("_meta")), **as_object(result.get("agentInfo"))}
        return {**result_written, "_meta": meta} if meta else result_written

    def prompt(self, params: Object, note: Note) -> Object:
        return {**drop_original(params), "prompt": write_all(params.get("prompt"), self, note)}

    def end(self, result: Object, note: Note) -> Object:
        return write_end(result, self, note)

    def update(self, update: Object, note: Note) -> Object | None:
        """Write an update without an id, unless it had one; the edge numbers the others."""
        first_form = original(
            update, self, partial(read_one, form=self, note=ignore_note), lambda raw: "type" not in raw
        )
        if first_form is not None:
            return first_form
        kind = as_text(update.get("sessionUpdate"))
        fields = without(drop_original(update), "sessionUpdate")
        if kind not in TYPES:
            note(OTHER_KIND)
        if kind in CHUNKS:
            block = self.block(as_object(fields.get("content")), note)
            return None if block is None else {"type": kind, **fields, "content": block}
        return {"type": kind, **write_typed(kind, fields, self, note)}
