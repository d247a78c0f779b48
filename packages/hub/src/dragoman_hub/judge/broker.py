"""Answers agents' requests: by people, a policy, a client that provides its files, or the hub itself.

Permissions and questions are judged, one after the other in each session, and nobody knows of them before.
What no rule answers goes to every client that may answer; the first answer counts, whoever gives it. Files
and terminals are the business of the client whose turn it is, if it lends them, and else of the hub. A client
that lends and is cut off has a while to come back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from dragoman.errors import ErrorAnswer
from dragoman.runtime.budget import HeldBytes
from dragoman.wire import failure, notification
from dragoman.wire.codes import INTERNAL_ERROR, METHOD_NOT_FOUND
from dragoman.wire.envelope import JsonObject
from dragoman_hub.clients.client import ClientHub, HubClient
from dragoman_hub.engine.bounds import WORK_BYTES
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.engine.pending_entries import REDACTED_REQUEST
from dragoman_hub.engine.ports import ClientPort
from dragoman_hub.engine.session_reach import reaches
from dragoman_hub.gate.admission import Grant
from dragoman_hub.judge.attempts import AttemptLog
from dragoman_hub.judge.denials import DenialBook
from dragoman_hub.judge.hub_judge import (
    PERMISSION,
    HubJudge,
    OpenQuestion,
    about_of,
    check_question,
    refusal_of,
)
from dragoman_hub.judge.risks import RiskAssessor
from dragoman_hub.judge.servers import permit_servers
from dragoman_hub.lending.lender import HubLender, LentWork
from dragoman_hub.session import events as ev
from dragoman_hub.session.frames import encode_json, object_of, value_of
from dragoman_hub.session.state import OpenRequest, PromptAnswer
from dragoman_local.workspace.policy.act import Act
from dragoman_local.workspace.policy.audit import AuditEntry, AuditLog
from dragoman_local.workspace.policy.permission_service import JudgedQuestion, PermissionService
from dragoman_local.workspace.policy.policy_parser import PolicyError
from dragoman_local.workspace.policy.tool_calls import ToolCalls
from dragoman_local.workspace.remote_access import PERMIT_METHOD
from dragoman_local.workspace.settings import TerminalSettings

log = logging.getLogger(__name__)

HAS_LARGE_ANSWER = frozenset({"fs/read_text_file", "terminal/output"})
"""Client methods whose answers may be large."""


class ApprovalBroker:
    """Connects agents' requests with the people and policies that can answer them."""

    def __init__(self, hub: ClientHub) -> None:
        self._hub = hub
        audit = AuditLog(hub.options.audit) if hub.options.audit else None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.denials = DenialBook(hub)
        self.judge = HubJudge(hub, file=hub.options.policy, audit=audit, on_line=self._on_line)
        self.attempts = AttemptLog(audit, self.judge.threads)
        self._lending = HubLender(
            guard=self.judge.guard,
            terminals=TerminalSettings(sandbox=hub.options.sandbox, secrets=hub.options.secrets),
        )
        self._terminals: set[tuple[str, str]] = set()  # sessions and terminals that we lend ourselves
        self._lenders: dict[tuple[str, int], ClientPort] = {}  # by session and request
        self._timers: dict[tuple[str, int], asyncio.TimerHandle] = {}
        self._holds: dict[tuple[str, int], HeldBytes] = {}  # for answers that clients make
        self._senders: dict[tuple[str, str], set[HubClient]] = {}  # by session and prompt, who waits for it
        self._risks = RiskAssessor(hub, on_late=self.on_assessment)

    async def aclose(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        await self._lending.aclose()
        await self._risks.aclose()
        await self.judge.aclose()

    def load_policy(self, file: str) -> str:
        """Load the current policy; return the reason if the old one stays."""
        try:
            self.judge.load(file)
        except PolicyError as error:
            return f"the policy stays as it was: {error}"
        return ""

    async def permit_servers(
        self, params: Mapping[str, Raw], *, agent: str, cwd: str, session: LiveSession | None = None
    ) -> None:
        """Raise the error for a request with an MCP server that is not permitted."""
        await permit_servers(self._hub, self.judge, params, agent=agent, cwd=cwd, session=session)

    # Requests come and go.

    def on_request(self, session: LiveSession, request: OpenRequest) -> None:
        """Called when the request is stored, before clients get it."""
        self._loop = asyncio.get_running_loop()
        seat = self._hub.pool.seats.get(session.state.agent)
        place = "" if seat is None else seat.spec.place
        if request.is_question or not (place or self._is_for_us(session, request)):
            self._hub.owner.start(self._judge_in_order(session, request))
        elif place and request.method != PERMIT_METHOD:
            why = f"Method not found: the files and terminals of this agent are on {place}"
            self._refuse(session, request, ErrorAnswer(METHOD_NOT_FOUND, why))
        else:
            self._lend_ourselves(session, request)

    async def _judge_in_order(self, session: LiveSession, request: OpenRequest) -> None:
        """Judge the requests of a session in the order in which the agent makes them."""
        async with self.judge.turnstile(session.id):
            if request.is_question:
                await self._judge(session, request)
                return
            lent = await self.judge.in_thread(self.judge.lent_question, session, request)
            if lent is None:
                self._hub.owner.start(self._give_to_client(session, request))
            elif lent[1].prompt is None:
                await self._lend(session, request, *lent)
            else:
                self._hub.owner.start(self._lend(session, request, *lent))

    async def _judge(self, session: LiveSession, request: OpenRequest) -> None:
        """Judge a question, and open it for people if they are to answer it."""
        if request.sequence not in session.state.requests:
            return
        try:
            event, question = await self.judge.in_thread(self._look, session, request, session.calls)
        except Exception:  # a mistake of ours must not leave the agent without an answer
            log.exception("session %s: %s cannot be judged", session.id, request.method)
            error = ErrorAnswer(INTERNAL_ERROR, "Internal error")
            event, question = _ended(request, by="hub", error=_members(error)), None
        if not event.outcome and self._nobody_knows_how(session, request):
            event = _ended(request, by="hub", outcome="cancelled", result=Raw(b'{"action":"cancel"}'))
        if question is not None:
            self.judge.open(session, request, question)
        if session.dispatch(event) != "done":  # it has ended meanwhile
            self.judge.on_end(session, request, outcome="cancelled", result=None)
        elif not event.outcome:
            self._open(session, session.state.requests[request.sequence])

    def _look(
        self, session: LiveSession, request: OpenRequest, calls: ToolCalls
    ) -> tuple[ev.RequestJudged, OpenQuestion | None]:
        """The outcome of a question, and the question for people. Called in a thread."""
        try:
            check_question(request)
        except ErrorAnswer as error:
            log.warning("session %s: %s is refused: %s", session.id, request.method, error.message)
            return _ended(request, by="hub", error=_members(error)), None
        question: OpenQuestion | None = None
        if request.method == PERMISSION and not request.is_own:
            verdict = self.judge.decide(session, request, calls)
            if isinstance(verdict, Raw):
                return _ended(request, by="policy", result=verdict), None
            question = verdict
            request = replace(request, shown_params=question.shown_params)
        prompt = self.judge.prompt_of(session, request) if question is None else question.prompt
        seconds = self._hub.options.expire
        how = refusal_of(request, cancel=self._hub.options.on_expiry == "cancel")
        return ev.RequestJudged(
            sequence=request.sequence,
            rule="" if question is None else question.rule,
            assessment=None if prompt is None or request.assessment else self._risks.look(prompt),
            act=None if prompt is None else Raw(encode_json(prompt.view)),
            shown_params=request.shown_params,
            expires=request.time + seconds if seconds > 0 else 0.0,
            expiry=Raw(how) if seconds > 0 else None,
        ), question

    def _open(self, session: LiveSession, request: OpenRequest) -> None:
        """Show a question to people: it is judged and in the audit log."""
        self._announce("asked", {"request": self.describe(session, request)}, session)
        prompt = self.judge.prompt_of(session, request)
        if request.assessment is None and prompt is not None:
            self._hub.owner.start(self._risks.look_longer(session, request, prompt))

    def _nobody_knows_how(self, session: LiveSession, request: OpenRequest) -> bool:
        """Whether people are there, and none of their clients can show a form. When nobody is there, somebody
        may come.
        """
        if request.method == PERMISSION:
            return False
        clients = [follower.client for follower in session.followers]
        able = any(client.can_answer(request) or client.events for client in clients)
        is_watched = any(client.watches and client.grant.may("approve") for client in self._hub.clients)
        return bool(clients) and not (able or is_watched)

    def on_assessment(self, session: LiveSession, request: OpenRequest) -> None:
        """Handle risks that the reviewer's rules found after the question was shown."""
        members = {"sessionId": session.id, "request": str(request.sequence), **(request.assessment or {})}
        self._announce("judged", members, session)

    def on_settled(self, session: LiveSession, request: OpenRequest, outcome: str) -> None:
        self._lenders.pop((session.id, request.sequence), None)
        if timer := self._timers.pop((session.id, request.sequence), None):
            timer.cancel()
        self._free(session.id, request.sequence)
        self.judge.on_settled(session, request)
        if request.is_question:
            members = {"sessionId": session.id, "request": str(request.sequence), "outcome": outcome}
            self._announce("settled", members, session)

    def on_recovery(self, session: LiveSession) -> None:
        """Handle a session that was opened after a crash, with its agent's earlier requests."""
        _refuse_redacted(session)
        undecided_ids = {about_of(request) for request in session.state.requests.values() if request.is_own}
        for request in list(session.state.requests.values()):
            if request.is_own:
                session.settle(request.sequence, outcome="cancelled", by="hub")
            elif (
                request.is_question  # whoever saw it may see it again once it is judged again
                or request.sequence in undecided_ids  # nobody had permitted it
                or not self._is_for_us(session, request)  # a client has it to do
            ):
                self.on_request(session, request)
            else:
                self._lend_after_crash(session, request)

    def _lend_after_crash(self, session: LiveSession, request: OpenRequest) -> None:
        if request.method in ("fs/write_text_file", "terminal/create"):
            why = "Internal error: the hub was restarted meanwhile and does not know whether it has done this"
            self._refuse(session, request, ErrorAnswer(INTERNAL_ERROR, why))
        else:
            self._lend_ourselves(session, request)

    def _on_line(self, act: Act, line: AuditEntry) -> None:
        """A line of the audit log is written. Called in a thread."""
        if line.remedy and line.outcome == "deny" and self._loop is not None:
            self._loop.call_soon_threadsafe(self._tell_denial, act, line)

    def _tell_denial(self, act: Act, line: AuditEntry) -> None:
        if (told := self.denials.add(act, line)) is not None:
            session, shown = told
            self._announce("denied", shown, session)

    async def denied(self, client: HubClient) -> list[JsonObject]:
        return [_for_grant(client.grant, shown) for shown in await self.denials.latest(client)]

    def inbox(self, client: HubClient) -> list[JsonObject]:
        questions = [
            _for_grant(client.grant, self.describe(session, request))
            for session in self._hub.sessions.values()
            if reaches(client.grant, session.state)
            for request in session.state.questions
        ]
        return sorted(questions, key=lambda question: question["askedAt"])

    def describe(self, session: LiveSession, request: OpenRequest) -> JsonObject:
        more = {"expiresAt": request.expires, "rule": request.rule}
        if session.state.parent:
            more |= {"parent": session.state.parent, "requester": self._hub.children.requester(session)}
        return {
            "sessionId": session.id,
            "request": str(request.sequence),
            "method": request.method,
            "params": request.shown,
            "askedAt": request.time,
            "agent": session.state.agent,
            "title": session.title,
            **{name: value for name, value in more.items() if value},
            **request.judgement,
        }

    def _announce(self, what: str, members: JsonObject, session: LiveSession) -> None:
        blocks: dict[bool, bytes] = {}  # by whether it may observe
        for client in self._hub.clients:
            if client.watches and reaches(client.grant, session.state):
                is_observer = client.grant.may("observe")
                if is_observer not in blocks:
                    blocks[is_observer] = notification(
                        f"_dragoman/hub/{what}", encode_json(_for_grant(client.grant, members))
                    )
                client.tell(blocks[is_observer])

    # Files and terminals.

    async def _lend(
        self, session: LiveSession, request: OpenRequest, desk: PermissionService, question: JudgedQuestion
    ) -> None:
        """Let a client do what its agent wants of it, if it is permitted."""
        try:
            await desk.require(question)
        except ErrorAnswer as error:
            self._refuse(session, request, error)
        else:
            self._hub.owner.start(self._give_to_client(session, request))

    def _is_for_us(self, session: LiveSession, request: OpenRequest) -> bool:
        """Whether the hub provides the requested file or terminal, and not a client."""
        terminal, turn = value_of(object_of(request.params).get("terminalId")), session.root.state.turn
        ours = isinstance(terminal, str) and (session.id, terminal) in self._terminals
        return ours or self._hub.options.files != "client" or turn is None or request.method not in turn.lends

    async def _give_to_client(self, session: LiveSession, request: OpenRequest) -> None:
        """Have it carried out by the client whose turn it is, when there is room for the answer."""
        if request.method in HAS_LARGE_ANSWER:
            self._holds[session.id, request.sequence] = await session.bounds.answers.take(WORK_BYTES)
        if request.sequence not in session.state.requests:
            self._free(session.id, request.sequence)
            return
        lender = next(
            (each.client for each in session.followers if self._has_turn(each.client, session)), None
        )
        if lender is None:  # it was cut off, and may come back; else its follower asks it
            self._wait_for_lender(session, request)
            return
        self._lenders[session.id, request.sequence] = lender
        # Its client was told of the stream up to here before it was the one to answer.
        if follower := session.follower_of(lender):
            follower.ask_again()

    def lender(self, session: LiveSession, sequence: int) -> ClientPort | None:
        """Return the client whose files or terminals a request needs."""
        return self._lenders.get((session.id, sequence))

    def _refuse(self, session: LiveSession, request: OpenRequest, error: ErrorAnswer) -> None:
        session.settle(request.sequence, outcome="answered", by="hub", error=_members(error))

    def _has_turn(self, client: ClientPort, session: LiveSession) -> bool:
        """Whether the turn that runs is this client's, sent with its token; a child works for the turn of
        another session.
        """
        session = session.root
        turn, follower = session.state.turn, session.follower_of(client)
        return (
            turn is not None
            and follower is not None
            and turn.by == client.grant.name
            and (turn.key in follower.own or (session.id, turn.key) in client.waiting)
        )

    def _lend_ourselves(self, session: LiveSession, request: OpenRequest) -> None:
        if self._lending.serves(request.method):
            self._hub.owner.start(
                self._lending.answer(
                    session, request, LentWork(session, request), on_terminal=self._terminals.add
                )
            )
            if session.process is not None:
                session.process.slow_down(session.bounds.lent)
        else:
            self._refuse(
                session,
                request,
                ErrorAnswer(METHOD_NOT_FOUND, "Method not found", {"method": request.method}),
            )

    # Clients come and go.

    def on_client_arrival(self, client: HubClient) -> None:
        """Handle a client that comes back: its latest connection counts, even if a node that was cut off
        brings an older one here later.
        """
        self._risks.warm_up()
        if not client.name:  # nobody can tell whether it was here before
            return
        who = (client.name, client.grant.name)
        same = [candidate for candidate in self._hub.clients if (candidate.name, candidate.grant.name) == who]
        for replaced in sorted(same, key=lambda each: each.since, reverse=True)[1:]:
            log.info("a client of %s has come back by another way", client.grant.name)
            if replaced.seat is not None:
                replaced.seat.on_replaced()
            replaced.on_end(None)

    def on_attach(self, client: HubClient, session: LiveSession) -> None:
        for request in session.state.requests.values():
            waits = (session.id, request.sequence) in self._timers
            if waits and request.method in client.lends() and self._has_turn(client, session):
                self._lenders[session.id, request.sequence] = client

    def on_detach(self, client: HubClient, session: LiveSession) -> None:
        for request in session.state.requests.values():
            if self.lender(session, request.sequence) is client:
                self._wait_for_lender(session, request)

    def _wait_for_lender(self, session: LiveSession, request: OpenRequest) -> None:
        key, later = (session.id, request.sequence), asyncio.get_running_loop().call_later
        if key not in self._timers:
            self._timers[key] = later(self._hub.options.lender_grace, self._lender_is_gone, session, request)

    def _lender_is_gone(self, session: LiveSession, request: OpenRequest) -> None:
        self._timers.pop((session.id, request.sequence), None)
        lender = self.lender(session, request.sequence)
        is_there = lender is not None and session.follower_of(lender) is not None
        if is_there or request.sequence not in session.state.requests:
            return
        if request.method == "fs/read_text_file":
            self._free(session.id, request.sequence)
            self._lend_ourselves(session, request)
        else:  # it may have been done already: twice would be worse than not at all
            why = "Internal error: the client that provides this has disconnected"
            self._refuse(session, request, ErrorAnswer(INTERNAL_ERROR, why))

    def _free(self, session_id: str, sequence: int) -> None:
        if hold := self._holds.pop((session_id, sequence), None):
            hold.release()

    def terminal(self, session: LiveSession, terminal_id: str) -> JsonObject | None:
        """The output of a terminal that the hub provides."""
        return self._lending.output(session.id, terminal_id)

    def forget(self, session: LiveSession) -> None:
        self.judge.forget(session.id)
        self._lending.close(session.id)
        self._lenders = {key: lender for key, lender in self._lenders.items() if key[0] != session.id}
        self._terminals = {key for key in self._terminals if key[0] != session.id}
        self._holds = {key: hold for key, hold in self._holds.items() if key[0] != session.id}
        self._senders = {key: senders for key, senders in self._senders.items() if key[0] != session.id}

    def on_prompt_sent(self, client: HubClient, session_id: str, key: str) -> None:
        """Note that a client waits for the end of this prompt."""
        self._senders.setdefault((session_id, key), set()).add(client)

    def _take_senders(self, session_id: str, key: str) -> list[HubClient]:
        """Clients that still wait for a prompt that has ended."""
        return [client for client in self._senders.pop((session_id, key), ()) if client in self._hub.clients]

    def refuse_prompt(self, session_id: str, key: str, error: Any) -> None:
        """Tell the waiter that its prompt was not accepted."""
        for client in self._take_senders(session_id, key):
            for request_id in client.waiting.pop((session_id, key), ()):
                client.tell(failure(request_id, error))

    def answer_detached(self, session_id: str, key: str, answer: PromptAnswer | None) -> None:
        """Send a client that no longer follows the session only the end of its prompt."""
        for client in self._take_senders(session_id, key):
            if session_id not in client.followers:
                for request_id in client.waiting.pop((session_id, key), ()):
                    if answer is not None:
                        client.send(answer.to(request_id, usage=client.usage))

    def on_failed_append(self, session: LiveSession) -> None:
        """Refuse further work of an agent whose messages can't be stored."""
        process, turn = session.process, session.state.turn
        if process is not None and turn is not None and turn.sequence <= session.log.last:
            own = process.own_ids.get(session.id, session.id)
            process.notify("session/cancel", encode_json({"sessionId": own}))

    def erase(self, session_id: str) -> None:
        self._lending.erase(session_id)


def _members(error: ErrorAnswer) -> JsonObject:
    return {"code": error.code, "message": error.message, "data": error.data}


def _ended(request: OpenRequest, *, by: str, outcome: str = "answered", **answer: Any) -> ev.RequestJudged:
    """A question that people need not see; `answer` is a result or an error."""
    return ev.RequestJudged(sequence=request.sequence, outcome=outcome, by=by, **answer)


def _refuse_redacted(session: LiveSession) -> None:
    """End the requests of which only the redacted form is left."""
    for request in [each for each in session.state.requests.values() if not each.is_whole]:
        log.warning("session %s: request %d: %s", session.id, request.sequence, REDACTED_REQUEST)
        error = {"code": INTERNAL_ERROR, "message": f"Internal error: {REDACTED_REQUEST}"}
        result = Raw(refusal_of(request, cancel=True))
        answer = {"result": result} if request.is_question else {"error": error}
        session.settle(request.sequence, outcome="cancelled", by="hub", reason=REDACTED_REQUEST, **answer)


def _for_grant(grant: Grant, question: JsonObject) -> JsonObject:
    """The question for a token: one that may only approve does not get the session's title."""
    return {
        name: _for_grant(grant, value) if isinstance(value, dict) else value
        for name, value in question.items()
        if name != "title" or grant.may("observe")
    }
