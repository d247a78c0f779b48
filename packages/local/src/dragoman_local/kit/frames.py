"""The frames that store a session, and how to recognise their kinds.

Updates are stored as they were sent, so that a load sends them again without reading them. A prompt and its
answer are stored as a request and its result, under the number of the turn; what the kit remembers besides
is a note. The frames of the kit always begin alike, byte for byte: it is by their beginnings that they are
told apart.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Raw, Struct

from dragoman.decoders import json_decoder
from dragoman.schema import v1
from dragoman.schema.codec import write
from dragoman.sdk.outbound import write_out
from dragoman.wire import Request, decode

UPDATE = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":'
ANSWER = b'{"jsonrpc":"2.0","id":'

UNREPLAYED = ("config_option_update", "available_commands_update", "notice", "compaction_summary_chunk")
"""Updates of one moment or one client, which are sent again elsewhere or not at all."""

_encode = msgspec.json.Encoder().encode


class StoredNote(Struct, frozen=True):
    """A stored note of the kit."""

    kit: str
    value: Raw = Raw(b"null")


class StoredPrompt(Struct, frozen=True):
    """The params of a stored prompt; its blocks stay unchanged."""

    prompt: list[Raw]


_notes = json_decoder(StoredNote)
_prompts = json_decoder(StoredPrompt)


def update_head(session_id: str) -> bytes:
    """Return the beginning of every update frame of a session, up to the update itself; `}}` ends it."""
    return UPDATE + _encode(session_id) + b',"update":'


def update_frame(session_id: str, update: v1.SessionUpdate) -> bytes:
    return update_head(session_id) + write(update) + b"}}"


def beginnings(session_id: str, tags: Iterable[str]) -> tuple[bytes, ...]:
    """Return the beginnings of update frames of these kinds."""
    head = update_head(session_id) + b'{"sessionUpdate":"'
    return tuple(head + tag.encode() + b'"' for tag in tags)


def note(kind: str, value: object = None) -> bytes:
    return _encode(StoredNote(kind, Raw(_encode(value))))


def read_note(frame: bytes) -> StoredNote | None:
    """Read a note of the kit; None for other notes."""
    try:
        return _notes.decode(frame)
    except msgspec.MsgspecError:
        return None


def prompt_frame(turn: int, request: v1.PromptRequest) -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":%b}' % (turn, write(request))


def read_prompt(frame: bytes) -> tuple[int, StoredPrompt] | None:
    """Return the number of the turn and its prompt; None for any other frame."""
    request = decode(frame)
    if not isinstance(request, Request) or not isinstance(request.id, int) or request.params is None:
        return None
    try:
        return request.id, _prompts.decode(request.params)
    except msgspec.MsgspecError:
        return None


def prompt_updates(head: bytes, turn: int, prompt: StoredPrompt) -> list[bytes]:
    """Return a stored prompt as `user_message_chunk` updates."""
    begin = head + b'{"sessionUpdate":"user_message_chunk","content":'
    end = b',"messageId":"prompt-%d"}}}' % turn
    return [begin + bytes(block) + end for block in prompt.prompt]


def answer_frame(turn: int, response: v1.PromptResponse) -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (
        turn,
        write_out(response, v1.PromptResponse, "session/prompt"),
    )


def error_frame(turn: int, code: int, message: str) -> bytes:
    error = _encode({"code": code, "message": message})
    return b'{"jsonrpc":"2.0","id":%d,"error":%b}' % (turn, error)
