"""What a browser asks for before the page can be used, when it has never been here."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.conftest import RunningHub, Visitor

pytestmark = pytest.mark.timeout(120)

MOST_REQUESTS = 10
"""With the WebSocket and the script that keeps the page."""
MOST_BYTES = 85_000
"""As they go over the wire, headers included."""


def test_the_first_load_asks_for_little_and_is_small(stranger: Visitor, hub: RunningHub) -> None:
    done: list[Any] = []
    others: list[str] = []
    stranger.context.on("page", lambda page: page.on("websocket", lambda socket: others.append(socket.url)))
    stranger.context.on("requestfinished", lambda request: done.append(request))
    stranger.context.on("serviceworker", lambda worker: others.append(worker.url))
    page = stranger.open(url=hub.direct)
    page.wait_for_load_state("networkidle")
    page.evaluate("() => navigator.serviceWorker?.ready.then(() => true)")
    shown = [request for request in done if request.service_worker is None]
    own = [request for request in shown if not request.response().from_service_worker]
    sizes = [request.sizes() for request in own]
    size = sum(size["responseBodySize"] + size["responseHeadersSize"] for size in sizes)
    asked = [*(request.url for request in own), *others]
    assert len(asked) <= MOST_REQUESTS, asked
    assert 50_000 < size < MOST_BYTES, [
        (request.url, size["responseBodySize"]) for request, size in zip(own, sizes, strict=True)
    ]
