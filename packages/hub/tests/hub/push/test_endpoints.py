"""Where the hub sends, and where it does not."""

from __future__ import annotations

import asyncio

import pytest

from dragoman_hub.push.endpoints import BadEndpoint, PushAnswer, is_public, parse_endpoint, post, resolve
from tests.hub.push.push_service import push_service


@pytest.mark.parametrize(
    "url",
    [
        "",
        "push.example/x",
        "http://push.example/x",
        "ftp://push.example/x",
        "https:///x",
        "https://user@push.example/x",
        "https://push.example:port/x",
        "https://push.example/a b",
        "https://push.example/\r\nHost: x",
        "https://push.example/" + "x" * 2048,
        "https://127.0.0.1/x",
        "https://[::1]/x",
        "https://10.0.0.1/x",
        "https://169.254.169.254/latest",
        "https://[::ffff:192.168.0.1]/x",
        "https://[64:ff9b::7f00:1]/x",
        "https://[fe80::1]/x",
        "https://[::127.0.0.1]/x",
        "https://[::ffff:224.0.0.1]/x",
        "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/x",
        "https://192.0.0.8/x",
        "https://0.0.0.0/x",
        "https://100.64.0.1/x",
        "http://127.0.0.1/x",
    ],
)
def test_an_endpoint_that_is_unsafe_by_its_looks_is_refused(url: str) -> None:
    with pytest.raises(BadEndpoint):
        parse_endpoint(url)


def test_an_endpoint_is_taken_apart() -> None:
    endpoint = parse_endpoint("https://push.example/send/a?b=c")
    assert (endpoint.host, endpoint.port, endpoint.path) == ("push.example", 443, "/send/a?b=c")


def test_this_machine_is_allowed_where_the_operator_allows_it_and_no_other_without_tls() -> None:
    assert not parse_endpoint("http://127.0.0.1:8080/x", may_be_private=True).is_secure
    assert parse_endpoint("https://10.0.0.1/x", may_be_private=True).is_secure
    with pytest.raises(BadEndpoint, match="https"):
        parse_endpoint("http://10.0.0.1/x", may_be_private=True)


def test_addresses_of_the_public_internet_are_known() -> None:
    assert is_public("93.184.216.34")
    assert is_public("2606:2800:220:1::1")
    assert not is_public("2002:7f00:1::")  # 6to4 of 127.0.0.1


async def test_a_name_that_leads_to_this_machine_is_refused() -> None:
    with pytest.raises(BadEndpoint, match="localhost leads to"):
        await resolve(parse_endpoint("https://localhost/x"))


async def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    async with push_service() as service, push_service() as other:
        service.answers = [(307, f"Location: {other.url}\r\nRetry-After: 7\r\n")]
        answer = await post(f"{service.url}a?b", b"body", {"TTL": "1"}, may_be_private=True)
        assert answer == PushAnswer(307, 7.0)
        line, headers, body = service.requests.get_nowait()
        assert (line, headers["ttl"], body) == ("POST /push/a?b HTTP/1.1", "1", b"body")
        assert other.requests.empty()


async def test_what_answers_with_no_http_counts_as_not_reached() -> None:
    async def chatter(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"x" * 100_000)
        writer.close()

    server = await asyncio.start_server(chatter, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(OSError, match=r".*"):
            await post(f"http://127.0.0.1:{port}/", b"", {}, may_be_private=True)
