"""Frames to envelopes. Any bytes whatsoever become envelopes; nothing raises.

A block of well-formed frames is decoded by one call into C. Only when that fails, or when the block is not plainly one
object a line, are its lines looked at one by one, and then only the bad line is malformed.

What is strict here and why: a request must say `jsonrpc`, because nothing may run by guess; an answer need not, because
refusing an answer helps nobody. Text must be UTF-8, because silently replaced bytes end up in somebody's file. A lone surrogate,
which JSON can write but Unicode cannot, is read as U+FFFD, except in an id, which could then not be echoed.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from dragoman.wire.codes import INVALID_REQUEST, PARSE_ERROR
from dragoman.wire.envelope import Envelope, ErrorObject, Failure, Id, Malformed, Notification, Request, Response
from dragoman.wire.framing import MEBIBYTE


class _Shell(Struct, gc=False):
    """Every member that an envelope can have, before we know which envelope it is."""

    jsonrpc: str | UnsetType = UNSET
    id: Id | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class _RawShell(Struct, gc=False):
    """The same with nothing expected, to say what is wrong with a frame that is no `_Shell`."""

    method: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET
    id: Raw | UnsetType = UNSET


_shells = msgspec.json.Decoder(_Shell)
_raw_shell = msgspec.json.Decoder(_RawShell)
_error = msgspec.json.Decoder(ErrorObject)

# What decoding untrusted bytes can raise: bad JSON or types, bad UTF-8, nesting beyond the interpreter's stack.
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

# An escape of one half of a surrogate pair without its other half; backslashes before it are pairs.
_LONE_SURROGATE = re.compile(
    rb"(?<!\\)((?:\\\\)*)(?:\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)


def decode(frame: bytes) -> Envelope:
    """One frame, one envelope."""
    if not _is_utf8(frame):
        return Malformed(frame, PARSE_ERROR, "the text is not UTF-8")
    try:
        shell = _shells.decode(frame)
    except msgspec.ValidationError:
        return _explain(frame)
    except _UNREADABLE:
        return _repair(frame)
    return _sort(shell, frame) if _says_each_once(shell, frame) else _ambiguous(frame)


def decode_block(block: bytes) -> list[Envelope]:
    """All frames of a block, in order. Blank lines are nothing."""
    lines = block.count(b"\n")
    # `}` newline `{` cannot stand inside a JSON value, so when every inner newline does, frames and lines coincide. Without this check
    # two objects on one line, or one object on two, would pass.
    if block[-2:] == b"}\n" and block.count(b"}\n{") == lines - 1 and _is_utf8(block):
        try:
            shells = _shells.decode_lines(block)
        except _UNREADABLE:
            pass
        else:
            if len(shells) == lines:
                return _sort_all(shells, block)
    return [decode(line) for line in _lines(block)]


def _lines(block: bytes) -> Iterator[bytes]:
    for line in block.split(b"\n"):
        if line and not line.isspace():
            yield line


def _sort_all(shells: list[_Shell], block: bytes) -> list[Envelope]:
    envelopes: list[Envelope] = []
    append = envelopes.append
    one_by_one = requests = False
    for shell in shells:
        method = shell.method
        if method is not UNSET and shell.id is UNSET and shell.jsonrpc == "2.0":
            append(Notification(method, None if shell.params is UNSET else shell.params))
        else:
            envelope = _sort(shell, b"")
            requests = requests or type(envelope) is Request
            one_by_one = one_by_one or type(envelope) is Malformed  # its frame is wanted as evidence
            append(envelope)
    # A member that appears twice is read differently by different readers; where anything is to be run, that is refused.
    doubled = requests and (block.count(b'"method"') > len(shells) or block.count(b'"id"') > len(shells))
    return [decode(line) for line in _lines(block)] if one_by_one or doubled else envelopes


def _sort(shell: _Shell, frame: bytes) -> Envelope:
    """Which envelope is it? `frame` is only evidence."""
    if shell.method is not UNSET:
        if shell.jsonrpc != "2.0":
            return Malformed(frame, INVALID_REQUEST, 'the member "jsonrpc" must be "2.0"')
        params = None if shell.params is UNSET else shell.params
        if shell.id is UNSET:
            return Notification(shell.method, params)
        return Request(shell.id, shell.method, params)
    if shell.id is UNSET:
        if shell.result is UNSET and shell.error is UNSET:
            return Malformed(frame, INVALID_REQUEST, "the object has neither a method nor an id")
        if shell.error is UNSET:
            return Malformed(frame, None, "an answer without an id")
    # Some agents leave the id out of an error that they cannot place.
    answered_id = None if shell.id is UNSET else shell.id
    if (shell.result is UNSET) == (shell.error is UNSET):
        return Malformed(frame, None, "an answer must hold either a result or an error")
    if shell.error is UNSET:
        return Response(answered_id, shell.result)  # type: ignore[arg-type]  # not UNSET: the line above
    return Failure(answered_id, _read_error(shell.error))


def _read_error(raw: Raw) -> ErrorObject:
    """An error is never lost because its object is odd: some peers send a bare string."""
    try:
        return _error.decode(raw)
    except _UNREADABLE:
        pass
    try:
        value = msgspec.json.decode(raw)
    except _UNREADABLE:
        value = None
    text = value if isinstance(value, str) else "the peer sent a malformed error object"
    return ErrorObject(0, text, UNSET if isinstance(value, str) else value)


def _explain(frame: bytes) -> Malformed:
    """It is JSON, but not an envelope."""
    try:
        shell = _raw_shell.decode(frame)
    except msgspec.ValidationError:
        kind = "arrays are not accepted" if frame.lstrip()[:1] == b"[" else "a message must be an object"
        return Malformed(frame, INVALID_REQUEST, kind)
    except _UNREADABLE:
        return Malformed(frame, PARSE_ERROR, "the text is not JSON")
    if shell.method is not UNSET:
        return Malformed(frame, INVALID_REQUEST, "the method must be a string and the id a string or an integer")
    if shell.id is UNSET and shell.result is UNSET and shell.error is UNSET:
        return Malformed(frame, INVALID_REQUEST, "the object has neither a method nor an id")
    return Malformed(frame, None, "an answer whose id is neither a string nor an integer")


def _repair(frame: bytes) -> Envelope:
    """Not JSON for us; perhaps only because of half a surrogate pair."""
    repaired = _LONE_SURROGATE.sub(rb"\1\\ufffd", frame)
    if repaired == frame:
        return Malformed(frame, PARSE_ERROR, "the text is not JSON")
    try:
        shell = _shells.decode(repaired)
    except _UNREADABLE:
        return Malformed(frame, PARSE_ERROR, "the text is not JSON")
    if isinstance(shell.id, str) and "\ufffd" in shell.id:
        return Malformed(frame, INVALID_REQUEST, "the id cannot be echoed: it holds half a surrogate pair")
    return _sort(shell, frame)


def _is_utf8(data: bytes) -> bool:
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


def _says_each_once(shell: _Shell, frame: bytes) -> bool:
    """Requests only: is no member of the envelope there twice?"""
    if shell.method is UNSET or (frame.count(b'"method"') == 1 and frame.count(b'"id"') <= 1):
        return True
    names: list[str] = []

    def note(pairs: list[tuple[str, object]]) -> None:
        names[:] = [name for name, _ in pairs]  # objects close from the inside out, so the envelope's names stay

    try:
        json.loads(frame, object_pairs_hook=note)
    except (ValueError, RecursionError):
        return True  # too deep or too large for this check; msgspec has already accepted it
    return all(names.count(name) == 1 for name in ("jsonrpc", "id", "method", "params") if name in names)


def _ambiguous(frame: bytes) -> Malformed:
    return Malformed(frame, INVALID_REQUEST, "a member of the message appears twice")
