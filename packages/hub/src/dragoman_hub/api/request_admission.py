"""Checks that a request is authorised, for every application behind a listener.

Everybody is admitted or refused by the headers, before anything else of the request is read.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from dragoman.transport.http_asgi import Receive, Send, respond
from dragoman_hub.api.cors import allowances, is_preflight, share_with_page
from dragoman_hub.api.server import admit
from dragoman_hub.gate.admission import Admission, AdmissionRefusal, Grant

log = logging.getLogger(__name__)

AdmittedHandler = Callable[[Any, Receive, Send, Grant], Awaitable[None]]
"""Handles the scope of a request, with the permissions of its sender."""

ONCE = frozenset(
    {b"host", b"origin", b"authorization", b"acp-connection-id", b"acp-session-id", b"mcp-session-id"}
)
"""Headers that must not appear twice: a proxy in front of us may have read the other one."""


def admit_request(admission: Admission, scope: Any, *, ticket: str = "") -> Grant | AdmissionRefusal:
    """Return the permissions of a request's sender, or the reason to refuse it."""
    critical = [name for name, _ in scope["headers"] if name in ONCE]
    if len(critical) != len(set(critical)):
        return AdmissionRefusal(400, "a header appears twice")
    address, *_ = scope.get("client") or ("",)
    verdict = admission.admit(dict(scope["headers"]), ticket=ticket, address=address)
    if isinstance(verdict, Grant):
        admit(scope)
    return verdict


def log_refusal(scope: Any, refusal: AdmissionRefusal) -> None:
    # Whoever was told to wait and does not shall not fill the log.
    level = logging.DEBUG if refusal.status == 429 else logging.WARNING
    log.log(level, "refused %s: %s", scope.get("client"), refusal.why)


class AdmittedRequests:
    """An ASGI application for requests over HTTP; `handle` gets the admitted ones."""

    def __init__(
        self,
        admission: Admission,
        handle: AdmittedHandler,
        *,
        refusal_body: Callable[[int], bytes],
        readable_headers: bytes = b"x-should-retry",
    ) -> None:
        """`refusal_body` returns the JSON for the status of a refusal; `readable_headers` are those of our
        answers that a page may read.
        """
        self._admission = admission
        self._handle = handle
        self._refusal_body = refusal_body
        self._readable_headers = readable_headers

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()  # the handshake, which must be taken before it is answered
            await send({"type": "websocket.close"})
        elif scope["type"] == "http":
            await self._request(scope, receive, send)

    async def _request(self, scope: Any, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        if is_preflight(scope, headers) and self._admission.check_address(headers) is None:
            # A page that may come may send what it likes: the official clients have headers of their own.
            names = headers.get(b"access-control-request-headers", b"authorization, content-type")
            await respond(send, 204, b"", headers=allowances(headers, names=names))
            return
        verdict = admit_request(self._admission, scope)
        if isinstance(verdict, AdmissionRefusal):
            log_refusal(scope, verdict)
            body = self._refusal_body(verdict.status)
            await respond(send, verdict.status, body, kind=b"application/json", headers=verdict.headers)
            return
        await self._handle(
            scope, receive, share_with_page(send, headers, names=self._readable_headers), verdict
        )
