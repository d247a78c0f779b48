"""The rules of a conversation that survives lost connections; docs/hub-protocol.md has the hub's part.

An editor is on one side, a hub on the other. `say` takes the editor's messages and `hear` the hub's;
`on_open` and `on_connection_lost` report the connection. What is to be sent is then in `to_hub` and
`to_editor`. The editor sees one conversation: nothing twice, nothing missing, nothing out of order, and
none of the marks by which that is done. A peer that is not a hub gets everything as it is, and its end is the
end.

Nothing here does IO, and nothing reads a clock.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import Literal, TypeAlias

import msgspec
from msgspec import Raw

from dragoman.sdk.resumption.agent_questions import PendingQuestion
from dragoman.sdk.resumption.delivered_updates import (
    WATCH,
    WATCHING,
    WITHDRAW,
    DeliveredUpdates,
    withdrawal,
    withdrawn,
)
from dragoman.sdk.resumption.marks import fields_of, look, put
from dragoman.sdk.resumption.sent_messages import KEYED, LOADS, SentMessages, SentRequest
from dragoman.wire import decode, error_object, failure, request, response
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_REQUEST, NAMES, NOT_FOUND
from dragoman.wire.envelope import Envelope, Failure, Id, MalformedFrame, Notification, Request, Response
from dragoman.wire.glance import lines_of

log = logging.getLogger(__name__)

Phase: TypeAlias = Literal["away", "fresh", "greeting", "resuming", "live", "plain", "over"]
"""The state: no connection; connected but not initialized; initialized again and resuming the sessions; at
work; or at the end, also with a peer that is not a hub.
"""

NO_LIMIT = 1 << 62

RESUME_TRIES = 5
"""Connections on which a hub may fail to resume a session before the session is given up."""

ANYTHING, LITTLE = "_dragoman/hub/sessions", b'{"limit":1}'
"""A request to a hub of which only the time of the answer matters."""


class Resumption:
    """The rules of one conversation. `client` names us to the hub, the same on each connection; `agent` is
    the agent for the editor.
    """

    def __init__(self, *, client: str, agent: str | None = None) -> None:
        self.client = client
        self.phase: Phase = "away"
        self.is_hub: bool | None = None
        """None until the peer has answered `initialize`."""
        self.fault = ""
        """Why this connection is of no use; whoever runs us should drop it."""
        self.held_bytes = 0
        """Bytes that the editor has said and that wait for a connection."""
        self.to_hub: list[bytes] = []
        self.to_editor: list[bytes] = []
        self._agent = agent
        self._held_frames: deque[bytes] = deque()
        self._initialize: tuple[Id, bytes] | None = None
        self._has_spoken = False  # whether anything else was said before that
        self._connection = 0
        self._keys = 0
        self._count = 0  # of requests of our own
        self._sent_messages = SentMessages()
        self._deliveries = DeliveredUpdates()
        self._returns: dict[Id, str] = {}  # ids of our own requests on this connection → their sessions
        self._checks: dict[Id, str] = {}  # the same: once it is answered, all that is open was asked again
        self._tries: dict[str, int] = {}  # connections in a row on which the hub failed to resume a session
        self._owes = False  # whether what has no answer is still to be said on this connection
        self._largest = NO_LIMIT  # bytes of one message that the hub takes

    @property
    def survives(self) -> bool:
        """Whether the conversation can continue over a new connection."""
        return self.phase != "over" and (
            self.is_hub or (self.is_hub is None and (self._initialize is not None or not self._has_spoken))
        )

    def cursor(self, session: str) -> str:
        """The cursor of the last message that the editor got in this session; empty if unknown."""
        return self._deliveries.sessions.cursor(session)

    # The connection.

    def on_open(self) -> None:
        self._connection += 1
        self.fault = ""
        self._deliveries.questions.renew()
        self.phase = "greeting" if self.is_hub else "fresh"
        if self._initialize is not None:
            self.to_hub.append(self._initialize[1])
        else:
            self._say_held()

    def on_connection_lost(self) -> None:
        """Prepare for a reconnect. The next connection settles whether the last messages have arrived."""
        self.to_hub.clear()
        self._returns.clear()
        self._checks.clear()
        self._deliveries.withheld_sessions.clear()
        if self.phase not in ("over", "plain"):
            self.phase = "away"
        for sent_request in self._sent_messages.unrepeatable():
            self._sent_messages.settle(sent_request.id)
            self._refuse(
                sent_request.id,
                f"the connection broke, and {sent_request.method} may have been carried out or not",
            )

    def give_up(self, why: str) -> None:
        """Fail all open requests of the editor: the hub is gone for good."""
        self.phase = "over"
        waiting = [request.id for request in self._sent_messages.requests()]
        if self._initialize is not None and self.is_hub is None:
            waiting.insert(0, self._initialize[0])
        waiting += [message.id for message in map(decode, self._held_frames) if isinstance(message, Request)]
        self._held_frames.clear()
        self.held_bytes = 0
        for request_id in waiting:
            self._refuse(request_id, why)

    def _refuse(self, request_id: Id, why: str) -> None:
        self.to_editor.append(failure(request_id, error_object(INTERNAL_ERROR, f"Internal error: {why}")))

    # What the editor says.

    def say(self, frame: bytes) -> None:
        """Send the editor's messages. Answers are not queued: the hub may need one before it can continue."""
        frame = frame if frame.endswith(b"\n") else frame + b"\n"
        if self.phase == "plain":
            self.to_hub.append(frame)
            return
        message = decode(frame)
        if self.is_hub and self._is_unfit(message, len(frame)):
            return
        if isinstance(message, Response | Failure) and self.is_hub:
            self._answer(message)
        elif self._is_open_for(message):
            self._pass(message, frame)
        else:
            self._held_frames.append(frame)
            self.held_bytes += len(frame)

    def _is_unfit(self, envelope: Envelope, size: int) -> bool:
        """What would end each connection anew never gets there: what is not a message, what is too large; nor
        a request under an id that is in use, because nobody could tell the answers apart.
        """
        if isinstance(envelope, MalformedFrame):
            if envelope.code is not None:
                error = error_object(envelope.code, f"{NAMES[envelope.code]}: {envelope.why}")
                self.to_editor.append(failure(None, error))
            return True
        if size > self._largest:
            why = f"Invalid request: a message of {size} bytes is larger than the hub takes"
            if isinstance(envelope, Request):
                self.to_editor.append(failure(envelope.id, error_object(INVALID_REQUEST, why)))
            elif isinstance(envelope, Response | Failure):
                self._answer(Failure(envelope.id, error_object(INTERNAL_ERROR, "Internal error: too large")))
            return True
        if isinstance(envelope, Request) and self._sent_messages.is_open(envelope.id):
            why = "Invalid request: the id belongs to a request that has no answer yet"
            self.to_editor.append(failure(envelope.id, error_object(INVALID_REQUEST, why)))
            return True
        return False

    def _is_open_for(self, envelope: Envelope) -> bool:
        if self.phase != "fresh":
            return self.phase == "live"
        return self._initialize is None or isinstance(envelope, Response | Failure)

    def _say_held(self) -> None:
        while self._held_frames:
            frame = self._held_frames[0]
            message = decode(frame)
            if self.phase != "plain" and not self._is_open_for(message):
                return
            self._held_frames.popleft()
            self.held_bytes -= len(frame)
            if self.phase == "plain":
                self.to_hub.append(frame)
            else:
                self._pass(message, frame)

    def _pass(self, envelope: Envelope, frame: bytes) -> None:
        if isinstance(envelope, Request) and envelope.method == "initialize" and self.is_hub is None:
            frame = self._introduce(envelope)
        elif self.is_hub is None:
            self._has_spoken = True
        elif isinstance(envelope, Request):
            frame = self._request(envelope, frame)
        elif isinstance(envelope, Notification):
            self._note(envelope)
        self.to_hub.append(frame)

    def _introduce(self, incoming: Request) -> bytes:
        mark = fields_of(fields_of(fields_of(incoming.params).get("_meta")).get("dragoman"))
        self._deliveries.shows = bytes(mark.get("cursors", b"")) == b"true"
        ours = {"cursors": True, "client": self.client}
        if self._agent is not None:
            ours["agent"] = self._agent
        frame = request(incoming.id, incoming.method, put(incoming.params, ours))
        self._initialize = (incoming.id, frame)
        return frame

    def _request(self, incoming: Request, frame: bytes) -> bytes:
        session, mark = look(incoming.params)
        key = mark.key
        if incoming.method in KEYED and not key:
            self._keys += 1
            key = f"{self.client}-{self._keys}"
            frame = request(incoming.id, incoming.method, put(incoming.params, {"key": key}))
        if incoming.method == "session/load":
            self._deliveries.sessions.load(session)
        self._sent_messages.keep(incoming, frame, session=session, key=key)
        return frame

    def _note(self, notification: Notification) -> None:
        if notification.method == "session/cancel":
            self._sent_messages.keep_cancel(notification, session=look(notification.params)[0])
        elif notification.method == WITHDRAW:
            self._sent_messages.keep_withdrawal(notification, withdrawn(notification))

    def _answer(self, response: Response | Failure) -> None:
        if isinstance(response, Response):
            answer = b'"result":%b' % bytes(response.result)
        else:
            answer = b'"error":%b' % msgspec.json.encode(response.error)
        question = self._deliveries.questions.answer(response.id, answer)
        if question is not None and question.connection == self._connection and self.phase != "away":
            self._send_answer(question)

    def _send_answer(self, question: PendingQuestion) -> None:
        hub_id, answer = msgspec.json.encode(question.hub_id), question.answer or b""
        self.to_hub.append(b'{"jsonrpc":"2.0","id":%b,%b}\n' % (hub_id, answer.replace(b"\n", b" ")))

    # What the hub says.

    def hear_block(self, block: bytes) -> None:
        """Handle one or more frames of the hub."""
        updates = self._deliveries.run(block) if self.phase in ("greeting", "resuming", "live") else None
        if updates is not None:
            self.to_editor.append(updates)
            return
        for frame in lines_of(block):
            self.hear(frame)

    def hear(self, frame: bytes) -> None:
        if self.phase == "plain":
            self.to_editor.append(frame)
            return
        message = decode(frame)
        if self.phase == "fresh":
            self._hear_first(message, frame)
        elif isinstance(message, Notification):
            self._hear_note(message, frame)
        elif isinstance(message, Request):
            self._hear_question(message)
        elif isinstance(message, Response | Failure):
            self._hear_answer(message, frame)
        else:
            self.to_editor.append(frame)

    def _hear_first(self, envelope: Envelope, frame: bytes) -> None:
        """The answer to the editor's own `initialize` says whom we talk to."""
        self.to_editor.append(frame)
        if self._initialize is None or not isinstance(envelope, Response | Failure):
            return
        if isinstance(envelope, Response) and envelope.id == self._initialize[0]:
            self.is_hub = _is_hub(envelope.result)
            self._largest = _largest(envelope.result)
            self.phase = "live" if self.is_hub else "plain"
        elif isinstance(envelope, Failure) and envelope.id == self._initialize[0]:
            self._initialize = None  # the editor may try another way
        elif isinstance(envelope, Failure) and envelope.id is None:
            self.is_hub, self.phase = False, "plain"  # a server that is full says so instead of the answer
        self._say_held()

    def _hear_greeting(self, response: Response | Failure) -> None:
        """The hub has taken us back. Resume the sessions; the editor has had this answer."""
        if isinstance(response, Failure):
            self.fault = f"the hub does not take us back: {response.error.message}"
        elif not _is_hub(response.result):
            self.fault = "the server there is no longer a hub"
        else:
            self.phase, self._owes = "resuming", True
            if self._deliveries.watches:
                self._return(WATCH, WATCHING, "")
            opening_sessions = self._held_openings()
            for session in self._deliveries.sessions:
                if session not in opening_sessions and not self._sent_messages.opens(session):
                    self._come_back(session)
            self._go_on()

    def _held_openings(self) -> set[str]:
        """Sessions that the editor opens by itself as soon as it is heard: it would be told all twice."""
        held_requests = [
            message for message in map(decode, self._held_frames) if isinstance(message, Request)
        ]
        return {look(message.params)[0] for message in held_requests if message.method in LOADS}

    def _come_back(self, session: str) -> None:
        method, params = self._deliveries.sessions.come_back(session, self._sent_messages.prompts(session))
        self._return(method, params, session)

    def _return(self, method: str, params: bytes, session: str) -> None:
        self._returns[self._ask(method, params)] = session

    def _ask(self, method: str, params: bytes) -> Id:
        """Send a request of our own, which the editor does not see."""
        self._count += 1
        number = f"{self.client}-back-{self._count}"
        self.to_hub.append(request(number, method, params))
        return number

    def _on_return(self, response: Response | Failure) -> None:
        session = self._returns.pop(response.id)
        self._deliveries.withheld_sessions.discard(session)
        if isinstance(response, Failure):
            self._on_return_refused(session, response)
            self._go_on()
            return
        self._tries.pop(session, None)
        if self._deliveries.asks(session):
            # The hub asks again right behind its answer; what it has not asked before this one is settled.
            self._checks[self._ask(ANYTHING, LITTLE)] = session
        self._go_on()

    def _on_return_refused(self, session: str, failure: Failure) -> None:
        """A hub that cannot read its journal now may be able to soon: we come again. If it never can, what
        the editor asks of the session next gets the hub's own words.
        """
        tries = self._tries.get(session, 0) + 1
        if failure.error.code == INTERNAL_ERROR and tries < RESUME_TRIES:
            self._tries[session] = tries
            self.fault = f"the hub cannot resume a session now: {failure.error.message}"
            return
        self._tries.pop(session, None)
        log.warning("a session could not be resumed (error %d)", failure.error.code)

    def _go_on(self) -> None:
        """Once every session is resumed: send unanswered requests again, then the held frames."""
        if self.phase != "resuming" or self._returns or self.fault:
            return
        self.phase = "live"
        if self._owes:
            self._owes = False
            for sent_request, frame in self._sent_messages.again():
                if sent_request is not None and sent_request.method == "session/load":
                    self._deliveries.sessions.load_again(sent_request.session)
                self.to_hub.append(frame)
        self._say_held()

    def _hear_answer(self, response: Response | Failure, frame: bytes) -> None:
        if response.id in self._returns:
            self._on_return(response)
        elif response.id in self._checks:
            stale = self._deliveries.questions.stale(self._checks.pop(response.id), self._connection)
            self.to_editor += map(withdrawal, stale)
        elif self.phase == "greeting" and self._initialize and response.id in (None, self._initialize[0]):
            self._hear_greeting(response)
        elif (sent_request := self._sent_messages.settle(response.id)) is not None:
            self._on_answer(sent_request, response, frame)
        elif response.id is None:
            self.to_editor.append(frame)  # it did not understand something; the editor may
        else:
            log.info("the hub answered something that nobody waits for")

    def _on_answer(self, sent_request: SentRequest, answer: Response | Failure, frame: bytes) -> None:
        self.to_editor += self._deliveries.on_answer(
            sent_request, self._connection, is_failed=isinstance(answer, Failure)
        )
        if isinstance(answer, Failure):
            was_removal = sent_request.is_repeated and sent_request.method in (
                "session/close",
                "session/delete",
            )
            if not (was_removal and answer.error.code == NOT_FOUND):
                self.to_editor.append(frame)
                return
            # It was carried out the first time, and the answer was lost.
            answer, frame = Response(sent_request.id, Raw(b"{}")), response(sent_request.id, b"{}")
        self.to_editor.append(self._deliveries.result(sent_request, answer.result, frame))
        new_session = look(answer.result)[0] if sent_request.method in ("session/new", "session/fork") else ""
        if sent_request.is_repeated and new_session:
            self._hear_from_its_beginning(new_session)

    def _hear_from_its_beginning(self, session: str) -> None:
        """It may have been made the first time, and have spoken since to a connection that was gone."""
        self._deliveries.withheld_sessions.add(session)
        self.phase = "resuming"
        self._come_back(session)

    def _hear_question(self, request: Request) -> None:
        question, frame = self._deliveries.question(request, self._connection)
        if frame is not None:
            self.to_editor.append(frame)
        elif question is not None and question.answer is not None:
            self._send_answer(question)

    def _hear_note(self, notification: Notification, frame: bytes) -> None:
        delivery = (
            self._deliveries.withdrawal(notification)
            if notification.method == WITHDRAW
            else self._deliveries.update(notification, frame)
        )
        if delivery is not None:
            self.to_editor.append(delivery)


def _is_hub(result: Raw) -> bool:
    return "hub" in fields_of(fields_of(fields_of(result).get("_meta")).get("dragoman"))


def _largest(result: Raw) -> int:
    """The largest message that the hub takes, by its answer to `initialize`."""
    size = fields_of(fields_of(fields_of(result).get("_meta")).get("dragoman")).get("message")
    return int(bytes(size)) if size is not None and bytes(size).isdigit() else NO_LIMIT
