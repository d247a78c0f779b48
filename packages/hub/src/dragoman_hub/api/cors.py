"""Answers a browser's CORS requests: whether a page of another origin may read our answers.

Only pages that may come at all get this far: `Admission` has looked at their origin. A browser asks first
(`OPTIONS`), without a token, and is told what such a page may send; answers then carry the page's origin.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Send = Callable[[Any], Awaitable[None]]

METHODS = b"GET, POST, DELETE"
SENT = b"authorization, content-type, acp-connection-id, acp-session-id, acp-protocol-version, last-event-id"
READ = b"acp-connection-id"
SECONDS = b"600"


def is_preflight(scope: Any, headers: Mapping[bytes, bytes]) -> bool:
    """Whether this is a browser's preflight, not the request itself."""
    has_headers = b"origin" in headers and b"access-control-request-method" in headers
    return scope["method"] == "OPTIONS" and has_headers


def allowances(headers: Mapping[bytes, bytes], *, names: bytes = SENT) -> list[tuple[bytes, bytes]]:
    """Return the answer to a preflight; `names` are the headers that a page may send."""
    return [
        *_shared_with(headers[b"origin"]),
        (b"access-control-allow-methods", METHODS),
        (b"access-control-allow-headers", names),
        (b"access-control-max-age", SECONDS),
    ]


def share_with_page(send: Send, headers: Mapping[bytes, bytes], *, names: bytes = READ) -> Send:
    """Return a `send` that adds headers, so that the requesting page may read the answers, with the headers
    in `names`.
    """
    origin = headers.get(b"origin")
    if origin is None:
        return send
    more = [*_shared_with(origin), (b"access-control-expose-headers", names)]

    async def send_shared(event: Any) -> None:
        if event["type"] == "http.response.start":
            event = {**event, "headers": [*event.get("headers", ()), *more]}
        await send(event)

    return send_shared


def _shared_with(origin: bytes) -> list[tuple[bytes, bytes]]:
    return [(b"access-control-allow-origin", origin), (b"vary", b"origin")]
