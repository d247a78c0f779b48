"""`POST /push/answer`: a service worker answers with the ticket of a notification's button, once.

`{"ticket"}` is answered with `{"settled"}`: true if it was the first answer, false if the question is no more
or has to be read on the page. A ticket that is not good is refused as a wrong token is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from dragoman.errors import JournalError
from dragoman.transport.http_asgi import Receive, Send
from dragoman_hub.api.pairing import answer_json, read_post, refuse_json
from dragoman_hub.api.request_admission import log_refusal
from dragoman_hub.api.server import admit
from dragoman_hub.clients.client import ClientHub
from dragoman_hub.gate.admission import Admission, AdmissionRefusal
from dragoman_hub.push.notifier import PushedAnswer, PushNotifier

log = logging.getLogger(__name__)

PUSH_ANSWER = "/push/answer"

NOT_GOOD = "This notification cannot be answered any more. Open the page."


class _AnswerRequest(Struct, frozen=True):
    ticket: str


class PushAnswerDoor:
    """The path as an ASGI application."""

    def __init__(self, admission: Admission, hub: ClientHub, *, on_refused: Callable[[int], None]) -> None:
        self._admission = admission
        self._hub = hub
        self._on_refused = on_refused

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        request = await read_post(self._admission, scope, receive, _AnswerRequest)
        found = request if isinstance(request, AdmissionRefusal) else await self._find(scope, request.ticket)
        if isinstance(found, AdmissionRefusal):
            self._on_refused(found.status)
            log_refusal(scope, found)
            await refuse_json(send, found, NOT_GOOD)
            return
        admit(scope)
        try:
            is_settled = await found.settle()
        except JournalError as error:
            log.error("push: an answer could not be stored: %s", error)
            is_settled = False
        await answer_json(send, 200, {"settled": is_settled})

    async def _find(self, scope: Any, ticket: str) -> PushedAnswer | AdmissionRefusal:
        address, *_ = scope.get("client") or ("",)
        push = self._hub.push
        found = None
        if isinstance(push, PushNotifier):
            found = await push.find_answer(ticket, self._hub.sessions.get)
        return found or self._admission.refuse_wrong("a ticket for an answer that is not good", address)
