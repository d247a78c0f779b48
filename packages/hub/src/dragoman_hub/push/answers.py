"""Answers from a notification: a ticket works for one answer to one question, from one device.

A service worker has no token, so the message that it shows brings a ticket for each button: good once, for
minutes, for the subscription that it was sent to. Using one ends the others of the same question and device.
Only hashes are kept, in memory: a hub that is started again knows none. A question gets tickets only where
the page would have an answer ready too: all of it was judged, and the reviewer's rules found nothing grave.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from dragoman_hub.gate.admission import hash_token, new_token
from dragoman_hub.session.frames import object_of, value_of
from dragoman_hub.session.state import OpenRequest

PERMISSION = "session/request_permission"

SECONDS = 600.0
MOST = 1024
"""The most known tickets; the oldest are dropped."""

BUTTONS: Mapping[str, str] = {"allow_once": "allow", "reject_once": "reject"}
"""The label of a button, by the kind of its option. Options for always have no button."""

GRAVE = frozenset({"critical", "high"})


class AnswerTicket(Struct, frozen=True, kw_only=True):
    """Permission to give one answer."""

    session: str
    request: int
    asked_at: float
    option: str
    endpoint: str
    """The subscription of its recipient."""
    token: str
    """The token of the subscription: see `Grant.token`."""
    until: float

    @property
    def question(self) -> tuple[str, int, str]:
        return self.session, self.request, self.endpoint


class AnswerTickets:
    """All tickets of one hub."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tickets: dict[str, AnswerTicket] = {}

    def issue(self, session: str, request: OpenRequest, option: str, *, endpoint: str, token: str) -> str:
        now = self._clock()
        self._tickets = {digest: ticket for digest, ticket in self._tickets.items() if ticket.until > now}
        while len(self._tickets) >= MOST:
            del self._tickets[next(iter(self._tickets))]
        secret = new_token()
        self._tickets[hash_token(secret)] = AnswerTicket(
            session=session,
            request=request.sequence,
            asked_at=request.time,
            option=option,
            endpoint=endpoint,
            token=token,
            until=now + SECONDS,
        )
        return secret

    def redeem(self, secret: str) -> AnswerTicket | None:
        """Return the ticket and use it up, with all others of its question and device."""
        used = self._tickets.get(hash_token(secret))
        if used is None:
            return None
        self._tickets = {
            digest: ticket for digest, ticket in self._tickets.items() if ticket.question != used.question
        }
        return used if self._clock() < used.until else None


def options_of(request: OpenRequest) -> dict[str, str]:
    """Return the options for buttons; none for a question that must be read on the page."""
    if request.method != PERMISSION or request.assessment is None or "risksNote" in request.assessment:
        return {}
    risks, act = value_of(request.assessment.get("risks")), value_of(request.act, {})
    if act.get("unknownTexts") or act.get("command") == "":  # nobody could judge that
        return {}
    if not isinstance(risks, list) or any(_severity(risk) in GRAVE for risk in risks):
        return {}
    options = value_of(object_of(request.params).get("options"))
    found: dict[str, str] = {}
    for option in options if isinstance(options, list) else []:
        button = BUTTONS.get(str(option.get("kind"))) if isinstance(option, dict) else None
        if button is not None and isinstance(option.get("optionId"), str):
            found.setdefault(button, option["optionId"])
    return found if "allow" in found else {}


def _severity(risk: Any) -> str:
    return str(risk.get("severity")) if isinstance(risk, dict) else "critical"


def sentence_of(request: OpenRequest) -> str:
    """Return the question as a sentence of the hub, without the agent's text."""
    return f"An agent asks to {value_of(request.act, {}).get('deed', 'use a tool')}."
