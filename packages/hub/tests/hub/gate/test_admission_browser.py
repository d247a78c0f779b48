"""A real browser on this machine, and a page in it that means us harm."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dragoman.testing.pace import patience
from tests.browser import open_browser
from tests.hub.faults.hub_stage import HubStage
from tests.hub.faults.stage import Stage, staged

FLAGS = [
    "--host-resolver-rules=MAP evil.example 127.0.0.1",
    # Newer browsers protect programs on this machine by themselves; older ones leave it to us.
    "--disable-features=LocalNetworkAccessChecks,PrivateNetworkAccessChecks,BlockInsecurePrivateNetworkRequests",
]
PATIENCE = 20_000
"""Milliseconds for a browser to do what it does at once on a quiet machine."""

TRY_EVERYTHING = """async ([port, ticket, token]) => {
  const socket = (query) => new Promise((done) => {
    const one = new WebSocket(`ws://127.0.0.1:${port}/acp${query}`);
    one.onopen = () => done("open");
    one.onerror = () => done("refused");
  });
  const post = (path, options) =>
    fetch(`http://127.0.0.1:${port}${path}`, {method: "POST", ...options})
      .then((answer) => `${answer.type} ${answer.status}`, () => "refused");
  const hello = JSON.stringify({jsonrpc: "2.0", id: 0, method: "initialize", params: {protocolVersion: 1}});
  return {
    "a socket": await socket(""),
    "a socket with a stolen ticket": await socket(`?ticket=${ticket}`),
    "a post as any page may send it": await post("/acp", {mode: "no-cors", body: hello}),
    "a post with a stolen token": await post("/acp", {
      body: hello, headers: {authorization: `Bearer ${token}`, "content-type": "application/json"}}),
    "a stolen token for a ticket": await post("/ticket", {headers: {authorization: `Bearer ${token}`}}),
  };
}"""

ASK_FOR_TICKET = """async (token) =>
  (await fetch("/ticket", {method: "POST", headers: {authorization: `Bearer ${token}`}})).status"""


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with staged(HubStage) as one:
        yield one


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser(*FLAGS) as browser:
        yield browser


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A page of somebody else's on this very machine: the nearest that a stranger can come."""
    folder: Path = tmp_path_factory.mktemp("pages")
    (folder / "index.html").write_text("<title>harmless</title>")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://localhost:{server.server_port}/"
        server.shutdown()
        thread.join()


def ticket_of(stage: Stage) -> str:
    answer = httpx2.post(f"http://127.0.0.1:{stage.port}/ticket", headers=stage.headers, timeout=patience(30))
    ticket: str = answer.json()["ticket"]
    return ticket


def test_a_page_of_somebody_else_gets_nowhere_not_even_with_what_it_stole(
    stage: Stage, browser: Any, elsewhere: str, caplog: pytest.LogCaptureFixture
) -> None:
    tab = browser.new_page()
    tab.set_default_timeout(patience(PATIENCE))
    tab.goto(elsewhere)
    accepted = stage.accepted
    with caplog.at_level(logging.WARNING):
        tried = tab.evaluate(TRY_EVERYTHING, [stage.port, ticket_of(stage), stage.token])
    tab.close()
    assert tried == {
        "a socket": "refused",
        "a socket with a stolen ticket": "refused",
        "a post as any page may send it": "opaque 0",  # which is all that the page learns of a 403
        "a post with a stolen token": "refused",
        "a stolen token for a ticket": "refused",
    }
    assert stage.accepted == accepted, "nothing was let in"
    assert caplog.text.count("a page of another origin") >= 3, "it was we who refused, and no one before us"


def test_a_name_that_was_rebound_to_this_machine_gets_nowhere(stage: Stage, browser: Any) -> None:
    tab = browser.new_page()
    tab.set_default_timeout(patience(PATIENCE))
    # The page came from the stranger's own server, before its name began to mean this machine. Its browser
    # takes us for the same origin now, and it even knows the token.
    page = f"http://evil.example:{stage.port}/"
    tab.route(page, lambda route: route.fulfill(body="<title>harmless</title>", content_type="text/html"))
    tab.goto(page)
    assert tab.evaluate(ASK_FOR_TICKET, stage.token) == 421
    tab.close()
