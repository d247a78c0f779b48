"""Checks whether a request names one of its fields twice.

Readers differ on which of the two counts, so one of them could check what another does not run. JSON allows
it and our decoder takes the last; here such a request is found, so that it can be refused.

Nearly every request is settled by its length: there is no room for a member more. Counting the names settles
most others. Only a name that also stands elsewhere, or text with escapes, is parsed once more, and then
without the params.
"""

from __future__ import annotations

import re

from dragoman.wire.envelope import Request

MEMBERS = ("id", "method", "params")

_SHORTEST = len(b'{"jsonrpc":"2.0","id":,"method":""}')
_PARAMS = len(b',"params":')
_ROOM = len(b',"id":0')  # the shortest member that could be there twice

_COLON = rb"[ \t\r\n]*:[ \t\r\n]*"  # compiled by the few who need it


def says_each_once(frame: bytes, request: Request) -> bool:
    """Whether no field of the request appears twice. `request` was decoded from `frame`."""
    shortest = _SHORTEST + len(request.method) + len(str(request.id))
    if request.params is not None:
        shortest += _PARAMS + memoryview(request.params).nbytes
    if len(frame) < shortest + _ROOM:
        return True
    text = _without_params(frame, request)
    counts_once = b"\\" not in text and all(text.count(b'"%b"' % name.encode()) <= 1 for name in MEMBERS)
    return counts_once or _parses_once(text)


def _without_params(frame: bytes, request: Request) -> bytes:
    """The frame with a zero for its params; all of it, if they do not follow their name's first place."""
    name = frame.find(b'"params"')
    colon = re.compile(_COLON).match(frame, name + len(b'"params"'))
    value = b"" if request.params is None else bytes(request.params)
    # A number could be the beginning of another one; an object or array ends where it ends.
    if name < 0 or colon is None or value[:1] not in (b"{", b"[") or not frame.startswith(value, colon.end()):
        return frame
    return b"%b0%b" % (frame[: colon.end()], frame[colon.end() + len(value) :])


def _parses_once(text: bytes) -> bool:
    import json  # rarely needed, and slow to load

    names: list[str] = []

    def note(pairs: list[tuple[str, object]]) -> None:
        names[:] = [name for name, _ in pairs]  # objects close from the inside out: the request's own stay

    try:
        # Numbers stay text: one of five thousand digits is legal, and Python refuses to convert it.
        json.loads(text, object_pairs_hook=note, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):  # nested too deep to be sure, so it is not
        return False
    return all(names.count(name) <= 1 for name in MEMBERS)
