"""`POST /pair`: a device without a token brings a pairing code, and gets a token for it, once.

The code is in the body: addresses are logged by proxies, bodies are not. Only JSON is taken, which no form
of another page can send, and only under a name of ours. A page of another hub pairs here too, if its origin is
one that may come.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from dragoman.decoders import decode_json
from dragoman.errors import LocalMistake
from dragoman.hub.api.admitted import ONCE, log_refusal
from dragoman.hub.api.cors import allowances, is_preflight, sharing
from dragoman.hub.api.server import admit
from dragoman.hub.gate.admission import Admission, AdmissionRefusal
from dragoman.hub.gate.pairing import Pairings
from dragoman.transport.http_asgi import Receive, Send, read_body, respond

log = logging.getLogger(__name__)

PAIR = "/pair"

BODY = 2048
"""Bytes of a request; a code and the name of a device have less."""

UNKNOWN = "The hub does not know this pairing code. It may have been started again since."
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
            send = sharing(send, headers)
        request = await self._read(scope, receive)
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
        await _answer(send, 200, msgspec.to_builtins(verdict))

    async def _read(self, scope: Any, receive: Receive) -> _PairRequest | AdmissionRefusal:
        critical = [name for name, _ in scope["headers"] if name in ONCE]
        if len(critical) != len(set(critical)):
            return AdmissionRefusal(400, "a header stands there twice")
        headers = dict(scope["headers"])
        refusal = self._admission.check_address(headers)
        if refusal is not None:
            return refusal
        if scope["method"] != "POST":
            return AdmissionRefusal(405, "a pairing by something else than POST")
        if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
            return AdmissionRefusal(415, "a pairing that is no JSON")
        body = await read_body(headers, receive, BODY)
        if isinstance(body, int):
            return AdmissionRefusal(body, "a pairing whose body cannot be read")
        try:
            return decode_json(body, _PairRequest)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return AdmissionRefusal(400, "a pairing without a code")

    async def _refuse(self, scope: Any, send: Send, refusal: AdmissionRefusal) -> None:
        self._on_refused(refusal.status)
        log_refusal(scope, refusal)
        reason = refusal.reason or {401: UNKNOWN, 429: TRY_LATER}.get(refusal.status, "")
        headers = [(b"allow", b"POST")] if refusal.status == 405 else refusal.headers
        await _answer(send, refusal.status, {"reason": reason}, headers=headers)


async def _answer(
    send: Send, status: int, value: object, *, headers: list[tuple[bytes, bytes]] | None = None
) -> None:
    no_store = [(b"cache-control", b"no-store"), *(headers or [])]
    await respond(send, status, msgspec.json.encode(value), kind=b"application/json", headers=no_store)
