"""Clients with a token that say nothing, or leave without a word: others get in."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from dragoman.transport import http_asgi, http_server
from dragoman.transport.http_asgi import read_body
from dragoman_hub.api import endpoint
from dragoman_hub.api.observability.observer import Observer
from dragoman_hub.gate.admission import Admission
from tests.hub.faults.hub_stage import HubStage
from tests.hub.faults.stage import Stage, staged, until
from tests.hub.faults.talk import INITIALIZE, NEW, connection, socket


class SmallHub(HubStage):
    """Takes three clients."""

    connections = 3


async def abandon(stage: Stage, count: int) -> None:
    """Open connections over HTTP, and leave without deleting them."""
    for _ in range(count):
        async with connection(stage, initialized=False) as one:
            assert (await one.post(INITIALIZE)).status_code == 200


async def test_an_abandoned_http_connection_makes_room_for_a_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "ABANDONED", 0.0)
    with staged(SmallHub) as stage:
        await abandon(stage, 3)
        async with socket(stage) as owner:
            assert "result" in await owner.call(NEW)
            await until(lambda: stage.running == 3)


async def test_a_connection_that_is_read_from_is_not_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "ABANDONED", 0.0)
    with staged(SmallHub) as stage:
        async with connection(stage) as reader, reader.events() as events:
            await abandon(stage, 8)
            await until(lambda: stage.running == 3)
            assert (await reader.post(NEW)).status_code == 202
            assert "result" in await anext(events)


async def test_a_connection_that_was_just_used_is_not_abandoned() -> None:
    with staged(SmallHub) as stage:
        async with AsyncExitStack() as stack:
            for _ in range(3):
                used = await stack.enter_async_context(connection(stage))
                assert (await used.post(NEW)).status_code == 202
            late = await stack.enter_async_context(connection(stage, initialized=False))
            refusal = await late.post(INITIALIZE, authorization=f"Bearer {stage.narrow_token}")
            assert refusal.status_code == 503


async def test_a_connection_that_nobody_came_back_for_goes_first_however_young_it_is() -> None:
    with staged(SmallHub) as stage:
        async with connection(stage) as used:
            assert (await used.post(NEW)).status_code == 202
            await abandon(stage, 8)
            assert (await used.post(NEW)).status_code == 202


async def test_of_too_many_websockets_that_say_nothing_the_oldest_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(endpoint, "SILENT", 3)
    with staged(Stage) as stage:
        async with AsyncExitStack() as stack:
            silent = [await stack.enter_async_context(socket(stage, initialized=False)) for _ in range(4)]
            assert await silent[0].closed() == 1008
            for one in silent[1:]:
                assert "result" in await one.call(INITIALIZE)


async def test_who_is_refused_is_counted_by_the_reason_that_the_alerts_name() -> None:
    observer = Observer()
    admission = Admission({}, hosts=["hub"])
    served = endpoint.AcpEndpoint(admission, lambda transport, visit: None, on_refused=observer.on_refused)

    async def send(event: object) -> None: ...

    for host in (b"hub", b"other"):
        scope = {"type": "http", "method": "POST", "path": "/acp", "headers": [(b"host", host)]}
        await served(scope, asyncio.Event().wait, send)
    counted = {values: member.value for values, member in observer.meters.refusals.members()}
    assert counted == {("token",): 1, ("host",): 1}


async def test_a_body_that_dribbles_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_asgi, "BODY_WITHIN", 0.1)
    received = 0

    async def receive() -> dict[str, Any]:
        nonlocal received
        received += 1
        await asyncio.wait((asyncio.get_running_loop().create_future(),), timeout=0.005)
        return {"type": "http.request", "body": b"x", "more_body": True}

    assert await read_body({b"content-length": b"100000"}, receive, 200_000) == 408
    assert received < 100
