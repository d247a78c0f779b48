"""Reads metrics from the entries of a session's stream: turns, questions, tools, costs.

The journal sees everything before it has an effect, so watching needs no calls from the hub beyond it. Nearly
every entry is an update that tells nothing here, and is passed over after a look at its bytes. Pure, without
a memory; what does not make sense tells nothing.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from dragoman.decoders import json_decoder
from dragoman.wire import Notification, Request, decode
from dragoman.wire.decode import UNREADABLE_TEXT
from dragoman_hub.api.observability.usage import AgentUsage, usage_of
from dragoman_local.journal import StoredEntry

UPDATE = b'{"jsonrpc":"2.0","method":"session/update","params":{'

CHUNKS = (b'agent_message_chunk"', b'agent_thought_chunk"', b'user_message_chunk"')

LENT = ("fs/", "terminal/")
"""Effects that an agent requests by itself, without a decision."""

STOPPED = frozenset({"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"})


class SessionMadeEntry(Struct, frozen=True):
    """The session belongs to an agent from now on."""

    agent: str


class TurnStartEntry(Struct, frozen=True):
    """A prompt was sent to the agent."""

    key: str


class TurnEndEntry(Struct, frozen=True):
    """A turn ended. `how` is a stop reason of the protocol, `error`, or `other` for unknown reasons."""

    key: str
    how: str


class QuestionEntry(Struct, frozen=True):
    """A person or the policy must decide. `request` is its id within the session, `call` its tool call."""

    request: str
    method: str
    call: str = ""


class SettledEntry(Struct, frozen=True):
    """A request was answered or cancelled, including those that no person was asked."""

    request: str
    outcome: str


class ToolCallEntry(Struct, frozen=True):
    """A tool call was started or updated."""

    call: str
    kind: str
    status: str
    name: str = ""
    """The name of the tool in the agent's code, if the agent sends it."""


StreamEvent: TypeAlias = (
    SessionMadeEntry
    | TurnStartEntry
    | TurnEndEntry
    | QuestionEntry
    | SettledEntry
    | ToolCallEntry
    | AgentUsage
)


class _EntryCall(Struct, frozen=True):
    toolCallId: str = ""
    sessionUpdate: str = ""
    kind: str | None = None
    status: str | None = None
    name: str | None = None


class _Ours(Struct, frozen=True):
    key: str = ""


class _EntryMeta(Struct, frozen=True):
    dragoman: _Ours = _Ours()


class _EntryParams(Struct, frozen=True):
    update: _EntryCall = _EntryCall()
    toolCall: _EntryCall = _EntryCall()


class _PromptParams(Struct, frozen=True):
    meta: _EntryMeta = msgspec.field(name="_meta", default=_EntryMeta())


class _Stop(Struct, frozen=True):
    stopReason: str = ""


class _EntryNote(Struct, frozen=True):
    hub: str
    key: str = ""
    agent: str = ""
    request: str = ""
    outcome: str = ""
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_notes = json_decoder(_EntryNote)
_params = json_decoder(_EntryParams)
_prompts = json_decoder(_PromptParams)
_stops = json_decoder(_Stop)


def chunk_starts(session: str) -> tuple[bytes, ...]:
    """Return the beginnings of text chunks of a session, as every implementation writes them: nearly all
    entries are chunks, and this check is many times faster than a full one.
    """
    start = UPDATE + b'"sessionId":%b,"update":{"sessionUpdate":"' % msgspec.json.encode(session)
    return tuple(start + kind for kind in CHUNKS)


def is_dull(frame: bytes, *, tools: bool = True) -> bool:
    """Whether an agent's frame is an update without metrics: nearly every one is."""
    if not frame.startswith(UPDATE) or b'"usage_update"' in frame:
        return False
    return not tools or b'"tool_call' not in frame


def read_entry(entry: StoredEntry) -> StreamEvent | None:
    """Return the metrics of one entry, if any."""
    try:
        return _READERS[entry.direction](entry)
    except UNREADABLE_TEXT:
        return None


def _from_agent(entry: StoredEntry) -> StreamEvent | None:
    if is_dull(entry.frame):
        return None
    message = decode(entry.frame)
    if isinstance(message, Request):
        if message.method.startswith(LENT):
            return None
        about = _EntryParams() if message.params is None else _params.decode(message.params)
        return QuestionEntry(str(entry.sequence), message.method, about.toolCall.toolCallId)
    if isinstance(message, Notification) and message.method != "session/update":
        return None
    return usage_of(entry.frame) or (_tool(message) if isinstance(message, Notification) else None)


def _tool(note: Notification) -> ToolCallEntry | None:
    update = _EntryCall() if note.params is None else _params.decode(note.params).update
    if update.sessionUpdate not in ("tool_call", "tool_call_update") or not update.toolCallId:
        return None
    return ToolCallEntry(update.toolCallId, update.kind or "", update.status or "", update.name or "")


def _to_agent(entry: StoredEntry) -> StreamEvent | None:
    if b'"session/prompt"' not in entry.frame:
        return None
    message = decode(entry.frame)
    if not isinstance(message, Request) or message.method != "session/prompt" or message.params is None:
        return None
    return TurnStartEntry(_prompts.decode(message.params).meta.dragoman.key)


def _from_note(entry: StoredEntry) -> StreamEvent | None:
    if not entry.frame.startswith(b'{"hub":') or entry.frame.startswith(b'{"hub":"heard"'):
        return None
    note = _notes.decode(entry.frame)
    if note.hub == "made":
        return SessionMadeEntry(note.agent)
    if note.hub == "settled":
        return SettledEntry(note.request, note.outcome)
    return TurnEndEntry(note.key, _how(note)) if note.hub == "turn_ended" else None


def _how(note: _EntryNote) -> str:
    if not isinstance(note.result, Raw):
        return "error"
    stop_reason = _stops.decode(note.result).stopReason
    return stop_reason if stop_reason in STOPPED else "other"


_READERS = {"to_client": _from_agent, "to_agent": _to_agent, "note": _from_note}
