"""The demo of the site in a real browser: the page of the hub, fed by a recording, from static files."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from dragoman.testing.pace import patience
from tests.web.page_sight import becomes, counts

WEB = Path(__file__).parents[2] / "web"
NODE = shutil.which("node")
RECORDING = json.loads((WEB / "demo" / "recording.json").read_text("utf-8"))
MOST = 120_000
"""Bytes of the demo, compressed, that come before it plays: the page, and the recording."""

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(
        NODE is None or not (WEB / "node_modules" / "esbuild").is_dir(),
        reason="the tools of the page are not installed (npm ci in packages/hub/web)",
    ),
]


@dataclass
class StaticSite:
    """Files below a folder of a server, and what was asked of it."""

    url: str
    paths: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [str(NODE), "build.mjs", "--demo", str(folder / "deep" / "demo")]
    subprocess.run(command, cwd=WEB, check=True, timeout=patience(60))
    return folder


@pytest.fixture(scope="module")
def site(built: Path) -> Iterator[StaticSite]:
    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            server_site.paths.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(built)))
    server_site = StaticSite(f"http://127.0.0.1:{server.server_port}/deep/demo/")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server_site
    server.shutdown()
    thread.join()
    server.server_close()
    assert [path for path in server_site.paths if not path.startswith("/deep/demo/")] == []


@pytest.fixture(scope="module")
def window(browser: Any, site: StaticSite) -> Iterator[Any]:
    """A page that nothing is loaded in; nothing may be loaded from elsewhere, and nothing may complain."""
    context = browser.new_context(reduced_motion="reduce", viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.set_default_timeout(patience(10_000))
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    yield page
    context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith((site.url, "data:", "blob:"))] == []


@pytest.fixture
def page(window: Any, site: StaticSite) -> Any:
    """The demo at its beginning, paused."""
    window.goto("about:blank")  # or an address with another part of the page would only lead there
    window.goto(site.url)
    window.wait_for_selector(".app[data-health=live]")
    return window


def seek(page: Any, seconds: float) -> None:
    """Drag the slider to a moment."""
    page.eval_on_selector(
        ".player input[type=range]",
        "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }",
        str(seconds),
    )


def moment(method: str, **params: Any) -> float:
    """When the recorded hub first said this."""
    for step in RECORDING["steps"]:
        message = step["message"]
        if message["method"] == method and params.items() <= message.get("params", {}).items():
            return float(step["at"])
    raise LookupError(method)


def test_it_plays_by_itself_to_the_end_and_refuses_what_would_need_an_agent(page: Any) -> None:
    page.select_option(".player select", "8")
    seek(page, RECORDING["seconds"] - 6)
    page.wait_for_selector(".player[data-state=paused]")
    page.click(".player-play")
    page.wait_for_selector(".player[data-state=ended]")
    page.wait_for_selector(".app[data-route=board]")  # where the guide looks at the end
    page.click("text=The test of split fails >> nth=0")
    page.wait_for_selector("text=All 25 tests pass.")
    page.fill(".composer textarea", "Hello?")
    page.press(".composer textarea", "Enter")
    page.wait_for_selector("text=This is a recording, so no agent can answer.")


@pytest.mark.slow  # web/test/demo.test.ts goes back and forth without a browser
def test_it_is_scrubbed_back_and_forth_and_shows_each_moment_as_it_was(page: Any) -> None:
    asked = moment("session/request_permission")
    settled = moment("_dragoman/hub/settled")
    seek(page, RECORDING["seconds"])
    page.wait_for_selector(".app[data-route=board]")
    seek(page, asked + 1)
    page.wait_for_selector(".app[data-route=session] >> text=Run it once")
    becomes(page.get_by_text("All 25 tests pass.").count, 0)
    becomes(page.get_by_text("one place too late").count, 1)
    seek(page, settled + 3)
    page.wait_for_selector("text=I leave the installer alone")
    becomes(page.get_by_text("Run it once").count, 0)
    seek(page, 0)
    page.wait_for_selector(".app[data-route=home]")
    counts(page, ".sessions .session", 0)


@pytest.mark.slow  # so does web/test/demo.test.ts
def test_an_answer_leads_to_the_moment_of_the_recorded_one(page: Any) -> None:
    seek(page, moment("session/request_permission") + 1)
    page.click("text=Do not run it")
    page.wait_for_function(
        "when => Number(document.querySelector('.player').dataset.position) >= when",
        arg=moment("_dragoman/hub/settled"),
    )
    page.wait_for_selector("text=I leave the installer alone")


def test_the_reader_leads_once_they_have_gone_elsewhere(page: Any) -> None:
    seek(page, moment("session/request_permission") + 1)
    page.wait_for_selector(".app[data-route=session]")
    page.click("a[href='#/board']")
    page.wait_for_selector(".app[data-route=board]")
    page.wait_for_selector(".player input[type=checkbox]:not(:checked)", state="attached")
    seek(page, moment("_dragoman/hub/settled") + 1)
    assert page.evaluate("location.hash") == "#/board"


def test_the_demo_is_small(built: Path) -> None:
    demo = built / "deep" / "demo"
    files = [*demo.glob("assets/demo-*.js"), *demo.glob("assets/demo-*.css"), *demo.glob("*.*")]
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) < MOST
