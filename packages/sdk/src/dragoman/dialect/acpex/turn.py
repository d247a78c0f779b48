"""Translates the end of a turn: `done` means v1's `end_turn`, an `error` may mean no failure, and the answer
may hold text.

The overview's agents may put content into their final answer. v1 has no place for it: what was not streamed
before is said before the answer, what was is a repetition and kept in `_meta`.
"""

from __future__ import annotations

from dragoman.dialect.acpex.blocks import read_blocks
from dragoman.dialect.acpex.form import AcpexForm
from dragoman.dialect.acpex.ledger_notes import ENDED_BY_ERROR, FINAL_CONTENT, REPEATED_CONTENT, STOP_REASON
from dragoman.dialect.ledger import Note
from dragoman.dialect.message import Json, Object, as_object, as_text
from dragoman.dialect.originals import KEY, drop_original, keep
from dragoman.dialect.streamed_text import StreamedText

REASONS = {"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"}
NEAREST = {"done": "end_turn", "length": "max_tokens"}
BY_ERROR = "acpexStopReason"


def read_end(
    result: Object, streamed_text: StreamedText, form: AcpexForm, note: Note
) -> tuple[list[Object], Object]:
    """Return the blocks that still must be sent, and v1's result."""
    result = drop_original(result)
    reason = as_text(result.get("stopReason"))
    stop_reason = NEAREST.get(reason, reason)
    if stop_reason not in REASONS:
        note(STOP_REASON)
        stop_reason = "end_turn"
    read: Object = {"stopReason": stop_reason}
    if type(result.get("_meta")) is dict:
        read["_meta"] = result["_meta"]
    blocks = read_blocks(result.get("content"), form, note)
    if blocks and not streamed_text.repeats(blocks):
        note(FINAL_CONTENT)
        return blocks, _with_reason(read, {"stopReason": reason}, form)
    if blocks:
        note(REPEATED_CONTENT)
    original = {"stopReason": reason} | ({"content": result["content"]} if blocks else {})
    return [], _with_reason(read, original, form)


def _with_reason(read: Object, original: Object, form: AcpexForm) -> Object:
    """The words of the peer, kept only if they are not what our way back says anyway."""
    plain = {"stopReason": SPOKEN.get(read["stopReason"], read["stopReason"])}
    return read if original == plain else keep(read, form.name, original)


SPOKEN = {"end_turn": "done"}


def write_end(result: Object, form: AcpexForm, note: Note) -> Object:
    """Write a v1 result with its reason in the peer's words; the form adds the content."""
    reason = as_text(result.get("stopReason"))
    peer_reason = as_text(_original_result(result, form).get("stopReason"))
    fields = drop_original(result)
    if peer_reason and reason in (NEAREST.get(peer_reason, peer_reason), "end_turn"):
        return {**fields, "stopReason": peer_reason}
    if reason not in SPOKEN and reason != "cancelled":
        note(STOP_REASON)
    return {**fields, "stopReason": SPOKEN.get(reason, reason)}


def original_content(result: Object, form: AcpexForm) -> Json | None:
    return _original_result(result, form).get("content")


def _original_result(result: Object, form: AcpexForm) -> Object:
    entry = as_object(as_object(result.get("_meta")).get(KEY))
    return as_object(entry.get("raw")) if entry.get("name") == form.name else {}


def turn_error(result: Object, note: Note) -> Object | None:
    """Return the v1 error for an `error` at the end of a turn."""
    if result.get("stopReason") != "error":
        return None
    note(ENDED_BY_ERROR)
    return {"code": -32603, "message": "The turn ended with an error", "data": {BY_ERROR: "error"}}


def was_failed(error: Json) -> bool:
    """Whether the peer means an error as the end of a turn."""
    return as_object(as_object(error).get("data")).get(BY_ERROR) == "error"
