"""The messages that a client gets for one entry of a session's stream.

The same entry always gives the same messages to the same client, whether it is shown as it happens or read
from the journal after a reconnect: that is what makes a cursor exact. An entry that is told in several
messages gives each a cursor of its own, `17.1`, `17.2`, and the last one `17`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dragoman.wire import Notification, Request, decode, notification, request, response
from dragoman.wire.envelope import Id, JsonObject
from dragoman_hub.clients.questions import with_requester
from dragoman_hub.session.frames import (
    UPDATE,
    all_begin,
    echoes,
    encode_json,
    may_name_sessions,
    object_of,
    ours_in,
    session_of,
    stable_result,
    value_of,
    with_cursor,
    with_cursors,
    with_names,
    with_ours,
    with_session_id,
)
from dragoman_hub.session.notes import EVENT_KINDS, HEARD, StreamNote, event_of, read_note
from dragoman_hub.session.state import QUESTIONS
from dragoman_local.journal.entry_runs import FrameRun, RunPage, text_of

if TYPE_CHECKING:
    from dragoman_hub.engine.live_session import LiveSession
    from dragoman_hub.session.state import OpenRequest
    from dragoman_local.journal import StoredEntry

Member: TypeAlias = Literal["params", "result", ""]
"""The part of a message with room for a cursor."""

EVENT = "_dragoman/hub/event"
NOTICE = "_dragoman/hub/asked"
"""The notice of a question, for a client that can't be asked, and for watchers."""

UNJUDGED: JsonObject = {"act": UNSET, "risks": UNSET, "risksNote": UNSET}
"""Fields that no agent may set, about judgements and risks."""


class ClientView(Protocol):
    """A client's view of a session."""

    @property
    def cursors(self) -> bool: ...
    @property
    def events(self) -> bool: ...
    @property
    def usage(self) -> bool:
        """Whether it asked for the usage in answers to prompts."""

    def waits_for(self, key: str, /) -> tuple[Id, ...]:
        """Return the ids under which it waits for the end of this turn."""

    def wrote(self, key: str, by: str, /) -> bool:
        """Whether the prompt of the token `by` is the client's own, so that it is not sent back."""

    def asks(self, sequence: int, method: str, /) -> Id | UnsetType:
        """Return the id for asking this client; UNSET if it is not asked."""

    def notice(self, sequence: int, method: str, /) -> JsonObject | None:
        """Return the notice about a question that this client can't be asked; None if there is none."""

    def judgement_of(self, sequence: int, /) -> JsonObject:
        """Return the judgement and the risks of an open request for clients."""

    def open_params(self, sequence: int, /) -> bytes | None:
        """Return the params of an open request with the judgement; None if it is no longer open."""

    @property
    def stand_in(self) -> str:
        """Return the session in whose name it is asked, because it does not know this one;
        otherwise empty.
        """

    @property
    def requester(self) -> str:
        """Return the chain of sessions that ask; empty for a session of a client."""

    def tool_title(self, params: bytes, /) -> str:
        """Return the agent's earlier title of the tool call in these params; empty if there is none."""

    def on_child(self, session_id: str, /) -> None:
        """Note that the client knows of a child session."""

    @property
    def has_relatives(self) -> bool:
        """Whether the session has a parent or children, which its updates may name."""

    def name_of(self, own: str, /) -> str:
        """The hub's id for a session that the agent calls `own` here."""

    def settles(self, sequence: int, /) -> Id | UnsetType:
        """Return the id of its question, if it is still open, and close it."""

    def on_answered(self, key: str, /) -> None:
        """Note that the client has its answer."""


class ClientMessage(NamedTuple):
    message: bytes
    member: Member = "params"
    ours: JsonObject | None = None


def messages(session: str, entry: StoredEntry, view: ClientView, *, skip: int = 0) -> list[bytes]:
    """Return the messages for the client, each with its newline, without the first `skip`."""
    frame = entry.frame
    if entry.direction == "to_client" and frame.startswith(UPDATE):  # nearly everything
        if skip:
            return []
        frame = _with_our_names(frame, view)
        if view.cursors:
            frame = with_cursor(frame, entry.sequence)
        return [frame + b"\n"]
    parts = list(_READERS[entry.direction](session, entry, view))
    if not view.cursors:
        return [part.message + b"\n" for part in parts[skip:]]
    last = len(parts)
    lines: list[bytes] = []
    for number, part in enumerate(parts, 1):
        cursor = str(entry.sequence) if number == last else f"{entry.sequence}.{number}"
        ours = {"cursor": cursor, **(part.ours or {})}
        lines.append((with_ours(part.message, part.member, ours) if part.member else part.message) + b"\n")
    return lines[skip:]


def block_of(session: str, entries: Sequence[StoredEntry], view: ClientView, *, skip: int = 0) -> bytes:
    """Return the same for consecutive entries; the first `skip` messages of the first are left out."""
    if skip or type(entries) is not RunPage:
        return _tell_each(session, entries, view, skip=skip)
    block: list[bytes] = []
    first = entries.first
    for run in entries.runs:
        if run.direction == "note" and len(run.frames) == 1 and run.frames[0].startswith(HEARD):  # not told
            first += 1
            continue
        block.append(_told_run(first, run, view) or _tell_each(session, RunPage(first, (run,)), view))
        first += len(run.frames)
    return b"".join(block)


def _told_run(first: int, run: FrameRun, view: ClientView) -> bytes:
    """The fast path for updates, which are nearly all: they are sent as stored, or with a cursor."""
    if run.direction != "to_client" or not all_begin(run.frames, UPDATE):
        return b""
    text = text_of(run.frames)
    if view.has_relatives and may_name_sessions(text):
        return b""
    if not view.cursors:
        return text
    return b"" if b'"_meta"' in text else with_cursors(run.frames, first)


def _with_our_names(frame: bytes, view: ClientView) -> bytes:
    """Two agents may call their children by one id: clients know each by the hub's."""
    return with_names(frame, view.name_of) if view.has_relatives and may_name_sessions(frame) else frame


def _tell_each(session: str, entries: Sequence[StoredEntry], view: ClientView, *, skip: int = 0) -> bytes:
    block: list[bytes] = []
    for entry in entries:
        block += messages(session, entry, view, skip=skip)
        skip = 0
    return b"".join(block)


def repeat_request(request: OpenRequest, view: ClientView) -> bytes:
    """Send an open request again to a client that had it before, or that now may answer it. Its position in
    the stream stays, so it has no cursor.
    """
    question_id = view.asks(request.sequence, request.method)
    if isinstance(question_id, UnsetType):
        notice = view.notice(request.sequence, request.method)
        return b"" if notice is None else notification(NOTICE, encode_json({"request": notice}))
    question = _question(question_id, request.sequence, request.method, bytes(request.shown), view)
    if view.cursors and question.member:
        return with_ours(question.message, question.member, question.ours or {}) + b"\n"
    return question.message + b"\n"


def _question(request_id: Id, sequence: int, method: str, params: bytes, view: ClientView) -> ClientMessage:
    """The request that a client gets for a question. A question in the name of another session brings no
    cursor: a cursor of the child's stream would be taken for one of the session that is named.
    """
    ours = {"request": str(sequence), **UNJUDGED, **view.judgement_of(sequence)}
    if not view.stand_in:
        return ClientMessage(request(request_id, method, params)[:-1], ours=ours)
    requester = view.requester
    child = {"child": session_of(Raw(params)), "requester": requester}
    if method in QUESTIONS:
        known_title = view.tool_title(params)
        params = with_requester(method, params, requester=requester, known_title=known_title)
    message = with_session_id(request(request_id, method, params)[:-1], view.stand_in)
    return ClientMessage(with_ours(message, "params", {**ours, **child} if view.cursors else child), "")


def _from_agent(session: str, entry: StoredEntry, view: ClientView) -> Iterator[ClientMessage]:
    message = decode(entry.frame)
    if isinstance(message, Notification):
        yield ClientMessage(_with_our_names(entry.frame, view))
    if not isinstance(message, Request):
        return  # an answer: the note behind it tells what came of it
    name = str(entry.sequence)
    params = view.open_params(entry.sequence)  # in the stream it may be redacted
    if params is None:
        params = b"{}" if message.params is None else bytes(message.params)
    question_id = view.asks(entry.sequence, message.method)
    if not isinstance(question_id, UnsetType):
        yield _question(question_id, entry.sequence, message.method, params, view)
    elif (notice := view.notice(entry.sequence, message.method)) is not None:
        yield ClientMessage(notification(NOTICE, encode_json({"request": notice}))[:-1])
    if view.events and message.method in QUESTIONS:
        members = {
            "request": name,
            "method": message.method,
            "params": Raw(params),
            "askedAt": entry.time,
        }
        yield _event(session, entry, {"event": "asked", **members, **view.judgement_of(entry.sequence)})


def _to_agent(session: str, entry: StoredEntry, view: ClientView) -> Iterator[ClientMessage]:
    if b'"session/prompt"' not in entry.frame:
        return
    message = decode(entry.frame)
    if not isinstance(message, Request) or message.method != "session/prompt":
        return
    params = object_of(message.params)
    ours = ours_in(params)
    key, by = str(ours.get("key", "")), str(ours.get("by", ""))
    prompt = _blocks(params.get("prompt"))
    if not view.wrote(key, by):
        for echo in echoes(session, prompt, key):
            yield ClientMessage(echo)
    if view.events:
        members = {"key": key, "by": by, "prompt": prompt}
        yield _event(session, entry, {"event": "turn_started", **members})


def _from_note(session: str, entry: StoredEntry, view: ClientView) -> Iterator[ClientMessage]:
    note = read_note(entry.frame)
    if note is None or note.hub not in EVENT_KINDS:
        return
    if note.hub == "turn_ended":
        waiting = view.waits_for(note.key)
        if waiting:
            view.on_answered(note.key)
        for request_id in waiting:
            yield _answer(request_id, note, usage=view.usage)
    elif note.hub == "child":
        view.on_child(note.session)
    elif note.hub == "settled":
        question_id = view.settles(int(note.request or "0"))
        if not isinstance(question_id, UnsetType):
            withdrawal = notification("$/cancel_request", encode_json({"requestId": question_id}))[:-1]
            # As the question itself: one in the name of another session brings no cursor.
            yield ClientMessage(withdrawal, "" if view.stand_in else "params")
    if view.events:
        yield _event(session, entry, _event_members(note, entry.frame))


def _answer(waiting: Id, note: StreamNote, *, usage: bool) -> ClientMessage:
    if isinstance(note.result, Raw):
        result = stable_result(bytes(note.result), usage=usage)
        return ClientMessage(response(waiting, result)[:-1], "result")
    error = note.error if isinstance(note.error, Raw) else Raw(b'{"code":-32603,"message":"Internal error"}')
    return ClientMessage(b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (encode_json(waiting), bytes(error)), "")


def _event_members(note: StreamNote, frame: bytes) -> JsonObject:
    members: JsonObject = dict(event_of(frame))
    if note.hub == "child":
        return {"event": "child", "child": note.session}
    result = value_of(members.pop("result", None)) if note.hub == "turn_ended" else None
    if isinstance(result, dict):
        members["stopReason"] = result.get("stopReason")
    return members


def _event(session: str, entry: StoredEntry, members: JsonObject) -> ClientMessage:
    """An event with its stored time, so that live and later readers measure the same."""
    params = {"sessionId": session, "time": entry.time, **members}
    return ClientMessage(notification(EVENT, encode_json(params))[:-1])


def _blocks(raw: Raw | None) -> list[Raw]:
    try:
        return [] if raw is None else msgspec.json.decode(raw, type=list[Raw])
    except ValueError:
        return []


_READERS: dict[str, Callable[[str, StoredEntry, ClientView], Iterator[ClientMessage]]] = {
    "to_client": _from_agent,
    "to_agent": _to_agent,
    "note": _from_note,
}


class HistoryView:
    """The view of a reader of old entries: no request is sent or answered."""

    cursors = True
    events = True
    usage = True
    stand_in = ""
    requester = ""

    def __init__(self, session: LiveSession) -> None:
        self._session = session

    @property
    def has_relatives(self) -> bool:
        return self._session.has_relatives

    def name_of(self, own: str, /) -> str:
        return self._session.name_of(own)

    def tool_title(self, params: bytes, /) -> str:
        return ""

    def waits_for(self, key: str, /) -> tuple[Id, ...]:
        return ()

    def wrote(self, key: str, by: str, /) -> bool:
        return False

    def asks(self, sequence: int, method: str, /) -> UnsetType:
        return UNSET

    def notice(self, sequence: int, method: str, /) -> None:
        return None

    def judgement_of(self, sequence: int, /) -> JsonObject:
        return {}

    def open_params(self, sequence: int, /) -> bytes | None:
        return None

    def on_child(self, session_id: str, /) -> None:
        pass

    def settles(self, sequence: int, /) -> UnsetType:
        return UNSET

    def on_answered(self, key: str, /) -> None:
        pass
