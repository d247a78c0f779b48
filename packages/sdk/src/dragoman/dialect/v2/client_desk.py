"""State that the parts of the v2 client's edge share: sessions, open requests, the agent's capabilities."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from dragoman.dialect.debts import OwnIds, PendingRequests
from dragoman.dialect.edge import Out
from dragoman.dialect.ledger import LedgerNote
from dragoman.dialect.message import Id, Json, Message, Object, as_object, as_text, refusal, request
from dragoman.dialect.v2.client_handshake import AgentAbilities
from dragoman.dialect.v2.client_session import V2ClientSession
from dragoman.dialect.v2.to_v1.fields import LossReporter
from dragoman.dialect.v2.to_v2.writer import V2Writer
from dragoman.wire.codes import NOT_FOUND

BEGINNINGS = ("session/new", "session/fork")
"""Requests whose answers name a session."""


PROMPT = "prompt-"
"""The prefix of a prompt's message id at a hub; the prompt's key follows."""


class PendingCall(Struct, frozen=True):
    """A request of the client that the agent has not answered yet."""

    id: Id | UnsetType
    """The client's id. The agent has another id if the client reuses an id that is still in use at the agent:
    the id of an acknowledged prompt that still runs.
    """
    method: str
    """The client's name for the method."""
    params: Object
    session: str = ""


class PendingCalls:
    def __init__(self, report: LossReporter, nonce: str) -> None:
        self.report = report
        self.can = AgentAbilities()
        self.shows_usage = False
        self.sessions: dict[str, V2ClientSession] = {}
        self.open: PendingRequests[PendingCall] = PendingRequests()
        self._message_ids = OwnIds(f"dragoman-{nonce}" if nonce else "dragoman")
        self._call_ids = OwnIds("dragoman-call")

    def name_prompt(self, params: Object) -> tuple[str, Object]:
        """Return the id of a prompt's message, and the params that make the agent report the message under
        this id.

        A hub tells prompts again as `prompt-KEY`; the key is the client's, or made up here.
        """
        if not self.can.keys:
            return self._message_ids.next(), params
        meta = as_object(params.get("_meta"))
        ours = as_object(meta.get("dragoman"))
        key = as_text(ours.get("key")) or self._message_ids.next()
        return f"{PROMPT}{key}", {**params, "_meta": {**meta, "dragoman": {**ours, "key": key}}}

    def session(self, session_id: str) -> V2ClientSession:
        """Return a session, and create it when it is first named: agents name sessions before they answer the
        request that creates them.
        """
        session = self.sessions.get(session_id)
        if session is None:
            session = self.sessions[session_id] = V2ClientSession(session_id, self._message_ids, self.report)
            session.shows_usage = self.shows_usage
        return session

    @property
    def is_beginning(self) -> bool:
        """Whether a session without an id may already exist."""
        return any(call.method in BEGINNINGS for _, call in self.open.items())

    def note(self, note: LedgerNote) -> None:
        V2Writer(self.report).note(note)

    def forward(self, call: PendingCall, method: str, params: Json | UnsetType = UNSET) -> Out:
        """Send a request to the agent, in its protocol version."""
        inner = call.id if self.open.look(call.id) is None else self._call_ids.next()
        self.open.owe(inner, call)
        return ("inside", request(inner, method, params))


def only_meta(fields: Object) -> Object:
    """Return only the `_meta` of a message, for another message."""
    return {"_meta": fields["_meta"]} if type(fields.get("_meta")) is dict else {}


def refuse(message: Message | PendingCall, code: int, why: str, data: Json | UnsetType = UNSET) -> list[Out]:
    """Return an error to the client without asking the agent."""
    return [("peer", refusal(message.id, code, why, data))]


def no_session(message: Message, session_id: str) -> list[Out]:
    return refuse(message, NOT_FOUND, "Session not found", {"sessionId": session_id})
