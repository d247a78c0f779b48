"""What agents ask, and who answers: people, a policy, a client that lends its files, or the hub itself.

Permissions and questions go to every client that may answer; the first answer counts, whoever gives it, and a
policy may give it before anybody is asked. Files and terminals are the business of the client whose turn it
is, if it lends them, and else of the hub. A client that lends and is cut off has a while to come back.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from dragoman.errors import JournalError, LinkClosed
from dragoman.hub.frames import encoded, object_of, value_of
from dragoman.hub.judging import Judge, refusal_of
from dragoman.hub.lending import Lending
from dragoman.hub.recall import ASKED, OpenRequest
from dragoman.wire import error_object, failure, notification
from dragoman.wire.codes import INTERNAL_ERROR, METHOD_NOT_FOUND

if TYPE_CHECKING:
    from dragoman.hub.client_side import HubClient
    from dragoman.hub.hub import Hub
    from dragoman.hub.session import HubSession

log = logging.getLogger(__name__)

NEEDED = {
    "fs/read_text_file": ("fs", "readTextFile"),
    "fs/write_text_file": ("fs", "writeTextFile"),
    "terminal/create": ("terminal",),
}
"""What a client must have announced to be asked for it."""


class Desk:
    """Sits between agents that ask and everybody who might answer."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._lending = Lending()
        self._judge = Judge(hub.options.policy) if hub.options.policy else None
        self._terminals: dict[tuple[str, str], str] = {}  # session and terminal → the name of its lender
        self._timers: dict[tuple[str, int], asyncio.TimerHandle] = {}

    async def aclose(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        await self._lending.aclose()

    # Requests come and go.

    def asked(self, session: HubSession, one: OpenRequest) -> None:
        """Called when it is stored, before anybody hears of it."""
        if one.method not in ASKED:
            self._lend(session, one)
            return
        if self._judge is not None and one.method == "session/request_permission":
            verdict = self._judge.about(session, one)
            one.rule = verdict.rule
            if verdict.result is not None:
                session.settle(one.sequence, outcome="answered", by="policy", result=verdict.result)
                return
        if one.method == "elicitation/create" and self._nobody_knows_how(session):
            session.settle(one.sequence, outcome="cancelled", by="hub", result=Raw(b'{"action":"cancel"}'))
            return
        self._expire(session, one)
        self._announce("asked", {"request": self.told(session, one)}, session)

    def _nobody_knows_how(self, session: HubSession) -> bool:
        """Whether people are there, and none of their clients can show a form. When nobody is there, somebody
        may come.
        """
        able = any(client.can_answer("elicitation/create") or client.events for client in session.followers)
        watched = any(client.watches and client.grant.may("approve") for client in self._hub.clients)
        return bool(session.followers) and not (able or watched)

    def others_may_answer(self, client: HubClient, session: HubSession, one: OpenRequest) -> bool:
        """Whether somebody else is there who was asked the same."""
        if one.method not in ASKED:
            return False
        asked = [other for other in session.followers if other is not client and other.can_answer(one.method)]
        watched = any(other.watches and other.grant.may("approve") for other in self._hub.clients)
        return bool(asked) or watched

    def settled(self, session: HubSession, one: OpenRequest, outcome: str) -> None:
        timer = self._timers.pop((session.id, one.sequence), None)
        if timer is not None:
            timer.cancel()
        if one.method in ASKED:
            members = {"sessionId": session.id, "request": str(one.sequence), "outcome": outcome}
            self._announce("settled", members, session)

    def recovered(self, session: HubSession) -> None:
        """It was opened after a crash, with what its agent had asked before."""
        for one in list(session.requests.values()):
            if one.method in ASKED:
                self._expire(session, one)
            else:
                self._wait_for_lender(session, one)

    def inbox(self, client: HubClient) -> list[dict[str, Any]]:
        found = [
            (one.time, self.told(session, one))
            for session in self._hub.sessions.values()
            if client.grant.may_use(session.memory.agent) and client.grant.may_open(session.memory.cwd)
            for one in session.requests.values()
            if one.method in ASKED
        ]
        return [told for _, told in sorted(found, key=lambda pair: pair[0])]

    def told(self, session: HubSession, one: OpenRequest) -> dict[str, Any]:
        more: dict[str, Any] = {"expiresAt": one.expires} if one.expires else {}
        if one.rule:
            more["rule"] = one.rule
        return {
            "sessionId": session.id,
            "request": str(one.sequence),
            "method": one.method,
            "params": one.params,
            "askedAt": one.time,
            "agent": session.memory.agent,
            "title": session.memory.title,
            **more,
        }

    def _expire(self, session: HubSession, one: OpenRequest) -> None:
        seconds = self._hub.options.expire
        if seconds > 0:
            one.expires = one.time + seconds
            how = refusal_of(one, cancel=self._hub.options.on_expiry == "cancel")
            session.expire_in(one.sequence, seconds, Raw(how))

    def _announce(self, what: str, members: dict[str, Any], session: HubSession) -> None:
        block = notification(f"_dragoman/hub/{what}", encoded(members))
        for client in self._hub.clients:
            if client.watches and _may_hear(client, session):
                client.tell(block)

    # Files and terminals.

    def _lend(self, session: HubSession, one: OpenRequest) -> None:
        client = self._lender(session, one)
        if client is not None:
            one.lender = client  # its follower asks it when the entry is shown
        else:
            self._lend_ourselves(session, one)

    def _lender(self, session: HubSession, one: OpenRequest) -> HubClient | None:
        terminal = value_of(object_of(one.params).get("terminalId"))
        if isinstance(terminal, str):
            name = self._terminals.get((session.id, terminal))
            return next((client for client in session.followers if name == _name(client)), None)
        if self._hub.options.files != "client":
            return None
        turn = session.memory.turn
        for client in session.followers:
            if turn is not None and (session.id, turn.key) in client.waiting and _lends(client, one.method):
                return client
        return None

    def _lend_ourselves(self, session: HubSession, one: OpenRequest) -> None:
        if self._lending.serves(one.method):
            self._hub.owner.start(self._lending.answer(session, one))
        else:
            error = {"code": METHOD_NOT_FOUND, "message": "Method not found", "data": {"method": one.method}}
            session.settle(one.sequence, outcome="answered", by="hub", error=error)

    def answered(self, client: HubClient, session: HubSession, one: OpenRequest, result: Raw | None) -> None:
        """A client has lent something; a terminal stays with it."""
        if one.method == "terminal/create":
            terminal = value_of(object_of(result).get("terminalId"))
            if isinstance(terminal, str):
                self._terminals[session.id, terminal] = _name(client)

    # Clients come and go.

    def arrived(self, client: HubClient) -> None:
        """A client that comes back takes the place of the one that it was."""
        for other in list(self._hub.clients):
            same = client.name and (other.name, other.grant.name) == (client.name, client.grant.name)
            if same and other is not client:
                log.info("a client of %s has come back by another way", client.grant.name)
                other.ended(None)

    def joined(self, client: HubClient, session: HubSession) -> None:
        for one in session.requests.values():
            waits = (session.id, one.sequence) in self._timers
            if waits and _lends(client, one.method) and _may_replace(client, one.lender):
                one.lender = client

    def parted(self, client: HubClient, session: HubSession) -> None:
        for one in session.requests.values():
            if one.lender is client:
                self._wait_for_lender(session, one)

    def _wait_for_lender(self, session: HubSession, one: OpenRequest) -> None:
        loop = asyncio.get_running_loop()
        seconds = self._hub.options.lender_grace
        key = (session.id, one.sequence)
        if key not in self._timers:
            self._timers[key] = loop.call_later(seconds, self._lender_is_gone, session, one)

    def _lender_is_gone(self, session: HubSession, one: OpenRequest) -> None:
        self._timers.pop((session.id, one.sequence), None)
        lender: HubClient | None = one.lender
        if one.sequence not in session.requests or (lender is not None and not lender.gone.is_set()):
            return
        if one.method == "fs/read_text_file":
            self._lend_ourselves(session, one)
            return
        # Anything else may have been done already: twice would be worse than not at all.
        why = "Internal error: the client that lends this has left"
        error = {"code": INTERNAL_ERROR, "message": why}
        session.settle(one.sequence, outcome="answered", by="hub", error=error)

    def forgotten(self, session: HubSession) -> None:
        self._lending.close(session.id)
        for key in [key for key in self._terminals if key[0] == session.id]:
            del self._terminals[key]

    def unstored(self, session: HubSession, error: JournalError) -> None:
        why = f"Internal error: the session could not be stored ({_kind(error)})"
        for client in list(session.followers):
            for session_id, key in list(client.waiting):
                if session_id == session.id:
                    waiting = client.waiting.pop((session_id, key))
                    client.tell(failure(waiting, error_object(INTERNAL_ERROR, why)))
        session.give_up_start()
        life = session.life
        if life is not None and session.memory.turn is not None:
            try:
                own = life.bound.get(session.id, session.id)
                life.notify("session/cancel", encoded({"sessionId": own}))
            except LinkClosed:
                pass


def _may_hear(client: HubClient, session: HubSession) -> bool:
    return client.grant.may_use(session.memory.agent) and client.grant.may_open(session.memory.cwd)


def _may_replace(client: HubClient, lender: HubClient | None) -> bool:
    """Whether it is the client that was asked before, or nobody knows any more who that was."""
    return lender is None or (lender.gone.is_set() and lender.name != "" and lender.name == client.name)


def _lends(client: HubClient, method: str) -> bool:
    found: Any = client.capabilities
    for name in NEEDED.get(method, ("_",)):
        found = found.get(name) if isinstance(found, dict) else None
    return found is True


def _name(client: HubClient) -> str:
    return client.name or f"connection {id(client)}"


def _kind(error: JournalError) -> str:
    """What went wrong, without the names of files."""
    return {"JournalFull": "no room is left", "JournalBusy": "another process holds the journal"}.get(
        type(error).__name__, "the journal refuses it"
    )
