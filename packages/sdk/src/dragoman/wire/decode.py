"""Decodes frames into envelopes. Any bytes become envelopes, and no input raises an error.

A block of well-formed frames is decoded by one call into C. Only when that fails, or when the block is not
plainly one object a line, are its lines looked at one by one, and then only the bad line is malformed. Either
way leads to the same envelopes.

What is strict here and why: a request must say `jsonrpc`, because nothing may run by guess; an answer need
not, because refusing an answer helps nobody. Text must be UTF-8, because silently replaced bytes end up in
somebody's file. A lone surrogate, which JSON can write but Unicode cannot, is read as U+FFFD, except in an
id, which could then not be echoed. A request that names a member twice is refused (see `duplicate_members`).

Every answer with an id ends its call: one without result and error is read as the result null.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from dragoman.decoders import decode_json, json_decoder
from dragoman.wire.codes import INVALID_REQUEST, PARSE_ERROR
from dragoman.wire.duplicate_members import says_each_once
from dragoman.wire.envelope import (
    Envelope,
    ErrorObject,
    Failure,
    Id,
    Json,
    MalformedFrame,
    Notification,
    Request,
    Response,
)
from dragoman.wire.framing import MEBIBYTE


class _Shell(Struct, gc=False):
    """Every member that an envelope can have, before we know which envelope it is."""

    jsonrpc: Any = UNSET  # whatever it is: only requests and notifications must get it right
    id: Id | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class _RawShell(Struct, gc=False):
    """An object with nothing expected of it, to say what is wrong with one that is no `_Shell`."""

    method: Raw | UnsetType = UNSET


class _BareError(Struct, gc=False):
    """An error object whose data cannot be read."""

    code: int
    message: str


_shells = json_decoder(_Shell)
_text = json_decoder(Raw)
_error = json_decoder(ErrorObject)

# What decoding untrusted bytes can raise: bad JSON or types, bad UTF-8, nesting beyond the interpreter's
# stack.
UNREADABLE_TEXT = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

# One escape: a whole surrogate pair, half of one (the group), or any other. Only reading all of them from
# left to right tells half a pair from an escaped backslash before the letters `ud800`. Not compiled here:
# few programs ever meet one, and all of them would pay for it at their start.
_ESCAPE = (
    rb"(?s)\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
_SURROGATE = rb"\\u[dD][89a-fA-F]"

_NULL = Raw(b"null")

# How nearly everybody begins a frame. The longer a text is, the faster it is searched for.
_USUAL_SEAM = b'}\n{"jsonrpc":"2.0"'


def decode(frame: bytes) -> Envelope:
    """Decode one frame into one envelope."""
    if not is_utf8(frame):
        return MalformedFrame(frame, PARSE_ERROR, "the text is not UTF-8")
    try:
        shell = _shells.decode(frame)
    except UNREADABLE_TEXT:
        return _look_again(frame)
    return _sort(shell, frame)


def decode_block(block: bytes) -> list[Envelope]:
    """Decode all frames of a block, in order. Blank lines are ignored."""
    lines = count_objects(block)
    if lines and is_utf8(block):
        try:
            shells = _shells.decode_lines(block)
        except UNREADABLE_TEXT:
            pass
        else:
            if len(shells) == lines:
                return _sort_all(shells, block) if lines > 1 else [_sort_only(shells[0], block)]
    return [decode(line) for line in _lines(block)]


def count_objects(block: bytes) -> int:
    """Return the number of lines in the block if each can only be one object; 0 if that is not obvious.

    `}` newline `{` cannot stand inside a JSON value, so when every inner newline does, frames and lines
    coincide. Without this check two objects on one line, or one object on two, would pass for whoever decodes
    the block in one go.
    """
    if block[-2:] != b"}\n":
        return 0
    if block.find(b"\n") == len(block) - 1:  # a frame may be a hundred megabytes: one look is enough for it
        return 1
    lines = count_lines(block)
    plain = block.count(_USUAL_SEAM) == lines - 1 or block.count(b"}\n{") == lines - 1
    return lines if plain else 0


def count_lines(block: bytes) -> int:
    """Return the number of newlines."""
    return len(block) - len(block.replace(b"\n", b""))  # `count` takes four times as long


def _lines(block: bytes) -> Iterator[bytes]:
    for line in block.split(b"\n"):
        if line and not line.isspace():
            yield line


def _sort_all(shells: list[_Shell], block: bytes) -> list[Envelope]:
    """Shells and lines coincide here. Notifications are nearly everything that ever comes, so they go
    first.
    """
    envelopes: list[Envelope] = []
    append = envelopes.append
    frames: list[bytes] = []  # cut only when somebody wants to see one
    for shell in shells:
        method = shell.method
        if method is not UNSET and shell.id is UNSET and shell.jsonrpc == "2.0":
            append(Notification(method, None if shell.params is UNSET else shell.params))
        else:
            frames = frames or block.split(b"\n")
            append(_sort(shell, frames[len(envelopes)]))
    return envelopes


def _sort_only(shell: _Shell, block: bytes) -> Envelope:
    """A frame may be a hundred megabytes: it is not copied to cut off its newline, except as evidence."""
    envelope = _sort(shell, block)
    return decode(block[:-1]) if type(envelope) is MalformedFrame else envelope


def _sort(shell: _Shell, frame: bytes) -> Envelope:
    """Which envelope is it?"""
    if shell.method is UNSET:
        return _sort_answer(shell, frame)
    if shell.jsonrpc != "2.0":
        request_id = None if shell.id is UNSET else shell.id
        return MalformedFrame(frame, INVALID_REQUEST, 'the member "jsonrpc" must be "2.0"', request_id)
    params = None if shell.params is UNSET else shell.params
    if shell.id is UNSET:
        return Notification(shell.method, params)
    request = Request(shell.id, shell.method, params)
    if says_each_once(frame, request):
        return request
    return MalformedFrame(frame, INVALID_REQUEST, "a member of the request appears twice")


def _sort_answer(shell: _Shell, frame: bytes) -> Envelope:
    is_failure = shell.error is not UNSET and bytes(shell.error) != b"null"
    if shell.id is UNSET and not is_failure:
        if shell.result is UNSET and shell.error is UNSET:
            return MalformedFrame(frame, INVALID_REQUEST, "the object has neither a method nor an id")
        return MalformedFrame(frame, None, "an answer without an id")
    # Some agents leave the id out of an error that they cannot place.
    answered_id = None if shell.id is UNSET else shell.id
    # Libraries that always write both members put null into the one that does not count. Where both hold
    # something, the error counts: the call must end, and nothing may pass for a yes that is also an error.
    if is_failure:
        return Failure(answered_id, _read_error(shell.error))  # type: ignore[arg-type]  # not UNSET: `is_failure`
    # Neither member: a Go struct with `omitempty` and a JavaScript object with `undefined` leave out a result
    # that is null. Dropped, the call would hang. Read as null, whoever made the call takes it for an empty
    # result where its method allows that, and fails at once where it does not.
    return Response(answered_id, _NULL if shell.result is UNSET else shell.result)


def _read_error(raw: Raw) -> ErrorObject:
    """An error is never lost because its object is odd: some peers send a bare string."""
    try:
        return _error.decode(raw)
    except UNREADABLE_TEXT:
        pass
    try:
        value = msgspec.json.decode(raw)
    except UNREADABLE_TEXT:
        return _read_bare_error(raw)
    text = value if isinstance(value, str) else "the peer sent a malformed error object"
    return ErrorObject(0, text, UNSET if isinstance(value, str) else value)


def _read_bare_error(raw: Raw) -> ErrorObject:
    """JSON that Python cannot hold, such as 1e400 or a number of five thousand digits."""
    try:
        bare = decode_json(raw, _BareError)
    except UNREADABLE_TEXT:
        return ErrorObject(0, "the peer sent a malformed error object")
    return ErrorObject(bare.code, bare.message)


def _look_again(frame: bytes) -> Envelope:
    """Not an envelope. Is it JSON at all, perhaps but for half a surrogate pair?"""
    text = without_half_pairs(frame)
    try:
        _text.decode(text)  # to the end: a wrong type is reported before the text behind it was seen
        shell = _shells.decode(text)
    except msgspec.ValidationError:
        return _explain(frame, text)
    except UNREADABLE_TEXT:
        return MalformedFrame(frame, PARSE_ERROR, "the text is not JSON")
    if isinstance(shell.id, str) and "\ufffd" in shell.id:
        code = None if shell.method is UNSET else INVALID_REQUEST
        return MalformedFrame(frame, code, "the id cannot be echoed: it holds half a surrogate pair")
    envelope = _sort(shell, text)
    return replace(envelope, frame=frame) if type(envelope) is MalformedFrame else envelope


def without_half_pairs(text: bytes) -> bytes:
    """Return the text with U+FFFD in place of each lone surrogate escape, as `decode` reads it."""
    if b"\\u" not in text or not re.search(_SURROGATE, text):
        return text
    return re.sub(_ESCAPE, lambda escape: rb"\ufffd" if escape[1] else escape[0], text)


def _explain(frame: bytes, text: bytes) -> MalformedFrame:
    """It is JSON, but not an envelope."""
    try:
        shell = decode_json(text, _RawShell)
    except msgspec.ValidationError:
        kind = "arrays are not accepted" if text.lstrip()[:1] == b"[" else "a message must be an object"
        return MalformedFrame(frame, INVALID_REQUEST, kind)
    if shell.method is UNSET:
        return MalformedFrame(frame, None, "an answer whose id is neither a string nor an integer")
    why = "the method must be a string and the id a string or an integer"
    return MalformedFrame(frame, INVALID_REQUEST, why)


def is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        if len(data) <= MEBIBYTE:
            data.decode()
        else:  # in pieces, so that checking a hundred megabytes does not cost four hundred
            check = codecs.getincrementaldecoder("utf-8")()
            view = memoryview(data)
            for start in range(0, len(data), MEBIBYTE):
                check.decode(view[start : start + MEBIBYTE])
            check.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def read_value(text: bytes) -> Json:
    """Return the value of a JSON text; None if it is not JSON."""
    try:
        return msgspec.json.decode(text)
    except UNREADABLE_TEXT:
        return None
