"""What a session has come to, read from its stream: the one place where it is kept.

The same eyes see entries as they are stored and as they are read after a restart, so what the hub believes
and what it would believe after a crash are the same; what the journal has redacted meanwhile, and is still to
be acted upon, is put back by `Memory.restore`. Updates are only glanced at for their kind.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from dragoman.hub.frames import (
    all_begin,
    encoded,
    object_of,
    ours_in,
    update_kind,
    update_start,
    value_of,
)
from dragoman.hub.notes import Note, read_note
from dragoman.journal import Stored
from dragoman.journal.redaction import is_redacted
from dragoman.journal.runs import Run, RunPage
from dragoman.review.risks import Judged
from dragoman.wire import Notification, Request, decode, response
from dragoman.wire.envelope import Id
from dragoman.workspace.policy.tool_calls import ToolCalls

CHUNKS = (b'agent_message_chunk"', b'agent_thought_chunk"')
"""How the kinds of nearly all updates end, of which none is kept."""

KEPT_KINDS = frozenset(
    {
        b"current_mode_update",
        b"config_option_update",
        b"available_commands_update",
        b"plan",
        b"usage_update",
        b"session_info_update",
    }
)
"""Updates of which the latest says everything; a client that joins late is given those at once."""

OWN_ID = "hub:"
"""How the ids of the hub's own questions begin; no agent may use such an id."""

TOOL_CALLS = frozenset({b"tool_call", b"tool_call_update"})
"""Updates that say what a later request for permission may be about."""

ASKED = frozenset({"session/request_permission", "elicitation/create"})
"""What people are asked; any other request of an agent is for a client that lends something."""

_SAME = (
    *("agent", "cwd", "folders", "agent_session", "process", "bound_at", "made"),
    *("heard", "turn", "queue", "title", "failed", "turns", "dropped"),
)
"""What a gist has under the same names."""

ANSWERS = 64
"""Answers to prompts that are at hand for clients that lost theirs; the journal has all of them."""


class Waiting(Struct):
    """A prompt in the queue."""

    key: str
    by: str
    params: Raw
    sequence: int = 0
    """The note that has these params, once it is stored."""
    is_whole: bool = True
    """False if only the redacted form is left, which is not to be acted upon."""


class OpenTurn(Struct):
    """A prompt that was given to the agent and has no answer."""

    key: str
    by: str
    id: Id
    sequence: int
    lends: tuple[str, ...] = ()
    """Methods that its client answers: it is waited for if it is cut off."""


class OpenRequest(Struct):
    """A request of the agent that has no answer. `lender` is the client whose files or terminals it needs."""

    sequence: int
    id: Id
    method: str
    params: Raw
    time: float
    lender: Any = None
    expires: float = 0.0
    rule: str = ""
    judged: Judged | None = None
    """What the reviewer's rules say of it; None as long as they have said nothing."""
    is_whole: bool = True
    """As with `Waiting`."""

    @property
    def is_own(self) -> bool:
        """Whether the hub asks it, so that its answer is not for the agent."""
        return is_own_id(self.id)


def is_own_id(request_id: object) -> bool:
    return isinstance(request_id, str) and request_id.startswith(OWN_ID)


class Answer(Struct):
    """What came of a prompt, and where that stands."""

    sequence: int
    note: Note

    def to(self, request_id: Id) -> bytes:
        """As the answer to whoever waits under this id."""
        result, error = self.note.result, self.note.error
        if isinstance(result, Raw):
            return response(request_id, bytes(result))
        told = bytes(error) if isinstance(error, Raw) else b'{"code":-32603,"message":"Internal error"}'
        return b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (encoded(request_id), told)


class Gist(Struct, kw_only=True, omit_defaults=True, tag_field="hub", tag="gist"):
    """A `Memory` as a note: what the entries up to number `upto` say. See `gists.py`."""

    upto: int
    agent: str
    cwd: str
    folders: list[str] = []
    agent_session: str
    process: int = 0
    bound_at: int = 0
    made: dict[str, Raw] = {}
    heard: int = 0
    turn: OpenTurn | None = None
    queue: list[Waiting] = []
    requests: list[OpenRequest] = []
    answers: list[Answer] = []
    dropped: bool = True
    latest: dict[str, Raw] = {}
    title: str = ""
    failed: bool = False
    turns: int = 0


_write_gist = msgspec.json.Encoder().encode
_gists = msgspec.json.Decoder(Gist)


def read_gist(frame: bytes) -> Gist | None:
    if not frame.startswith(b'{"hub":"gist"'):
        return None
    try:
        return _gists.decode(frame)
    except msgspec.MsgspecError:
        return None  # of a version that we do not know


class Memory:
    """What the entries of one session say so far."""

    def __init__(self, session_id: str) -> None:
        self.agent = ""
        self.cwd = ""
        self.folders: list[str] = []
        self.agent_session = session_id
        self.process = 0
        """The process that knew the session last, and since which entry."""
        self.bound_at = 0
        self.made: dict[str, Raw] = {}
        """What the agent answered when the session was made or brought back."""
        self.heard = 0
        """Frames of the agent up to this number are in the stream."""
        self.turn: OpenTurn | None = None
        self.queue: list[Waiting] = []
        self.requests: dict[int, OpenRequest] = {}
        self.answers: OrderedDict[str, Answer] = OrderedDict()
        self.dropped = False
        """Whether there are answers that are not at hand any more."""
        self.latest: dict[bytes, bytes] = {}
        self.title = ""
        self.failed = False
        self.turns = 0
        self.calls = ToolCalls()
        """What the agent said about its tool calls."""
        self._session_id = session_id
        self._start = update_start(session_id)

    @classmethod
    def of(cls, session_id: str, gist: Gist) -> Memory:
        memory = cls(session_id)
        for name in _SAME:
            setattr(memory, name, getattr(gist, name))
        memory.requests = {one.sequence: one for one in gist.requests}
        memory.answers = OrderedDict((one.note.key, one) for one in gist.answers)
        memory.latest = {kind.encode(): bytes(frame) for kind, frame in gist.latest.items()}
        return memory

    def gist(self, upto: int) -> bytes:
        """As a note, if it has seen all entries up to this one and no others."""
        return _write_gist(
            Gist(
                upto=upto,
                requests=list(self.requests.values()),
                answers=list(self.answers.values()),
                latest={kind.decode(): Raw(frame) for kind, frame in self.latest.items()},
                **{name: getattr(self, name) for name in _SAME},
            )
        )

    def restore(self, originals: Mapping[int, bytes]) -> None:
        """Put what was said in the place of what redaction has left of it, where it is to be acted upon."""
        for request in self.requests.values():
            message = decode(originals.get(request.sequence, b""))
            if isinstance(message, Request) and message.params is not None:
                request.params = Raw(bytes(message.params))
            else:
                request.is_whole = not is_redacted(bytes(request.params))
        for waiting in self.queue:
            note = read_note(originals.get(waiting.sequence, b""))
            if note is not None and isinstance(note.params, Raw):
                waiting.params = Raw(bytes(note.params))
            else:
                waiting.is_whole = not is_redacted(bytes(waiting.params))

    def see(self, entries: Iterable[Stored]) -> None:
        if type(entries) is RunPage:
            self._see_runs(entries)
        else:
            self._see_each(entries)

    def _see_runs(self, page: RunPage) -> None:
        """Updates are passed over by the run."""
        first = page.first
        for run in page.runs:
            if run.direction == "to_client":
                self._see_heard(run, first)
            else:
                self._see_each(RunPage(first, (run,)))
            first += len(run.frames)

    def _see_heard(self, run: Run, first: int) -> None:
        if self._are_chunks(run.frames):
            return
        for sequence, frame in enumerate(run.frames, first):
            kind = update_kind(frame, self._start)
            if kind is None:
                self._see_other(Stored(sequence, "to_client", frame, run.time))
            elif kind in KEPT_KINDS:
                self._keep(kind, frame)
            elif kind in TOOL_CALLS:
                self._hear_call(frame)

    def _see_each(self, entries: Iterable[Stored]) -> None:
        for stored in entries:
            if stored.direction == "to_client":
                self._see_heard(Run("to_client", (stored.frame,), stored.time), stored.sequence)
            elif stored.direction == "to_agent":
                self._see_said(stored)
            else:
                note = read_note(stored.frame)
                if note is not None:
                    self._see_note(note, stored.sequence)

    def see_updates(self, frames: Sequence[bytes]) -> None:
        """The same for updates that were just heard."""
        if self._are_chunks(frames):
            return
        start = self._start
        for frame in frames:
            kind = update_kind(frame, start)
            if kind in KEPT_KINDS:
                self._keep(kind, frame)
            elif kind in TOOL_CALLS or kind is None:
                self._hear_call(frame)

    def _are_chunks(self, frames: Sequence[bytes]) -> bool:
        return all_begin(frames, *(self._start + kind for kind in CHUNKS))

    def _hear_call(self, frame: bytes) -> None:
        if b'"tool_call' not in frame:
            return
        update = object_of(object_of(frame).get("params")).get("update")
        kind = value_of(object_of(update).get("sessionUpdate"))
        if update is not None and isinstance(kind, str) and kind.encode() in TOOL_CALLS:
            self.calls.hear(self._session_id, update)

    def _keep(self, kind: bytes, frame: bytes) -> None:
        self.latest[kind] = frame
        if kind == b"session_info_update":
            title = value_of(self.update(kind).get("title"))
            self.title = title if isinstance(title, str) else self.title

    def update(self, kind: bytes) -> dict[str, Raw]:
        """The latest update of a kind, its members unread."""
        frame = self.latest.get(kind)
        return object_of(object_of(object_of(frame).get("params")).get("update"))

    def _see_other(self, stored: Stored) -> None:
        message = decode(stored.frame)
        if isinstance(message, Notification):
            kind = value_of(object_of(object_of(message.params).get("update")).get("sessionUpdate"))
            if isinstance(kind, str) and kind.encode() in KEPT_KINDS:
                self._keep(kind.encode(), stored.frame)
            else:
                self._hear_call(stored.frame)
        elif isinstance(message, Request):
            params = Raw(b"{}") if message.params is None else Raw(bytes(message.params))
            self.requests[stored.sequence] = OpenRequest(
                stored.sequence, message.id, message.method, params, stored.time
            )

    def _see_said(self, stored: Stored) -> None:
        if b'"session/prompt"' not in stored.frame:
            return
        message = decode(stored.frame)
        if not isinstance(message, Request) or message.method != "session/prompt":
            return
        ours = ours_in(object_of(message.params))
        key = str(ours.get("key", ""))
        lends = ours.get("lends")
        lends = tuple(str(one) for one in lends) if isinstance(lends, list) else ()
        self.turn = OpenTurn(key, str(ours.get("by", "")), message.id, stored.sequence, lends)
        self.turns += 1
        self.queue = [one for one in self.queue if one.key != key]

    def _see_note(self, note: Note, sequence: int) -> None:
        match note.hub:
            case "heard":
                self.heard = max(self.heard, note.n)
            case "turn_ended":
                self._see_end(note, sequence)
            case "judged":
                self._see_judged(note)
            case "settled":
                self.requests.pop(int(note.request or "0"), None)
            case "queued" | "taken" | "edited" | "withdrawn":
                self._see_queue(note, sequence)
            case "made":
                self.agent, self.cwd, self.folders = note.agent, note.cwd, list(note.folders)
                self._see_bound(note, sequence)
            case "bound":
                self._see_bound(note, sequence)
            case "folders":
                self.folders = list(note.folders)
            case "renamed":
                self.title = note.title

    def _see_judged(self, note: Note) -> None:
        one = self.requests.get(int(note.request or "0"))
        if one is not None:
            one.judged = Judged(risks=note.risks, note=note.risks_note)

    def _see_queue(self, note: Note, sequence: int) -> None:
        params = Raw(bytes(note.params)) if isinstance(note.params, Raw) else None
        if note.hub == "withdrawn":
            self.queue = [one for one in self.queue if one.key != note.key]
        elif params is not None and note.hub == "edited":
            for one in self.queue:
                if one.key == note.key:
                    one.params, one.sequence = params, sequence
        elif params is not None:
            self.queue.append(Waiting(note.key, note.by, params, sequence))

    def _see_bound(self, note: Note, sequence: int) -> None:
        self.process, self.bound_at = note.n, sequence
        self.agent_session = note.session or self.agent_session
        # The numbers of another process's frames have nothing to do with those before.
        self.heard = 0
        if isinstance(note.result, Raw):
            self.made = {name: Raw(bytes(raw)) for name, raw in object_of(note.result).items()}

    def _see_end(self, note: Note, sequence: int) -> None:
        if self.turn is not None and self.turn.key == note.key:
            self.turn = None
        self.queue = [one for one in self.queue if one.key != note.key]
        self.failed = isinstance(note.error, Raw)
        self.keep_answer(Answer(sequence, note))

    def keep_answer(self, answer: Answer) -> None:
        self.answers[answer.note.key] = answer
        if is_redacted(answer.note.key.encode(errors="replace")):
            self.dropped = True  # nobody will ask for it by that key
        while len(self.answers) > ANSWERS:
            self.answers.popitem(last=False)
            self.dropped = True


def is_name(session_id: str) -> bool:
    """Whether it can be the name of a session's stream."""
    return 0 < len(session_id) <= 200 and session_id.isprintable() and session_id[0] != "@"
