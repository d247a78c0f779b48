"""What a page shows of a hub that is killed, of a question over a reload, and of a slow line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dragoman.testing.pace import patience
from tests.web.conftest import RunningHub, Visitor, running_hub, send
from tests.web.page_sight import asked, becomes, counts, ended, go, reads, says, text_of
from tests.web.random_scrolls import say

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    """A hub of its own: it is killed."""
    with running_hub(tmp_path_factory.mktemp("hub")) as hub:
        yield hub


def test_a_question_outlives_a_reload_and_a_killed_hub_and_is_answered_once(
    stranger: Visitor, hub: RunningHub
) -> None:
    one = stranger.start()
    route = one.evaluate("location.hash")
    send(one, "run the installer")
    one.wait_for_selector(".asks .card")
    one.wait_for_function("() => navigator.serviceWorker.controller !== null")
    one.reload()
    one.wait_for_selector(".asks .card")
    other = stranger.open()
    go(other, route)
    other.wait_for_selector(".asks .card")
    hub.starts.kill()
    for page in (one, other):
        page.wait_for_selector(".banner.offline")
        says(page, ".banner", "Not connected")
        says(page, ".lag", "Offline, as of")
    send(one, "count")
    says(one, ".sending", "Waiting for the network")
    one.reload()
    says(one, ".sending", "Waiting for the network")
    hub.starts.restart()
    for page in (one, other):
        page.evaluate("() => dispatchEvent(new Event('online'))")
        page.wait_for_selector(".app[data-health=live]")
        page.wait_for_selector(".asks .card")
        counts(page, ".asks .card", 1)
    other.click(".asks .card .allow_once")
    for page in (one, other):
        page.wait_for_selector(".asks", state="detached")
        ended(page, 2)
        asked(page, ["run the installer", "count"])
        becomes(lambda page=page: text_of(page).count("It is installed."), 1)
        becomes(lambda page=page: text_of(page).count("one two three"), 1)
        counts(page, ".sending", 0)
    one.reload()
    ended(one, 2)
    asked(one, ["run the installer", "count"])


def test_a_slow_line_says_that_it_connects_and_then_shows_everything(
    stranger: Visitor, hub: RunningHub
) -> None:
    session = say(hub.url, hub.token, hub.folder, ["count"])
    page = stranger.context.new_page()
    page.set_default_timeout(patience(60_000))
    line = stranger.context.new_cdp_session(page)
    line.send("Network.enable")
    slow = {"offline": False, "latency": 400, "downloadThroughput": 100_000, "uploadThroughput": 50_000}
    line.send("Network.emulateNetworkConditions", slow)
    page.goto(f"{hub.url}#token={hub.token}")
    says(page, ".banner", "Connecting …")
    page.wait_for_selector(".app[data-health=live]")
    go(page, f"#/s/{session}")
    ended(page, 1)
    reads(page, "one two three")
