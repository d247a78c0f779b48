"""`/metrics` and `/healthz` as a small ASGI application.

Metrics name agents and tokens' owners, so whoever reads them needs a token with the scope `observe` or
`admin`. Health is for load balancers and supervisors, which have no token and ask under any name: it says
`ok` or `draining`, and nothing that could be worth asking for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from dragoman.transport.http_asgi import Receive, Send, respond
from dragoman_hub.api.observability.hub_meters import CONTENT_TYPE
from dragoman_hub.gate.admission import AdmissionRefusal, Grant

METRICS = "/metrics"
HEALTH = "/healthz"
PATHS = frozenset({METRICS, HEALTH})

READERS = frozenset({"observe", "admin"})

ONCE = frozenset({b"host", b"origin", b"authorization"})
"""Headers that must not appear twice: a proxy in front of us may have read the other one."""


class Admits(Protocol):
    """The interface of `Admission` that this module needs."""

    def admit(self, headers: dict[bytes, bytes], /, *, address: str = "") -> Grant | AdmissionRefusal: ...


class ObservingPages:
    """Serves both paths; everything else is not found."""

    def __init__(
        self,
        admission: Admits,
        metrics: Callable[[], Awaitable[bytes]],
        *,
        draining: Callable[[], bool],
    ) -> None:
        self._admission = admission
        self._metrics = metrics
        self._draining = draining

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        path, method = scope["path"], scope["method"]
        if path not in PATHS:
            await _say(send, 404, method)
        elif method not in ("GET", "HEAD"):
            await _say(send, 405, method, headers=[(b"allow", b"GET, HEAD")])
        elif path == HEALTH:
            draining = self._draining()
            await _say(send, 503 if draining else 200, method, b"draining\n" if draining else b"ok\n")
        else:
            await self._tell(scope, send)

    async def _tell(self, scope: Any, send: Send) -> None:
        method = scope["method"]
        verdict = self._admit(scope)
        if isinstance(verdict, AdmissionRefusal):
            await _say(send, verdict.status, method, headers=verdict.headers)
        elif not verdict.scopes & READERS:
            await _say(send, 403, method)
        else:
            await _say(send, 200, method, await self._metrics(), kind=CONTENT_TYPE)

    def _admit(self, scope: Any) -> Grant | AdmissionRefusal:
        critical = [name for name, _ in scope["headers"] if name in ONCE]
        if len(critical) != len(set(critical)):
            return AdmissionRefusal(400, "a header appears twice")
        address = (scope.get("client") or ("",))[0]
        return self._admission.admit(dict(scope["headers"]), address=address)


async def _say(
    send: Send,
    status: int,
    method: str,
    body: bytes = b"",
    *,
    kind: bytes = b"text/plain; charset=utf-8",
    headers: list[tuple[bytes, bytes]] | None = None,
) -> None:
    unkept = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"), *(headers or [])]
    if method == "HEAD":
        answer_headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), *unkept]
        await send({"type": "http.response.start", "status": status, "headers": answer_headers})
        await send({"type": "http.response.body", "body": b""})
    else:
        await respond(send, status, body, kind=kind, headers=unkept)
