"""`/metrics` and `/healthz`, as a server would call them."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman_hub.api.observability.asgi import ObservingPages
from dragoman_hub.gate.admission import Admission, Grant, Scope, hash_token, local_hosts

HOLDERS: dict[str, frozenset[Scope]] = {
    "watcher": frozenset({"observe"}),
    "boss": frozenset({"admin"}),
    "writer": frozenset({"prompt", "approve"}),
}


class Pages:
    def __init__(self) -> None:
        grants = {hash_token(name): Grant(name, scopes) for name, scopes in HOLDERS.items()}
        self.asked = 0
        self.draining = False
        self._app = ObservingPages(
            Admission(grants, hosts=local_hosts(8000)), self._metrics, draining=lambda: self.draining
        )

    async def _metrics(self) -> bytes:
        self.asked += 1
        return b"dragoman_info 1\n"

    async def get(
        self, path: str, *, token: str = "", method: str = "GET", host: str = "localhost:8000", **more: str
    ) -> tuple[int, dict[bytes, bytes], bytes]:
        headers = [(b"host", host.encode())]
        headers += [(b"authorization", f"Bearer {token}".encode())] if token else []
        headers += [(name.encode(), value.encode()) for name, value in more.items()]
        sent: list[Any] = []

        async def send(event: Any) -> None:
            sent.append(event)

        async def receive() -> Any:
            raise AssertionError("nothing of a body is needed")

        scope = {"type": "http", "path": path, "method": method, "headers": headers, "client": ("::1", 9)}
        await self._app(scope, receive, send)
        assert [event["type"] for event in sent] == ["http.response.start", "http.response.body"]
        return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]


@pytest.mark.parametrize("token", ["watcher", "boss"])
async def test_whoever_may_look_reads_metrics(token: str) -> None:
    status, headers, body = await Pages().get("/metrics", token=token)
    assert (status, body) == (200, b"dragoman_info 1\n")
    assert headers[b"content-type"].startswith(b"text/plain; version=0.0.4")
    assert headers[b"cache-control"] == b"no-store"


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({}, 401),
        ({"token": "stranger"}, 401),
        ({"token": "writer"}, 403),
        ({"token": "boss", "host": "evil.example"}, 421),
        ({"token": "boss", "origin": "https://evil.example"}, 403),
        ({"token": "boss", "method": "POST"}, 405),
        ({"token": "boss", "authorization": "Bearer stranger"}, 400),
    ],
)
async def test_nobody_else_does(given: dict[str, str], status: int) -> None:
    pages = Pages()
    found, headers, body = await pages.get("/metrics", **given)
    assert (found, body, pages.asked) == (status, b"", 0)
    assert (b"www-authenticate" in headers) == (status == 401)


async def test_health_is_for_everybody_and_says_one_word() -> None:
    pages = Pages()
    assert (await pages.get("/healthz", host="10.0.0.7:8000"))[::2] == (200, b"ok\n")
    pages.draining = True
    assert (await pages.get("/healthz"))[::2] == (503, b"draining\n")
    assert (await pages.get("/healthz", method="DELETE"))[0] == 405


async def test_a_head_has_no_body() -> None:
    status, headers, body = await Pages().get("/metrics", token="boss", method="HEAD")
    assert (status, headers[b"content-length"], body) == (200, b"16", b"")


async def test_there_is_nothing_else() -> None:
    assert (await Pages().get("/metrics/x", token="boss"))[0] == 404
