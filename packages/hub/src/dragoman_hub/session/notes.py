"""Notes: entries that the hub itself writes into a session's stream, besides the frames.

A note is one JSON object whose member `hub` names its kind. Notes make a stream complete: whoever reads it
from its beginning knows the session as the hub knew it, and what its clients were told.

| note | says |
|---|---|
| `made` | agent, folder, and what the agent, process `n`, answered; key of the request, parent of a child |
| `made` with `source` | it goes on where that session stood at entry `sourceEnd`; its agent is told |
| `continued` | another agent goes on in that session |
| `made` with `load` | the agent is asked to load a session of its own; it has it once `bound` is there |
| `child` | a child session, whose stream exists, and the agent's own id for it |
| `forked` | all that a fork begins with is stored; the key of the request |
| `loading` | an agent's process, `n`, is asked to bring the session back, by the request with this id |
| `bound` | by which id an agent's process, `n`, knows the session from here on |
| `released` | no process is to know the session from here on: the one that did is told to close it |
| `folders` | which folders it has from here on besides its own |
| `heard` | up to which of its frames the agent is in this stream |
| `taken`, `queued`, `edited`, `withdrawn` | prompts: at once on their way, or waiting |
| `steering`, `steered` | a message into a turn, given to the agent by this request; what came of it |
| `turn_ended` | the key of a prompt and its result or error |
| `gist` | a checkpoint: all that the entries up to `upto` say |
| `owned` | another node has taken the session over |
| `judged` | what the reviewer's rules found in a request, where that was known only after it was told |
| `settled` | a request of the agent has its answer, or needs none any more |
| `denied`, `ruled` | what was denied for want of a rule, and if one was written since |
| `agent_gone`, `agent_back`, `renamed`, `closed`, `deleted` | what they say |
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from dragoman.decoders import json_decoder

_encode = msgspec.json.Encoder(order=None).encode

EVENT_KINDS = frozenset(
    {
        "child",
        "queued",
        "edited",
        "withdrawn",
        "turn_ended",
        "judged",
        "settled",
        "agent_gone",
        "agent_back",
        "renamed",
        "continued",
        "closed",
        "deleted",
    }
)
"""Notes that clients get as events, with the kinds unchanged."""


class StreamNote(Struct, frozen=True, omit_defaults=True):
    """All members of notes; each kind has some of them."""

    hub: str
    key: str = ""
    by: str = ""
    prompt: list[Raw] | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET
    request: str = ""
    outcome: str = ""
    agent: str = ""
    cwd: str = ""
    folders: list[str] = []
    session: str = ""
    parent: str = ""
    own: str = ""
    title: str = ""
    reason: str = ""
    remembers: bool | UnsetType = UNSET
    n: int = 0
    taken: int = 0
    load: bool = False
    source: str = ""
    source_end: int = field(name="sourceEnd", default=0)
    risks: Raw | UnsetType = UNSET
    risks_note: str = field(name="risksNote", default="")


_notes = json_decoder(StreamNote)

HEARD = b'{"hub":"heard",'
"""The beginning of the note that follows nearly every update of an agent that outlives the hub."""


def encode_receipt(number: int) -> bytes:
    """Encode `note("heard", n=number)`, which is written as often as all other notes together."""
    return b'%b"n":%d}' % (HEARD, number)


def note(kind: str, **members: object) -> bytes:
    return _encode({"hub": kind, **members})


def read_note(frame: bytes) -> StreamNote | None:
    """Read a note of the hub; None for other notes."""
    if not frame.startswith(b'{"hub":'):
        return None
    try:
        return _notes.decode(frame)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def parent_in(first: bytes | None) -> str:
    """Return the parent of a child session, by the first frame of its stream; empty for any other."""
    made = None if first is None else read_note(first)
    return "" if made is None else made.parent


def event_of(frame: bytes) -> dict[str, Raw]:
    """Return the fields of a note in the form of an event."""
    members = msgspec.json.decode(frame, type=dict[str, Raw])
    return {"event": members.pop("hub"), **members}
