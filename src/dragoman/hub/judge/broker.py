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

from dragoman.errors import ErrorAnswer, JournalError
from dragoman.hub.engine.bounds import WORK_BYTES
from dragoman.hub.judge.judging import HubJudge, about_of, refusal_of
from dragoman.hub.judge.risks import RiskAssessor
from dragoman.hub.lending.lender import HubLender, LentWork
from dragoman.hub.session import events as ev
from dragoman.hub.session.frames import encoded, object_of, value_of
from dragoman.hub.session.state import OpenRequest, PromptAnswer
from dragoman.runtime.budget import HeldBytes
from dragoman.wire import ErrorObject, error_object, failure, notification
from dragoman.wire.codes import INTERNAL_ERROR, METHOD_NOT_FOUND
from dragoman.workspace.policy.audit import AuditLog
from dragoman.workspace.policy.permission_service import policy_refusal
from dragoman.workspace.policy.policy_parser import PolicyError

if TYPE_CHECKING:
    from dragoman.hub.clients.client import HubClient
    from dragoman.hub.engine.live_session import LiveSession
    from dragoman.hub.hub import Hub

log = logging.getLogger(__name__)

HAS_LARGE_ANSWER = frozenset({"fs/read_text_file", "terminal/output"})
"""What clients lend whose answers may be large."""


class ApprovalBroker:
    """Sits between agents that ask and everybody who might answer."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        audit = AuditLog(hub.options.audit) if hub.options.audit else None
        self.judge = HubJudge(hub, file=hub.options.policy, audit=audit)
        self._lending = HubLender(guard=self.judge.guard)
        self._terminals: set[tuple[str, str]] = set()  # sessions and terminals that we lend ourselves
        self._lenders: dict[tuple[str, int], HubClient] = {}  # by session and request
        self._timers: dict[tuple[str, int], asyncio.TimerHandle] = {}
        self._holds: dict[tuple[str, int], HeldBytes] = {}  # for answers that clients make
        self._risks = RiskAssessor(hub)

    async def aclose(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        await self._lending.aclose()
        await self._risks.aclose()

    def load_policy(self, file: str) -> str:
        """Take over the policy as it is now; says why it stays as it was, if it does."""
        try:
            self.judge.load(file)
        except PolicyError as error:
            return f"the policy stays as it was: {error}"
        return ""

    # Requests come and go.

    def asked(self, session: LiveSession, one: OpenRequest) -> None:
        """Called when it is stored, before anybody hears of it."""
        if not one.is_question:
            self._lend(session, one)
            return
        if one.method == "session/request_permission" and not one.is_own:
            answer = self.judge.decide(session, one)
            if answer is not None:
                session.settle(one.sequence, outcome="answered", by="policy", result=answer)
                return
        if one.method == "elicitation/create" and self._nobody_knows_how(session, one):
            session.settle(one.sequence, outcome="cancelled", by="hub", result=Raw(b'{"action":"cancel"}'))
            return
        self._risks.look(session, one)
        self._expire(session, one)
        known = session.state.requests[one.sequence]
        self._announce("asked", {"request": self.told(session, known)}, session)

    def _nobody_knows_how(self, session: LiveSession, one: OpenRequest) -> bool:
        """Whether people are there, and none of their clients can show a form. When nobody is there, somebody
        may come.
        """
        able = any(client.can_answer(one) or client.events for client in session.followers)
        watched = any(client.watches and client.grant.may("approve") for client in self._hub.clients)
        return bool(session.followers) and not (able or watched)

    def judged(self, session: LiveSession, one: OpenRequest) -> None:
        """The reviewer's rules have come to an end after it was told."""
        members = {"sessionId": session.id, "request": str(one.sequence), **(one.assessment or {})}
        self._announce("judged", members, session)

    def settled(self, session: LiveSession, one: OpenRequest, outcome: str) -> None:
        self._lenders.pop((session.id, one.sequence), None)
        timer = self._timers.pop((session.id, one.sequence), None)
        if timer is not None:
            timer.cancel()
        self._free(session.id, one.sequence)
        self.judge.on_settled(session, one)
        if one.is_question:
            members = {"sessionId": session.id, "request": str(one.sequence), "outcome": outcome}
            self._announce("settled", members, session)

    def recovered(self, session: LiveSession) -> None:
        """It was opened after a crash, with what its agent had asked before."""
        undecided = {about_of(one) for one in session.state.requests.values() if one.is_own}
        for one in list(session.state.requests.values()):
            if one.is_own:
                session.settle(one.sequence, outcome="cancelled", by="hub")
            elif one.is_question:
                if one.method == "session/request_permission":
                    self.judge.keep_open(session, one)
                self._risks.look(session, one)
                self._expire(session, one)
            elif one.sequence in undecided or not self._is_for_us(session, one):
                self._lend(session, one)  # nobody had permitted it, or a client has it to do
            else:
                self._lend_after_crash(session, one)

    def _lend_after_crash(self, session: LiveSession, one: OpenRequest) -> None:
        if one.method in ("fs/write_text_file", "terminal/create"):
            why = "Internal error: the hub was restarted meanwhile and does not know whether it has done this"
            error = {"code": INTERNAL_ERROR, "message": why}
            session.settle(one.sequence, outcome="answered", by="hub", error=error)
        else:
            self._lend_ourselves(session, one)

    def inbox(self, client: HubClient) -> list[dict[str, Any]]:
        found = [
            (one.time, self.told(session, one))
            for session in self._hub.sessions.values()
            if client.grant.may_use(session.state.agent) and client.grant.may_open(session.state.cwd)
            for one in session.state.requests.values()
            if one.is_question
        ]
        return [told for _, told in sorted(found, key=lambda pair: pair[0])]

    def told(self, session: LiveSession, one: OpenRequest) -> dict[str, Any]:
        more: dict[str, Any] = {"expiresAt": one.expires} if one.expires else {}
        if session.state.parent:
            more["parent"] = session.state.parent
        if one.rule:
            more["rule"] = one.rule
        return {
            "sessionId": session.id,
            "request": str(one.sequence),
            "method": one.method,
            "params": one.params,
            "askedAt": one.time,
            "agent": session.state.agent,
            "title": session.state.title,
            **more,
            **(one.assessment or {}),
        }

    def _expire(self, session: LiveSession, one: OpenRequest) -> None:
        seconds = self._hub.options.expire
        if seconds > 0:
            how = refusal_of(one, cancel=self._hub.options.on_expiry == "cancel")
            expires = one.time + seconds
            event = ev.RequestAnnotated(sequence=one.sequence, expires=expires, expiry=Raw(how))
            session.dispatch(event)

    def _announce(self, what: str, members: dict[str, Any], session: LiveSession) -> None:
        block = notification(f"_dragoman/hub/{what}", encoded(members))
        for client in self._hub.clients:
            if client.watches and _may_hear(client, session):
                client.tell(block)

    # Files and terminals.

    def _lend(self, session: LiveSession, one: OpenRequest) -> None:
        if self._is_for_us(session, one):
            self._lend_ourselves(session, one)
            return
        match self.judge.decide_for_client(session, one):
            case "allow":
                self._give_to_client(session, one)
            case "deny":
                self._refuse(session, one, policy_refusal())
            case "ask":
                self._hub.owner.start(self._ask_for_client(session, one))

    def _is_for_us(self, session: LiveSession, one: OpenRequest) -> bool:
        """Whether the hub lends what is asked for, and not a client."""
        terminal = value_of(object_of(one.params).get("terminalId"))
        ours = isinstance(terminal, str) and (session.id, terminal) in self._terminals
        turn = session.root.state.turn
        return ours or self._hub.options.files != "client" or turn is None or one.method not in turn.lends

    def _give_to_client(self, session: LiveSession, one: OpenRequest) -> None:
        """Have it carried out by the client whose turn it is, when there is room for the answer."""
        if one.method not in HAS_LARGE_ANSWER:
            self._give_lender(session, one)
            return
        hold = session.bounds.answers.try_take(WORK_BYTES)
        if hold is None:
            self._hub.owner.start(self._give_when_room(session, one))
        else:
            self._holds[session.id, one.sequence] = hold
            self._give_lender(session, one)

    async def _give_when_room(self, session: LiveSession, one: OpenRequest) -> None:
        hold = await session.bounds.answers.take(WORK_BYTES)
        if one.sequence not in session.state.requests:
            hold.release()
            return
        self._holds[session.id, one.sequence] = hold
        self._give_lender(session, one)
        self._ask_lender(session, one)

    def _ask_lender(self, session: LiveSession, one: OpenRequest) -> None:
        """Its client was told of the stream up to here before it was the one to answer."""
        lender = self.lender(session, one.sequence)
        if lender is not None:
            session.followers[lender].ask_again()

    def _give_lender(self, session: LiveSession, one: OpenRequest) -> None:
        lender = next((client for client in session.followers if self._prompted(client, session)), None)
        if lender is None:  # it was cut off, and may come back; else its follower asks it
            self._wait_for_lender(session, one)
        else:
            self._lenders[session.id, one.sequence] = lender

    def lender(self, session: LiveSession, sequence: int) -> HubClient | None:
        """The client whose files or terminals a request needs."""
        return self._lenders.get((session.id, sequence))

    async def _ask_for_client(self, session: LiveSession, one: OpenRequest) -> None:
        try:
            await self.judge.permit_for_client(session, one)
        except ErrorAnswer as error:
            self._refuse(session, one, error)
            return
        if one.sequence in session.state.requests:
            self._give_to_client(session, one)
            self._ask_lender(session, one)

    def _refuse(self, session: LiveSession, one: OpenRequest, error: ErrorAnswer) -> None:
        told = {"code": error.code, "message": error.message, "data": error.data}
        session.settle(one.sequence, outcome="answered", by="hub", error=told)

    def _prompted(self, client: HubClient, session: LiveSession) -> bool:
        """Whether the turn that runs is this client's; a child works for the turn of another session."""
        session = session.root
        turn, follower = session.state.turn, client.followed.get(session.id)
        if turn is None or follower is None:
            return False
        return turn.key in follower.own or (session.id, turn.key) in client.waiting

    def _lend_ourselves(self, session: LiveSession, one: OpenRequest) -> None:
        if self._lending.serves(one.method):
            work = LentWork(session, one)
            self._hub.owner.start(self._lending.answer(session, one, work, made=self._made))
            if session.process is not None:
                session.process.slow_down(session.bounds.lent)
        else:
            error = {"code": METHOD_NOT_FOUND, "message": "Method not found", "data": {"method": one.method}}
            session.settle(one.sequence, outcome="answered", by="hub", error=error)

    def _made(self, session_id: str, terminal: str) -> None:
        """A terminal of the hub's own: what follows about it is for us."""
        self._terminals.add((session_id, terminal))

    # Clients come and go.

    def arrived(self, client: HubClient) -> None:
        """A client that comes back takes the place of the one that it was: its latest connection is the one
        that counts, also where a node that was cut off brings an older one here afterwards.
        """
        self._risks.expected()
        who = (client.name, client.grant.name)
        same = [one for one in self._hub.clients if client.name and (one.name, one.grant.name) == who]
        latest = max(same, key=lambda one: one.since, default=client)
        for other in same:
            if other is not latest:
                log.info("a client of %s has come back by another way", client.grant.name)
                if other.seat is not None:
                    other.seat.replaced()
                other.ended(None)

    def joined(self, client: HubClient, session: LiveSession) -> None:
        for one in session.state.requests.values():
            waits = (session.id, one.sequence) in self._timers
            if waits and one.method in client.lends() and self._prompted(client, session):
                self._lenders[session.id, one.sequence] = client

    def parted(self, client: HubClient, session: LiveSession) -> None:
        for one in session.state.requests.values():
            if self.lender(session, one.sequence) is client:
                self._wait_for_lender(session, one)

    def _wait_for_lender(self, session: LiveSession, one: OpenRequest) -> None:
        loop = asyncio.get_running_loop()
        seconds = self._hub.options.lender_grace
        key = (session.id, one.sequence)
        if key not in self._timers:
            self._timers[key] = loop.call_later(seconds, self._lender_is_gone, session, one)

    def _lender_is_gone(self, session: LiveSession, one: OpenRequest) -> None:
        self._timers.pop((session.id, one.sequence), None)
        lender = self.lender(session, one.sequence)
        if one.sequence not in session.state.requests or (lender is not None and not lender.gone.is_set()):
            return
        if one.method == "fs/read_text_file":
            self._free(session.id, one.sequence)
            self._lend_ourselves(session, one)
            return
        # Anything else may have been done already: twice would be worse than not at all.
        why = "Internal error: the client that lends this has left"
        error = {"code": INTERNAL_ERROR, "message": why}
        session.settle(one.sequence, outcome="answered", by="hub", error=error)

    def _free(self, session_id: str, sequence: int) -> None:
        hold = self._holds.pop((session_id, sequence), None)
        if hold is not None:
            hold.release()

    def terminal(self, session: LiveSession, terminal_id: str) -> dict[str, Any] | None:
        """What a terminal that the hub lends has printed."""
        return self._lending.output(session.id, terminal_id)

    def forgotten(self, session: LiveSession) -> None:
        self.judge.forget(session.id)
        self._lending.close(session.id)
        self._lenders = {key: lender for key, lender in self._lenders.items() if key[0] != session.id}
        self._terminals = {key for key in self._terminals if key[0] != session.id}
        self._holds = {key: hold for key, hold in self._holds.items() if key[0] != session.id}

    def refuse_prompt(self, session: LiveSession, key: str, error: Any) -> None:
        """Tell whoever waits for a prompt that it was not taken."""
        for client in list(self._hub.clients):
            for request_id in client.waiting.pop((session.id, key), ()):
                client.tell(failure(request_id, error))

    def answer_detached(self, session: LiveSession, key: str, answer: PromptAnswer | None) -> None:
        """A client that follows the session no more is told the end of its prompt, and nothing else."""
        for client in list(self._hub.clients):
            if session.id not in client.followed:
                for request_id in client.waiting.pop((session.id, key), ()):
                    if answer is not None:
                        client.send(answer.to(request_id))

    def unstored_error(self, error: JournalError) -> ErrorObject:
        return error_object(
            INTERNAL_ERROR, f"Internal error: the session could not be stored ({_kind(error)})"
        )

    def on_failed_append(self, session: LiveSession) -> None:
        """The agent need not go on with what nobody can keep."""
        process = session.process
        if process is not None and session.state.turn is not None:
            own = process.bound.get(session.id, session.id)
            process.notify("session/cancel", encoded({"sessionId": own}))


def _may_hear(client: HubClient, session: LiveSession) -> bool:
    return client.grant.may_use(session.state.agent) and client.grant.may_open(session.state.cwd)


def _kind(error: JournalError) -> str:
    """What went wrong, without the names of files."""
    return {"JournalFull": "no room is left", "JournalBusy": "another process holds the journal"}.get(
        type(error).__name__, "the journal refuses it"
    )
