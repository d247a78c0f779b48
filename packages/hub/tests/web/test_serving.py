"""What the page's application gives, and with which promises."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from dragoman_hub.web.page import STATIC, Page

Answer = tuple[int, dict[bytes, bytes], bytes]


async def ask(page: Page, path: str, *, method: str = "GET", **headers: str) -> Answer:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("nothing of the request's body is needed")

    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    await page({"type": "http", "method": method, "path": path, "headers": named}, receive, send)
    start, body = sent
    return start["status"], dict(start["headers"]), body["body"]


@pytest.fixture(scope="module")
def page() -> Page:
    return Page()


async def test_the_first_page_is_asked_for_again_and_its_parts_never(page: Page) -> None:
    status, headers, body = await ask(page, "/")
    assert (status, headers[b"content-type"]) == (200, b"text/html; charset=utf-8")
    assert headers[b"cache-control"] == b"no-cache"
    assert body == (STATIC / "index.html").read_bytes()
    part = next((STATIC / "assets").glob("main-*.js"))
    status, headers, _ = await ask(page, f"/assets/{part.name}")
    assert (status, headers[b"content-type"]) == (200, b"text/javascript; charset=utf-8")
    assert b"immutable" in headers[b"cache-control"]


@pytest.mark.parametrize("path", ["/", "/no/such", "/icon.svg"])
async def test_every_answer_is_closed(page: Page, path: str) -> None:
    _, headers, _ = await ask(page, path)
    policy = headers[b"content-security-policy"].decode()
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert headers[b"referrer-policy"] == b"no-referrer"
    assert headers[b"cross-origin-opener-policy"] == b"same-origin"


async def test_sockets_of_our_own_host_may_be_opened_and_a_strange_host_adds_nothing(page: Page) -> None:
    _, headers, _ = await ask(page, "/", host="127.0.0.1:8765")
    ours = b"connect-src 'self' ws://127.0.0.1:8765 wss://127.0.0.1:8765;"
    assert ours in headers[b"content-security-policy"]
    _, headers, _ = await ask(page, "/", host="x; script-src *")
    assert b"connect-src 'self' ;" in headers[b"content-security-policy"]
    assert b"*" not in headers[b"content-security-policy"]


async def test_hubs_that_were_named_may_be_talked_to_and_nobody_else() -> None:
    named = ["https://studio.example", "http://[::1]:8766"]
    page = Page(hubs=lambda: named)
    _, headers, _ = await ask(page, "/", host="hub.example")
    places = "https://studio.example wss://studio.example http://[::1]:8766 ws://[::1]:8766;"
    assert (
        f"connect-src 'self' ws://hub.example wss://hub.example {places}".encode()
        in headers[b"content-security-policy"]
    )
    named[:] = ["https://*", "javascript://x", "https://x; script-src y", "https://x/path"]
    _, headers, _ = await ask(page, "/", host="hub.example")
    assert b"connect-src 'self' ws://hub.example wss://hub.example;" in headers[b"content-security-policy"]


@pytest.mark.parametrize(
    "path", ["/no", "/../pyproject.toml", "/assets/", "/assets", "//", "/build.json", ""]
)
async def test_what_is_not_ours_is_not_there(page: Page, path: str) -> None:
    assert (await ask(page, path))[0] == 404


async def test_only_reading_is_possible(page: Page) -> None:
    status, headers, _ = await ask(page, "/", method="POST")
    assert (status, headers[b"allow"]) == (405, b"GET, HEAD")
    status, headers, body = await ask(page, "/", method="HEAD")
    assert (status, body) == (200, b"")
    assert int(headers[b"content-length"]) == len((STATIC / "index.html").read_bytes())


async def test_who_has_it_is_not_sent_it_again(page: Page) -> None:
    _, headers, _ = await ask(page, "/")
    status, again, body = await ask(page, "/", if_none_match=headers[b"etag"].decode())
    assert (status, body) == (304, b"")
    assert b"content-length" not in again


async def test_texts_are_compressed_for_who_can_read_that(page: Page) -> None:
    _, headers, body = await ask(page, "/", accept_encoding="gzip, br")
    assert headers[b"content-encoding"] == b"gzip"
    assert gzip.decompress(body) == (STATIC / "index.html").read_bytes()
    _, headers, _ = await ask(page, "/icon-192.png", accept_encoding="gzip")
    assert b"content-encoding" not in headers


async def test_a_folder_of_ones_own_can_be_served(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("hello")
    assert (await ask(Page(tmp_path), "/"))[2] == b"hello"
