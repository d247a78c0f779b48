"""`POST /pair`: a device without a token exchanges a pairing code for a token, once.

How it is read is in `json_post`. A page of another hub pairs here too, if its origin is one that may come.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from dragoman.decoders import decode_json
from dragoman.errors import LocalMistake
from dragoman.transport.http_asgi import Receive, Send, read_body, respond
from dragoman_hub.api.cors import allowances, is_preflight, share_with_page
from dragoman_hub.api.request_admission import ONCE, log_refusal
from dragoman_hub.api.server import admit
from dragoman_hub.gate.admission import Admission, AdmissionRefusal
from dragoman_hub.gate.pairing import Pairings

log = logging.getLogger(__name__)

PAIR = "/pair"

UNKNOWN = "The hub does not know this pairing code. Create a new code: dragoman hub pair"
TRY_LATER = "Too many wrong pairing codes came from this network. Wait a minute."


class _PairRequest(Struct, frozen=True):
    code: str
    device: str = ""


class PairingDoor:
    """The path as an ASGI application."""

    def __init__(
        self,
        admission: Admission,
        pairings: Pairings,
        *,
        on_refused: Callable[[int], None] = lambda status: None,
    ) -> None:
        self._admission = admission
        self._pairings = pairings
        self._on_refused = on_refused

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        if self._admission.check_address(headers) is None:
            if is_preflight(scope, headers):
                await respond(send, 204, b"", headers=allowances(headers))
                return
            send = share_with_page(send, headers)
        request = await read_post(self._admission, scope, receive, _PairRequest)
        if isinstance(request, AdmissionRefusal):
            await self._refuse(scope, send, request)
            return
        address, *_ = scope.get("client") or ("",)
        try:
            verdict = await self._pairings.exchange(request.code, device=request.device, address=address)
        except (LocalMistake, OSError) as error:
            log.error("the token of a device could not be stored: %s", error)
            verdict = AdmissionRefusal(
                503, "no token could be stored", reason="The hub could not store a token."
            )
        if isinstance(verdict, AdmissionRefusal):
            await self._refuse(scope, send, verdict)
            return
        admit(scope)
        await answer_json(send, 200, msgspec.to_builtins(verdict))

    async def _refuse(self, scope: Any, send: Send, refusal: AdmissionRefusal) -> None:
        self._on_refused(refusal.status)
        log_refusal(scope, refusal)
        reason = refusal.reason or {401: UNKNOWN, 429: TRY_LATER}.get(refusal.status, "")
        await refuse_json(send, refusal, reason)


# Reads a small JSON body from a sender that has a secret in the body instead of a token.
#
# The secret is in the body: addresses are logged by proxies, bodies are not. Only JSON is taken, which no
# form of another page can send, and only under a name of ours.

BODY = 2048
"""The most bytes of a request, for a secret and a few words."""

T = TypeVar("T")


async def read_post(
    admission: Admission, scope: Any, receive: Receive, kind: type[T]
) -> T | AdmissionRefusal:
    """Return the body of the request, or the reason for refusing it."""
    critical = [name for name, _ in scope["headers"] if name in ONCE]
    if len(critical) != len(set(critical)):
        return AdmissionRefusal(400, "a header appears twice")
    headers = dict(scope["headers"])
    refusal = admission.check_address(headers)
    if refusal is not None:
        return refusal
    path = scope["path"]
    if scope["method"] != "POST":
        return AdmissionRefusal(405, f"{path} accepts only POST")
    if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
        return AdmissionRefusal(415, f"{path} accepts only JSON")
    body = await read_body(headers, receive, BODY)
    if isinstance(body, int):
        return AdmissionRefusal(body, f"{path}: the body cannot be read")
    try:
        return decode_json(body, kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return AdmissionRefusal(400, f"{path}: a required header or parameter is missing")


async def answer_json(
    send: Send, status: int, value: object, *, headers: list[tuple[bytes, bytes]] | None = None
) -> None:
    """Send a JSON answer that must not be cached."""
    no_store = [(b"cache-control", b"no-store"), *(headers or [])]
    await respond(send, status, msgspec.json.encode(value), kind=b"application/json", headers=no_store)


async def refuse_json(send: Send, refusal: AdmissionRefusal, reason: str) -> None:
    """Send a refusal; `reason` is for the user."""
    headers = [(b"allow", b"POST")] if refusal.status == 405 else refusal.headers
    await answer_json(send, refusal.status, {"reason": reason}, headers=headers)
