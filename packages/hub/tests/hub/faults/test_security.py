"""NSE: who gets in, and what somebody who may not can do from outside."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack

import pytest

from dragoman.errors import LocalMistake
from dragoman_app.cli.parser import make_parser
from dragoman_app.cli.served_address import DEFAULT_LISTEN
from dragoman_hub.api.listener import open_socket
from dragoman_hub.settings import HubSettings
from tests.hub.faults.stage import Stage
from tests.hub.faults.talk import (
    INITIALIZE,
    UPGRADE,
    Connection,
    connection,
    drop,
    handshake,
    head,
    noise,
    raw,
    survives,
)

pytestmark = [pytest.mark.bound(30), pytest.mark.in_turn("stage")]

FIRST = json.dumps(INITIALIZE).encode()


async def posted(stage: Stage, **headers: str | None) -> int:
    given = {"content_type": "application/json", "content_length": str(len(FIRST)), **headers}
    return (await raw(stage, head("POST", stage, **given) + FIRST))[0]


async def test_nse_01_a_page_of_somebody_else_opens_no_websocket(stage: Stage) -> None:
    assert await handshake(stage, origin="https://evil.example") == 403
    assert await handshake(stage, origin=f"http://127.0.0.1:{stage.port}") == 101


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{}", "127.0.0.1.evil.example:{}"])
async def test_nse_02_a_websocket_for_another_host_is_refused(stage: Stage, host: str) -> None:
    assert await handshake(stage, host=host.format(stage.port)) in (403, 421)


async def test_nse_04_a_post_for_another_host_is_refused(stage: Stage) -> None:
    assert await posted(stage) == 200
    assert await posted(stage, host="evil.example") in (403, 421)


async def test_nse_05_an_origin_that_is_null_is_refused(stage: Stage) -> None:
    assert await posted(stage, origin="null") == 403
    assert await handshake(stage, origin="null") == 403


async def test_nse_07_nobody_comes_in_without_a_token(stage: Stage) -> None:
    assert await posted(stage, authorization=None) == 401
    assert await handshake(stage, authorization=None) == 401
    assert (await raw(stage, head("GET", stage, authorization=None)))[0] == 401


async def test_nse_08_a_token_in_the_address_is_none(stage: Stage) -> None:
    for name in ("token", "access_token", "authorization", "ticket"):
        path = f"GET /acp?{name}={stage.token} HTTP".encode()
        for begin in (
            head("GET", stage, authorization=None),
            head(
                "GET",
                stage,
                authorization=None,
                connection="Upgrade",
                upgrade="websocket",
                sec_websocket_version="13",
                sec_websocket_key="AAAAAAAAAAAAAAAAAAAAAA==",
            ),
        ):
            assert (await raw(stage, begin.replace(b"GET /acp HTTP", path)))[0] == 401


async def test_nse_10_ids_of_connections_cannot_be_guessed(stage: Stage) -> None:
    async with connection(stage, initialized=False) as one:
        found = [(await one.post(INITIALIZE)).headers["acp-connection-id"] for _ in range(8)]
        for named in found:
            await one.http.delete(one.url, headers={"acp-connection-id": named})
    assert len({named[:8] for named in found}) == 8
    assert all(len(named) >= 32 for named in found)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
async def test_nse_11_a_post_that_any_page_could_send_is_refused(stage: Stage, kind: str) -> None:
    assert await posted(stage, content_type=kind or None) == 415


async def test_nse_13_headers_without_measure_are_refused(stage: Stage) -> None:
    large = head("GET", stage, x_large="x" * 256 * 1024)
    assert (await raw(stage, large))[0] in (400, 431, 0)
    many: dict[str, str] = {f"x-{number}": "x" for number in range(5000)}
    assert (await raw(stage, head("GET", stage, **many)))[0] in (400, 431, 0)
    await survives(stage)


async def test_nse_14_half_sent_requests_hold_nobody_up(stage: Stage) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(100):
            _, writer = await asyncio.open_connection("127.0.0.1", stage.port)
            stack.push_async_callback(drop, writer)
            writer.write(head("POST", stage, content_length="1000")[:-2])
        await survives(stage)


@pytest.mark.parametrize("garbage", [b"\x16\x03\x01\x02\x00\x01\x00" * 9, b"hello\r\n\r\n", noise(4096)])
async def test_nse_16_garbage_instead_of_http_hurts_nobody(stage: Stage, garbage: bytes) -> None:
    assert (await raw(stage, garbage, b"\r\n\r\n"))[0] in (400, 0)
    await survives(stage)


async def test_nse_17_only_this_machine_is_listened_to(stage: Stage) -> None:
    assert stage.address == "127.0.0.1"
    assert make_parser().parse_args(["serve", "--", "agent"]).listen is None
    assert DEFAULT_LISTEN.startswith("127.0.0.1:")
    assert HubSettings().listen.startswith("127.0.0.1:")
    for everybody in ("0.0.0.0", "::"):
        with pytest.raises(LocalMistake, match="TLS is needed"):
            open_socket(everybody, 0, tls=None, insecure=False)


async def test_nse_x1_a_connection_belongs_to_the_token_that_opened_it(stage: Stage) -> None:
    async with connection(stage) as one:
        other = Connection(one.http, stage)
        other.named = {**one.named, "authorization": f"Bearer {stage.other_token}"}
        assert (await other.post({"jsonrpc": "2.0", "method": "_x"})).status_code == 404
        assert (await other.get(accept="text/event-stream", **other.named)).status_code == 404
        assert (await one.post({"jsonrpc": "2.0", "method": "_x"})).status_code == 202


@pytest.mark.parametrize("name", ["host", "origin", "authorization"])
async def test_nse_x2_a_header_that_decides_stands_there_once(stage: Stage, name: str) -> None:
    again = {"host": f"127.0.0.1:{stage.port}", "origin": f"http://127.0.0.1:{stage.port}"}
    value = again.get(name, f"Bearer {stage.token}")
    begin = head("GET", stage, accept="text/event-stream", origin=again["origin"])
    assert (await raw(stage, begin[:-2] + f"{name}: {value}\r\n\r\n".encode()))[0] in (400, 0)


async def test_nse_x3_a_target_that_names_another_host_counts_instead_of_the_header(stage: Stage) -> None:
    given = {"content_type": "application/json", "content_length": str(len(FIRST))}
    texts = (head("POST", stage, **given) + FIRST, head("GET", stage, **UPGRADE))
    for text in texts:
        assert (await raw(stage, text.replace(b" /acp ", b" http://evil.example/acp ")))[0] == 421
    ours = b" http://127.0.0.1:%d/acp " % stage.port
    assert (await raw(stage, texts[0].replace(b" /acp ", ours)))[0] == 200
