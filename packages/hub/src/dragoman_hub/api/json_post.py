"""Reads a small JSON body from a sender that has a secret in the body instead of a token.

The secret is in the body: addresses are logged by proxies, bodies are not. Only JSON is taken, which no form
of another page can send, and only under a name of ours.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from dragoman.decoders import decode_json
from dragoman.transport.http_asgi import Receive, Send, read_body, respond
from dragoman_hub.api.request_admission import ONCE
from dragoman_hub.gate.admission import Admission, AdmissionRefusal

BODY = 2048
"""Bytes of a request; a secret and a few words have less."""

T = TypeVar("T")


async def read_post(
    admission: Admission, scope: Any, receive: Receive, kind: type[T]
) -> T | AdmissionRefusal:
    """The body of the request, or the reason why it is refused."""
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
