"""Passes the hub's messages to the editor: each once, in order, and without the hub's marks.

It keeps what was told of every session, and what every question was called. What it gives back is for the
editor; None is nothing for it. It knows nothing of connections beyond their number.
"""

from __future__ import annotations

import hashlib

import msgspec
from msgspec import Raw

from dragoman.sdk.resumption.agent_questions import AgentQuestions, PendingQuestion
from dragoman.sdk.resumption.marks import fields_of, look, remove_mark, text_of
from dragoman.sdk.resumption.runs import remove_marks
from dragoman.sdk.resumption.sent_messages import SentRequest
from dragoman.sdk.resumption.sessions import ATTACH, ResumedSessions
from dragoman.wire import decode, notification, request, response
from dragoman.wire.envelope import Id, Notification, Request

WITHDRAW = "$/cancel_request"
DETACH = "_dragoman/hub/detach"
WATCH = "_dragoman/hub/watch"

WATCHING = b'{"on":true}'


class DeliveredUpdates:
    """`shows`: the editor asked for the marks itself, and sees them."""

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
        """The same for a block of nothing but updates, as one; None if they must be looked at one by one."""
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
        """The hub needs an answer no more; the editor has other ids than the hub."""
        question = self.questions.cancel(withdrawn(notification))
        if question is None:
            return None
        self.sessions.on_cursor(question.session, look(notification.params)[1].cursor)
        return withdrawal(question) if question.answer is None else None

    def question(self, incoming: Request, connection: int) -> tuple[PendingQuestion | None, bytes | None]:
        """A question that the editor has had is not asked again; perhaps there is an answer to it."""
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
        """Whether the editor has an open question of this session, and would be asked it again."""
        return self.sessions.is_resumed(session) and self.questions.is_open(session)

    def on_answer(self, open_request: SentRequest, connection: int, *, is_failed: bool) -> list[bytes]:
        """A request of the editor has its answer. With a turn, what was asked in it is over: the hub has not
        asked again what was settled while we were away.
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
    """Stands for what is asked, without what the hub and others have noted beside it."""
    fields = fields_of(question.params)
    fields.pop("_meta", None)
    return hashlib.blake2b(msgspec.json.encode([question.method, fields]), digest_size=16).digest()


def withdrawal(question: PendingQuestion) -> bytes:
    return notification(WITHDRAW, msgspec.json.encode({"requestId": question.number}))


def withdrawn(note: Notification) -> Id:
    """The id of the request that a withdrawal names; null if it is malformed."""
    raw = fields_of(note.params).get("requestId", Raw(b"null"))
    try:
        return msgspec.json.decode(raw, type=int | str | None)
    except msgspec.MsgspecError:
        return None


def _params(open_request: SentRequest) -> dict[str, Raw]:
    message = decode(open_request.frame)
    return fields_of(message.params) if isinstance(message, Request) else {}
