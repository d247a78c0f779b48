"""Passes the hub's messages to the editor: each once, in order, and without the hub's marks.

It keeps what was told of every session, and what every question was called. What it gives back is for the
editor; None is nothing for it. It knows nothing of connections beyond their number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.sdk.resumption.agent_questions import AgentQuestions, PendingQuestion
from dragoman.sdk.resumption.marks import fields_of, look, put, remove_mark, text_of
from dragoman.sdk.resumption.sent_messages import SentRequest
from dragoman.wire import decode, notification, request, response
from dragoman.wire.envelope import Id, Notification, Request

WITHDRAW = "$/cancel_request"
DETACH = "_dragoman/hub/detach"
WATCH = "_dragoman/hub/watch"

WATCHING = b'{"on":true}'


class DeliveredUpdates:
    """Passes updates on. `shows`: the editor requested the marks itself, and sees them."""

    def __init__(self) -> None:
        self.shows = False
        self.watches = False
        self.sessions = ResumedSessions()
        self.questions = AgentQuestions()
        self.withheld_sessions: set[str] = set()
        """Sessions that are about to be told again from where the editor is."""

    def update(self, message: Notification, frame: bytes) -> bytes | None:
        session, mark = look(message.params)
        if session in self.withheld_sessions or not self.sessions.on_update(session, mark.cursor):
            return None
        if not mark.cursor or message.params is None or self.shows:
            return frame
        return notification(message.method, remove_mark(message.params, mark))

    def run(self, block: bytes) -> bytes | None:
        """Pass on a block of updates as one; None if they must be read one by one."""
        if self.shows or self.withheld_sessions or self.sessions.is_skipping:
            return None
        result = remove_marks(block)
        if result is None:
            return None
        frames, cursors = result
        for session, cursor in cursors.items():
            self.sessions.on_update(session, cursor)
        return frames

    def withdrawal(self, notification: Notification) -> bytes | None:
        """Return the cancel of a question with the editor's own id."""
        question = self.questions.cancel(withdrawn(notification))
        if question is None:
            return None
        self.sessions.on_cursor(question.session, look(notification.params)[1].cursor)
        return withdrawal(question) if question.answer is None else None

    def question(self, incoming: Request, connection: int) -> tuple[PendingQuestion | None, bytes | None]:
        """Return a question of the hub, and a frame for the editor if the question is new."""
        session, mark = look(incoming.params)
        if session in self.withheld_sessions:
            return None, None
        content = content_of(incoming) if mark.request else b""
        question, new = self.questions.ask(session, mark.request, incoming.id, connection, content)
        if not new:
            return question, None
        self.sessions.on_cursor(session, mark.cursor)
        if incoming.params is None:
            return question, request(question.number, incoming.method, None)
        params = bytes(incoming.params) if self.shows else remove_mark(incoming.params, mark)
        return question, request(question.number, incoming.method, params)

    def asks(self, session: str) -> bool:
        """Whether the editor has an open question of this session, which the hub would repeat."""
        return self.sessions.is_resumed(session) and self.questions.is_open(session)

    def on_answer(self, open_request: SentRequest, connection: int, *, is_failed: bool) -> list[bytes]:
        """Note that a request of the editor has its answer. The end of a turn also ends its questions: the
        hub has not repeated those that were settled while we were away.
        """
        if open_request.method == "session/load":
            self.sessions.on_load_end(open_request.session)
        if open_request.method != "session/prompt":
            return []
        if is_failed:
            self.sessions.on_turn_end(open_request.session, "", open_request.key)
        return [withdrawal(question) for question in self.questions.stale(open_request.session, connection)]

    def result(self, open_request: SentRequest, result: Raw, frame: bytes) -> bytes:
        """Apply an answer to the sessions; returns the frame for the editor."""
        session, mark = look(result)
        if open_request.method == "session/prompt":
            self.sessions.on_turn_end(open_request.session, mark.cursor, open_request.key)
        elif open_request.method in ("session/new", "session/fork") and session:
            self.sessions.open(session, _params(open_request))
        elif open_request.method in ("session/load", "session/resume"):
            self.sessions.open(open_request.session, _params(open_request))
            self.sessions.on_cursor(open_request.session, mark.cursor)
        elif open_request.method in ("session/close", "session/delete"):
            self.sessions.close(open_request.session)
            self.questions.forget(open_request.session)
        else:
            self._on_hub_result(open_request, fields_of(result))
        return (
            response(open_request.id, remove_mark(result, mark)) if mark.cursor and not self.shows else frame
        )

    def _on_hub_result(self, open_request: SentRequest, result: dict[str, Raw]) -> None:
        """Apply the answer to a hub method that the editor itself called."""
        params = _params(open_request)
        if open_request.method == ATTACH:
            after = text_of(params["after"]) if "after" in params else "end"
            self.sessions.attach(
                open_request.session, text_of(result.get("cursor")) if after == "end" else after
            )
        elif open_request.method == DETACH:
            self.sessions.detach(open_request.session)
        elif open_request.method == WATCH:
            self.watches = bytes(params.get("on", b"")) == b"true"


def content_of(question: Request) -> bytes:
    """Return a digest of a question's content, without the notes of the hub and others."""
    fields = fields_of(question.params)
    fields.pop("_meta", None)
    return hashlib.blake2b(msgspec.json.encode([question.method, fields]), digest_size=16).digest()


def withdrawal(question: PendingQuestion) -> bytes:
    return notification(WITHDRAW, msgspec.json.encode({"requestId": question.number}))


def withdrawn(note: Notification) -> Id:
    """Return the id of a cancelled request; null if it is malformed."""
    raw = fields_of(note.params).get("requestId", Raw(b"null"))
    try:
        return msgspec.json.decode(raw, type=int | str | None)
    except msgspec.MsgspecError:
        return None


def _params(open_request: SentRequest) -> dict[str, Raw]:
    message = decode(open_request.frame)
    return fields_of(message.params) if isinstance(message, Request) else {}


# Many updates at once: a block in which each frame is an update with the hub's mark in its usual place.
#
# That is what nearly all of a replay and of a stream is; taken one by one, the marks would cost more than
# the updates. What looks different in any way is none of this, and is read frame by frame. Nothing is parsed
# here: the hub has parsed what it sends, and the editor is given the same bytes without the mark. Knows no
# sessions.

UPDATE = b'{"jsonrpc":"2.0","method":"session/update","params":{'

_MARK = UPDATE + b'"_meta":{"dragoman":{"cursor":"'

_SESSION = b'"}},"sessionId":"'
"""Between the cursor and the session: the mark is the whole `_meta`, so nothing of somebody else's goes."""


def remove_marks(block: bytes) -> tuple[bytes, dict[str, str]] | None:
    """Return the block without its marks, and the last cursor of each session; None if it is not a block of
    marked updates.
    """
    if not block.startswith(_MARK):  # nearly always enough to tell
        return None
    # A frame holds no newline, so what stands behind one is the beginning of a frame.
    frames = block[len(_MARK) :].split(b"\n" + _MARK)
    if len(frames) != block.count(b"\n") + (not block.endswith(b"\n")):
        return None
    return _of_one_session(frames) or _of_many(frames)


def _of_one_session(frames: list[bytes]) -> tuple[bytes, dict[str, str]] | None:
    """What nearly every block is: all marks are cut off by the same words behind them."""
    _, _, behind = frames[0].partition(_SESSION)
    session, end, _ = behind.partition(b'"')
    if not end or b"\\" in session or not session.isascii():
        return None
    words = _SESSION + session + end
    cuts = [frame.partition(words) for frame in frames]
    heads = [cursor for cursor, _, _ in cuts]
    if not (b"".join(heads).isdigit() and all(heads)) or not all(found for _, found, _ in cuts):
        return None
    between = UPDATE + b'"sessionId":"' + session + end
    whole = between + (b"\n" + between).join([rest for _, _, rest in cuts])
    return whole, {session.decode(): heads[-1].decode()}


def _of_many(frames: list[bytes]) -> tuple[bytes, dict[str, str]] | None:
    parts = []
    cursors: dict[bytes, bytes] = {}
    for frame in frames:
        at = frame.find(_SESSION)
        begin = at + len(_SESSION)
        session = frame[begin : frame.find(b'"', begin)]
        cursor = frame[:at]  # with a point, of an entry that is told in several messages
        if at < 0 or not cursor.replace(b".", b"", 1).isdigit() or b"\\" in session or not session.isascii():
            return None
        cursors[session] = cursor
        parts.append(frame[begin:])
    between = UPDATE + b'"sessionId":"'
    whole = between + (b"\n" + between).join(parts)
    return whole, {session.decode(): cursor.decode() for session, cursor in cursors.items()}


# The sessions that the editor has open: how to resume each, and up to where the editor has received it.
#
# A load that was cut off in the middle of its replay is asked for again, and the hub tells the session from
# its beginning: what the editor has had of it is skipped, up to the last message that it got. Its answer
# comes behind the replay then, as it always does.

RESUME = "session/resume"
ATTACH = "_dragoman/hub/attach"

_encode = msgspec.json.Encoder().encode


class ResumedSessions:
    """The sessions of one editor, and how to resume each."""

    def __init__(self) -> None:
        self._cursors: dict[str, str] = {}
        self._open: dict[str, tuple[str, bytes]] = {}  # how to come back: the method, and its params so far
        self._wrote: dict[str, list[str]] = {}  # keys of prompts that ended behind the cursor
        self._loading: dict[str, str] = {}  # the cursor of the last update of a replay that is not over
        self._skipping: dict[str, str] = {}  # up to this one

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._open))

    def open(self, session: str, fields: dict[str, Raw]) -> None:
        """Keep the params that opened a session, to resume it later."""
        params = {name: value for name, value in fields.items() if name not in ("_meta", "sessionId")}
        self._open[session] = (RESUME, _encode({"sessionId": session, **params}))

    def attach(self, session: str, cursor: str) -> None:
        """Follow a session without working in it, unless it was opened before."""
        if session not in self._open:
            self._open[session] = (ATTACH, _encode({"sessionId": session}))
        self._cursors.setdefault(session, cursor)

    def detach(self, session: str) -> None:
        if self._open.get(session, ("",))[0] == ATTACH:
            self.close(session)

    def close(self, session: str) -> None:
        for table in (self._cursors, self._open, self._wrote, self._loading, self._skipping):
            table.pop(session, None)

    def come_back(self, session: str, prompts: list[str]) -> tuple[str, bytes]:
        """Return the method and params that resume a session after the editor's cursor."""
        method, params = self._open[session]
        after = self._cursors.get(session, "")
        if method == ATTACH:
            return method, _encode({"sessionId": session, "after": after})
        ours: dict[str, Any] = {"after": after, "prompts": prompts}
        if wrote := self._wrote.get(session):
            ours["wrote"] = wrote
        return method, put(params, ours)

    def is_resumed(self, session: str) -> bool:
        """Whether the session is resumed for work, not only for reading."""
        return self._open.get(session, ("",))[0] == RESUME

    # How far the editor has been told.

    def cursor(self, session: str) -> str:
        return self._cursors.get(session, "")

    def on_cursor(self, session: str, cursor: str) -> None:
        """Note that the editor gets a message with this cursor, which may be empty."""
        if cursor and session:
            self._move(session, cursor)

    def on_turn_end(self, session: str, cursor: str, key: str) -> None:
        """Note the cursor at the end of a turn. An error has no room for a cursor: then the hub will repeat
        the prompt, and must know that the editor already has its own words.
        """
        if cursor:
            self.on_cursor(session, cursor)
        elif key and session:
            self._wrote.setdefault(session, []).append(key)

    def _move(self, session: str, cursor: str) -> None:
        self._cursors[session] = cursor
        self._wrote.pop(session, None)

    @property
    def is_skipping(self) -> bool:
        """Whether the hub is about to repeat updates that the editor already has."""
        return bool(self._skipping)

    def on_update(self, session: str, cursor: str) -> bool:
        """Note the cursor of an update. False if the editor already has it and must not get it again."""
        if not cursor or not session:
            return True
        target = self._skipping.get(session)
        if target is not None:
            if target == cursor:
                del self._skipping[session]
            return False
        self._move(session, cursor)
        if session in self._loading:
            self._loading[session] = cursor
        return True

    def load(self, session: str) -> None:
        """The editor loads the session: forget its cursor, and note how far the replay has come."""
        self._cursors.pop(session, None)
        self._loading[session] = ""

    def load_again(self, session: str) -> None:
        if replay_cursor := self._loading.get(session):
            self._skipping[session] = replay_cursor

    def on_load_end(self, session: str) -> None:
        """Forget the load of this session: its replay has ended or failed."""
        self._loading.pop(session, None)
        self._skipping.pop(session, None)
