"""Notifies devices that a session needs a person, or that its turn has ended while no client has it open.

A message says which session, which kind of event, and a sentence of ours: no title, no path, nothing that an
agent or a person wrote. Where a device wants buttons and its token may approve, it has tickets to answer with
(`answers`). A device hears what its token may see when the message is sent: one whose token was
revoked hears nothing. A service that says that a subscription is gone
(404, 410) ends it; one that is busy (429, 5xx) or cannot be reached is asked again a few times. What waits to
be sent is bounded, and what is too much is dropped: the page shows everything anyway.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, NamedTuple, Protocol, TypeAlias

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from dragoman.decoders import decode_json
from dragoman.errors import LocalMistake
from dragoman.runtime.owner import TaskOwner
from dragoman.wire.codes import AUTH_REQUIRED
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.engine.log import STORE_SECONDS
from dragoman_hub.engine.session_reach import look_and_reach, reaches
from dragoman_hub.gate.admission import Grant
from dragoman_hub.push.answers import PERMISSION, AnswerTicket, AnswerTickets, options_of, sentence_of
from dragoman_hub.push.endpoints import BadEndpoint, PushAnswer, parse_endpoint, post, resolve
from dragoman_hub.push.subscriptions import PushSubscription, SubscriptionStore
from dragoman_hub.session.frames import encode_json
from dragoman_hub.session.state import OpenRequest, PromptAnswer, SessionState

log = logging.getLogger(__name__)

PushKind: TypeAlias = Literal["permission", "question", "login", "ended", "failed"]

SENTENCES: Mapping[PushKind, str] = {
    "permission": "An agent waits for your permission.",
    "question": "An agent has a question for you.",
    "login": "A turn has failed: the agent may need a login.",
    "ended": "An agent has finished its turn.",
    "failed": "A turn has failed.",
}
QUESTION_KINDS: Mapping[str, PushKind] = {
    "session/request_permission": "permission",
    "elicitation/create": "question",
}
URGENT = frozenset({"permission", "question"})

RULES_PAUSE = 0.1
"""The seconds between two checks of a question that waits for the reviewer's rules."""

LIFETIME = 12 * 3600
"""The seconds for which a service keeps a message for a device that is switched off."""

LONGEST_PAUSE = 300.0
"""The longest pause that a service may ask for."""

MOST_WAITING = 256
"""The most messages in transit, to all devices together."""

AT_ONCE = 8


class PushKey(Protocol):
    """The key of the hub (`encryption.VapidKey`)."""

    public: str

    def authorization(self, endpoint: str) -> str: ...

    def encrypt(self, message: bytes, *, p256dh: str, auth: str) -> bytes: ...

    def check_keys(self, p256dh: str, auth: str) -> None: ...


class PushPaces(NamedTuple):
    """The waiting times of notifications."""

    ask: float = 2.0
    """The seconds in which a person at a screen, or a rule, may answer before devices are notified."""
    rules: float = 2.0
    """The further seconds that a question waits for the reviewer's rules, if a device has buttons."""
    tries: tuple[float, ...] = (2.0, 10.0, 60.0)
    """The seconds before each further try."""


PACES = PushPaces()


class PushMessage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The contents of a notification. A device asks the hub for everything else."""

    session: str
    kind: PushKind
    text: str
    about: str
    """The id of the event in the session, so that the same one is shown once."""
    allow: str = ""
    """The ticket of the button that allows; empty if there is none."""
    reject: str = ""


class PushedAnswer(Struct, frozen=True):
    """An answer from a button of a notification."""

    ticket: AnswerTicket
    session: LiveSession
    by: str
    """The name of the device's token."""

    async def settle(self) -> bool:
        """Settle the question; return whether it was the first answer to one that still has buttons, after it
        is stored.
        """
        request = self.session.state.visible_request(self.ticket.request)
        if request is None or self.ticket.option not in options_of(request).values():
            return False
        if (
            request.time != self.ticket.asked_at
        ):  # the session was deleted, loaded again, and asks something else
            return False
        outcome = {"outcome": {"outcome": "selected", "optionId": self.ticket.option}}
        result = Raw(encode_json(outcome))
        is_settled = await self.session.answer(request.sequence, by=self.by, result=result)
        if is_settled:
            await self.session.log.flush(STORE_SECONDS)
            log.info("push: %s answered in session %s from a notification", self.by, self.session.id)
        else:
            why = "the question was already answered"
            self.session.hub.broker.attempts.write_refusal(
                PERMISSION, why, person=self.by, session=self.session
            )
        return is_settled


class _SessionGlance(Struct):
    """The last known state of a session."""

    turn: str = ""
    questions: frozenset[int] = frozenset()


class PushNotifier:
    """Follows all sessions of a hub and sends notifications. The caller of the hub owns it."""

    def __init__(
        self,
        store: SubscriptionStore,
        key: PushKey,
        *,
        grant_of: Callable[[str], Grant | None],
        may_be_private: bool = False,
        paces: PushPaces = PACES,
        send: Callable[..., Awaitable[PushAnswer]] = post,
    ) -> None:
        self.store = store
        self.key = key
        self._grant_of = grant_of
        self._may_be_private = may_be_private
        self._paces = paces
        self._send = send
        self.tickets = AnswerTickets()
        self._owner = TaskOwner("push")
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._progress: dict[str, _SessionGlance] = {}

    async def aclose(self) -> None:
        await self._owner.aclose()

    # Devices.

    async def subscribe(
        self, grant: Grant, *, endpoint: str, p256dh: str, auth: str, answers: bool = False
    ) -> PushSubscription:
        """Add a subscription. `answers` is whether the device shows buttons. Raises `LocalMistake` for an
        invalid one, or an address to which the hub does not send.
        """
        try:
            self.key.check_keys(p256dh, auth)
        except ValueError:
            raise LocalMistake("the keys are not keys of a push subscription") from None
        try:
            place = parse_endpoint(endpoint, may_be_private=self._may_be_private)
            await resolve(place, may_be_private=self._may_be_private)
        except BadEndpoint as error:
            raise LocalMistake(str(error)) from None
        except OSError as error:
            raise LocalMistake(f"the push service cannot be found from the hub: {error}") from None
        subscription = PushSubscription(
            endpoint=endpoint,
            p256dh=p256dh,
            auth=auth,
            owner=grant.name,
            token=grant.token,
            created=time.time(),
            answers=answers,
        )
        self.store.add(subscription)
        log.info("push: the token %s subscribed as %s, at %s", grant.name, subscription.id, place.host)
        return subscription

    def unsubscribe(self, grant: Grant, endpoint: str) -> bool:
        """Remove a subscription of this token, or any for an administrator; return whether there was one."""
        subscription = self.store.find(endpoint)
        if subscription is None or not (subscription.owner == grant.name or grant.may("admin")):
            return False
        return self.store.remove(endpoint)

    # Sessions.

    def on_change(self, session: LiveSession) -> None:
        """Called whenever a session may have changed. Cheap without subscriptions."""
        if not len(self.store):
            self._progress.clear()
            return
        state = session.state
        before = self._progress.get(session.id) or _SessionGlance()
        questions = frozenset(request.sequence for request in state.questions)
        for number in sorted(questions - before.questions):
            self._owner.start(self._ask(session, number))
        turn = state.current.key if state.current is not None else ""
        is_busy = bool(turn or state.queue or state.requests)
        if before.turn and not is_busy:
            self._on_turn_end(session, before.turn)
        if is_busy:
            self._progress[session.id] = _SessionGlance(turn or before.turn, questions)
        else:
            self._progress.pop(session.id, None)

    async def _ask(self, session: LiveSession, number: int) -> None:
        await asyncio.sleep(self._paces.ask)
        if any(subscription.answers for subscription in self.store):
            await _wait_for_rules(session, number, self._paces.rules)
        request = session.state.visible_request(number)
        if request is not None and request.is_question:
            kind = QUESTION_KINDS.get(request.method, "question")
            await self._tell(session, kind, about=str(number), request=request)

    def _on_turn_end(self, session: LiveSession, key: str) -> None:
        kind = kind_of_end(session.state, key)
        # A child's end is told by the turn that it works for. Who has the session open has seen it.
        if kind is not None and not session.state.parent and (kind == "login" or not session.followers):
            self._owner.start(self._tell(session, kind, about="end"))

    async def _tell(
        self, session: LiveSession, kind: PushKind, *, about: str, request: OpenRequest | None = None
    ) -> None:
        state = session.state
        message = PushMessage(
            session=state.parent or session.id, kind=kind, text=SENTENCES[kind], about=about
        )
        for subscription in list(self.store):
            grant = self._grant_of(subscription.token)
            if grant is not None:
                await grant.look_at(state.places)
            if grant is None:
                self._remove(subscription, "its token is no longer valid")
            elif not _may_hear(grant, kind) or not reaches(grant, state):
                continue
            elif len(self._owner) >= MOST_WAITING:
                log.warning("push: too many messages wait, so %s gets no message", subscription.id)
            else:
                tickets = self._issue_tickets(session, request, subscription, grant)
                self._owner.start(self._deliver(subscription, replace(message, **tickets)))

    # Answers.

    def _issue_tickets(
        self, session: LiveSession, request: OpenRequest | None, subscription: PushSubscription, grant: Grant
    ) -> dict[str, str]:
        """Further data of a message for a device that may answer."""
        if request is None or not subscription.answers or not grant.may("approve"):
            return {}
        tickets = {
            button: self.tickets.issue(
                session.id,
                request,
                option,
                endpoint=subscription.endpoint,
                token=subscription.token,
            )
            for button, option in options_of(request).items()
        }
        return {**tickets, "text": sentence_of(request)} if tickets else {}

    async def find_answer(
        self, secret: str, session_of: Callable[[str], LiveSession | None]
    ) -> PushedAnswer | None:
        """Return the answers that a ticket allows now; None if none are. This uses up the ticket."""
        ticket = self.tickets.redeem(secret)
        if ticket is None:
            return None
        subscription, grant = self.store.find(ticket.endpoint), self._grant_of(ticket.token)
        if subscription is None or subscription.token != ticket.token or not subscription.answers:
            return None
        session = session_of(ticket.session)
        if session is None or grant is None or not grant.may("approve"):
            return None
        if not await look_and_reach(grant, session.state):
            return None
        return PushedAnswer(ticket, session, grant.name)

    # Sending.

    async def _deliver(self, subscription: PushSubscription, message: PushMessage) -> None:
        for pause in (*self._paces.tries, None):
            try:
                async with self._slots:
                    answer = await self._post(subscription, message)
            except BadEndpoint as error:
                self._remove(subscription, str(error))
                return
            except (OSError, TimeoutError) as error:
                log.info("push: %s was not reached: %s", subscription.id, error)
                answer = PushAnswer(503)
            if 200 <= answer.status < 300:
                return
            if answer.status in (404, 410):
                self._remove(subscription, f"its service answered {answer.status}")
                return
            if answer.status != 429 and answer.status < 500:
                log.warning("push: the service of %s refused with %d", subscription.id, answer.status)
                return
            if pause is None:
                log.warning(
                    "push: this message for %s is dropped after %d tries", subscription.id, answer.status
                )
                return
            await asyncio.sleep(max(pause, min(answer.retry_after, LONGEST_PAUSE)))

    async def _post(self, subscription: PushSubscription, message: PushMessage) -> PushAnswer:
        # A newer message about the same event takes the place of one that was not delivered yet.
        topic = hashlib.sha256(f"{message.session}\0{message.about}".encode()).hexdigest()[:32]
        headers = {
            "TTL": str(LIFETIME),
            "Urgency": "high" if message.kind in URGENT else "normal",
            "Topic": topic,
            "Content-Type": "application/octet-stream",
            "Content-Encoding": "aes128gcm",
            "Authorization": self.key.authorization(subscription.endpoint),
        }
        data = msgspec.json.encode(message)
        body = self.key.encrypt(data, p256dh=subscription.p256dh, auth=subscription.auth)
        return await self._send(subscription.endpoint, body, headers, may_be_private=self._may_be_private)

    def _remove(self, subscription: PushSubscription, why: str) -> None:
        log.info("push: the subscription %s of %s is removed: %s", subscription.id, subscription.owner, why)
        try:
            self.store.remove(subscription.endpoint)
        except LocalMistake as error:
            log.error("push: %s", error)


async def _wait_for_rules(session: LiveSession, number: int, seconds: float) -> None:
    """Wait a while for the reviewer's rules: buttons depend on them."""
    for _ in range(int(seconds / RULES_PAUSE)):
        request = session.state.requests.get(number)
        if request is None or request.assessment is not None or request.method != PERMISSION:
            return
        await asyncio.sleep(RULES_PAUSE)


def kind_of_end(state: SessionState, key: str) -> PushKind | None:
    """Return how a turn has ended; None if a person stopped it, or if it is unknown."""
    answer = state.answers.get(key)
    if answer is None:
        return None
    if answer.is_error:
        return "login" if _code_of(answer) == AUTH_REQUIRED else "failed"
    return None if b'"cancelled"' in answer.content else "ended"


class _ErrorCode(Struct):
    code: int = 0


def _code_of(answer: PromptAnswer) -> int:
    try:
        return decode_json(answer.content, _ErrorCode).code
    except msgspec.MsgspecError:
        return 0


def _may_hear(grant: Grant, kind: PushKind) -> bool:
    """Whether a token may get this message: one that may only approve gets only questions."""
    return grant.may("observe") or (kind in URGENT and grant.may("approve"))
