"""The page of the reviewer's rules, through the door of a real hub."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest

from dragoman_hub.api.app import HubApp
from dragoman_hub.api.listener import open_listener, open_socket
from dragoman_hub.gate.admission import Admission, local_hosts
from dragoman_hub.hub import Hub
from dragoman_hub.web.page import Page
from dragoman_local.journal import MemoryJournal
from dragoman_review import Finding, FindingPlace, Severity
from dragoman_review.rule_links import rule_link

pytestmark = pytest.mark.bound(30)


@pytest.fixture
async def address() -> AsyncIterator[str]:
    bound = open_socket("127.0.0.1", 0, tls=None, insecure=False)
    port = bound.getsockname()[1]
    admission = Admission({}, hosts=local_hosts(port))
    async with MemoryJournal() as journal, Hub(journal, {}) as hub:
        app = HubApp(hub, admission, page=Page())
        async with open_listener(app, bound):
            yield f"http://127.0.0.1:{port}"


async def test_a_finding_links_to_a_section_that_the_hub_shows(address: str) -> None:
    place = FindingPlace(path="a.py", line=1, end_line=1)
    finding = Finding(rule="python/eval", severity=Severity.HIGH, place=place, title="t", why="w")
    anchor = (rule_link(finding, "file:///x/review-rules.md") or "").partition("#")[2]
    async with httpx2.AsyncClient(timeout=None) as client:
        reply = await client.get(f"{address}/rules")
        again = await client.get(f"{address}/rules", headers={"if-none-match": reply.headers["etag"]})
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert f'<h2 id="{anchor}">' in reply.text
    assert again.status_code == 304


async def test_no_text_of_a_rule_becomes_markup_and_nothing_may_run(address: str) -> None:
    async with httpx2.AsyncClient(timeout=None) as client:
        reply = await client.get(f"{address}/rules")
    assert "<script" not in reply.text
    assert "&lt;" in reply.text
    assert reply.headers["content-security-policy"].startswith("default-src 'none'")
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["x-frame-options"] == "DENY"


async def test_it_can_only_be_read_and_only_under_our_own_name(address: str) -> None:
    async with httpx2.AsyncClient(timeout=None) as client:
        written = await client.post(f"{address}/rules", content=b"x")
        strange = await client.get(f"{address}/rules", headers={"host": "evil.example"})
        start = await client.get(f"{address}/", headers={"host": "evil.example"})
    assert written.status_code == 405
    assert strange.status_code == start.status_code != 200
