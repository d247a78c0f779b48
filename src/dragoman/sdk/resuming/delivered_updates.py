"""What the editor is told of what the hub says: once, in order, and without the hub's marks.

It keeps what was told of every session, and what every question was called. What it gives back is for the
editor; None is nothing for it. It knows nothing of connections beyond their number.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw

from dragoman.sdk.resuming.agent_questions import AgentQuestions, PendingQuestion
from dragoman.sdk.resuming.marks import fields_of, look, taken_out, text_of
from dragoman.sdk.resuming.runs import unmarked
from dragoman.sdk.resuming.sent_messages import Open
from dragoman.sdk.resuming.sessions import ATTACH, ResumedSessions
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
        self.withheld: set[str] = set()
        """Sessions that are about to be told again from where the editor is."""

    def update(self, heard: Notification, frame: bytes) -> bytes | None:
        session, mark = look(heard.params)
        if session in self.withheld or not self.sessions.told_update(session, mark.cursor):
            return None
        if not mark.cursor or heard.params is None or self.shows:
            return frame
        return notification(heard.method, taken_out(heard.params, mark))

    def run(self, block: bytes) -> bytes | None:
        """The same for a block of nothing but updates, as one; None if they must be looked at one by one."""
        if self.shows or self.withheld or self.sessions.is_skipping:
            return None
        found = unmarked(block)
        if found is None:
            return None
        told, cursors = found
        for session, cursor in cursors.items():
            self.sessions.told_update(session, cursor)
        return told

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
        if session in self.withheld:
            return None, None
        question, new = self.questions.ask(session, mark.request, incoming.id, connection)
        if not new:
            return question, None
        self.sessions.on_cursor(session, mark.cursor)
        if incoming.params is None:
            return question, request(question.number, incoming.method, None)
        params = bytes(incoming.params) if self.shows else taken_out(incoming.params, mark)
        return question, request(question.number, incoming.method, params)

    def asks(self, session: str) -> bool:
        """Whether the editor has an open question of this session, and would be asked it again."""
        return self.sessions.is_resumed(session) and self.questions.is_open(session)

    def ended(self, one: Open, connection: int, *, failed: bool) -> list[bytes]:
        """A request of the editor has its answer. With a turn, what was asked in it is over: the hub has not
        asked again what was settled while we were away.
        """
        if one.method == "session/load":
            self.sessions.loaded(one.session)
        if one.method != "session/prompt":
            return []
        if failed:
            self.sessions.told_end(one.session, "", one.key)
        return [withdrawal(question) for question in self.questions.stale(one.session, connection)]

    def result(self, one: Open, result: Raw, frame: bytes) -> bytes:
        """The answer, and what it changes."""
        session, mark = look(result)
        if one.method == "session/prompt":
            self.sessions.told_end(one.session, mark.cursor, one.key)
        elif one.method in ("session/new", "session/fork") and session:
            self.sessions.open(session, _params(one))
        elif one.method in ("session/load", "session/resume"):
            self.sessions.open(one.session, _params(one))
            self.sessions.on_cursor(one.session, mark.cursor)
        elif one.method in ("session/close", "session/delete"):
            self.sessions.close(one.session)
            self.questions.forget(one.session)
        else:
            self._looked(one, fields_of(result))
        return response(one.id, taken_out(result, mark)) if mark.cursor and not self.shows else frame

    def _looked(self, one: Open, result: dict[str, Raw]) -> None:
        """The methods of a client that knows hubs."""
        params = _params(one)
        if one.method == ATTACH:
            after = text_of(params["after"]) if "after" in params else "end"
            self.sessions.attach(one.session, text_of(result.get("cursor")) if after == "end" else after)
        elif one.method == DETACH:
            self.sessions.detach(one.session)
        elif one.method == WATCH:
            self.watches = bytes(params.get("on", b"")) == b"true"


def withdrawal(question: PendingQuestion) -> bytes:
    return notification(WITHDRAW, msgspec.json.encode({"requestId": question.number}))


def withdrawn(note: Notification) -> Id:
    """The id of the request that is meant; null if it makes no sense."""
    raw = fields_of(note.params).get("requestId", Raw(b"null"))
    try:
        return msgspec.json.decode(raw, type=int | str | None)
    except msgspec.MsgspecError:
        return None


def _params(one: Open) -> dict[str, Raw]:
    said = decode(one.frame)
    return fields_of(said.params) if isinstance(said, Request) else {}
