"""A good server is examined over real sockets: everything shows, and nothing is found."""

from __future__ import annotations

import pytest

from dragoman_check.endpoint.examination import EndpointSettings
from dragoman_check.endpoint.http import Address, Unreachable
from dragoman_check.endpoint.scenes import examine_endpoint
from dragoman_check.report import peer_name
from dragoman_check.verdict import judge
from tests.check.endpoint.server import GoodServer
from tests.every import every
from tests.transport.asgi_server import served


@pytest.mark.bound(20)  # a busy machine may take its time
async def test_a_good_server_shows_everything_and_breaks_nothing() -> None:
    async with served(GoodServer()) as port:
        address = Address.of(f"http://127.0.0.1:{port}/acp")
        recordings = await examine_endpoint(EndpointSettings(address=address, patience=10.0))
    found = {one.requirement: one for one in judge(recordings, "server")}
    assert {name: one.findings for name, one in found.items() if one.findings} == {}
    assert {name for name, one in found.items() if one.status != "passed"} == {"WS-05"}
    assert peer_name(recordings, "server") == "a-server 1"


@pytest.mark.bound(20)
async def test_a_socket_can_be_examined_alone() -> None:
    async with served(GoodServer()) as port:
        address = Address.of(f"ws://127.0.0.1:{port}/acp")
        recordings = await examine_endpoint(EndpointSettings(address=address, patience=10.0), over_http=False)
    passed = {one.requirement for one in judge(recordings, "server") if one.status == "passed"}
    assert passed == {"HTTP-03", "WS-01", "WS-08", "WS-09", "WS-10"}


@pytest.mark.bound(20)
async def test_a_server_of_something_else_is_told_apart() -> None:
    async def nothing_here(scope: object, receive: object, send: object) -> None:
        assert isinstance(scope, dict)
        assert callable(send)
        kind = "websocket.close" if scope["type"] == "websocket" else "http.response.start"
        await send({"type": kind, "status": 404, "headers": []})
        if scope["type"] == "http":
            await send({"type": "http.response.body", "body": b"no such page"})

    async with served(nothing_here) as port:
        address = Address.of(f"http://127.0.0.1:{port}/")
        recordings = await examine_endpoint(EndpointSettings(address=address, patience=10.0))
    broken = {one.requirement for one in judge(recordings, "server") if one.broken}
    assert {"HTTP-03", "HTTP-05", "HTTP-09", "WS-01"} <= broken


async def test_nobody_at_all_is_not_examined() -> None:
    with pytest.raises(Unreachable):
        await examine_endpoint(EndpointSettings(address=Address.of("http://127.0.0.1:1/acp")))


@every("url", ["acp", "ftp://host/acp", "http://", "stdio:agent"])
def test_an_address_must_be_one(url: str) -> None:
    with pytest.raises(ValueError, match="not an address"):
        Address.of(url)


def test_an_address_keeps_its_query() -> None:
    assert Address.of("https://host/acp?a=1") == Address("host", 443, "/acp?a=1", True)
