"""Requests reach an application after they were admitted, and in no other way."""

from __future__ import annotations

from typing import Any

from dragoman_hub.api.request_admission import AdmittedRequests
from dragoman_hub.gate.admission import Admission, Grant, hash_token

GRANT = Grant("somebody")
GOOD = [(b"host", b"here:1"), (b"authorization", b"Bearer token")]


async def answer(kind: str, headers: list[tuple[bytes, bytes]]) -> tuple[list[Any], list[Any]]:
    """What is sent for a request, and what the application got."""
    sent: list[Any] = []
    grants: list[Any] = []

    async def receive() -> Any:
        return {"type": f"{kind}.connect"}

    async def send(event: Any) -> None:
        sent.append(event)

    async def handle(scope: Any, receive: Any, send: Any, grant: Grant) -> None:
        grants.append(grant)

    admission = Admission({hash_token("token"): GRANT}, hosts=["here:1"])
    app = AdmittedRequests(admission, handle, refusal_body=lambda status: b'{"status": %d}' % status)
    await app({"type": kind, "method": "POST", "path": "/", "headers": headers}, receive, send)
    return sent, grants


async def test_an_application_gets_admitted_requests_with_their_grant() -> None:
    assert await answer("http", GOOD) == ([], [GRANT])


async def test_who_is_refused_gets_the_body_of_the_status() -> None:
    for headers, status in (
        (GOOD[:1], 401),
        ([(b"host", b"elsewhere"), GOOD[1]], 421),
        ([*GOOD, (b"origin", b"https://evil.example")], 403),
        ([*GOOD, GOOD[1]], 400),
    ):
        sent, grants = await answer("http", headers)
        assert not grants
        assert sent[0]["status"] == status
        assert sent[1]["body"] == b'{"status": %d}' % status


async def test_there_are_no_websockets() -> None:
    assert await answer("websocket", GOOD) == ([{"type": "websocket.close"}], [])
