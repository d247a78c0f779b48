"""Notifications, in the whole browser: its headless build shows none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser import open_browser
from tests.web.conftest import RunningHub, Visitor, send, start_session
from tests.web.seeing import HIDE, ended

pytestmark = pytest.mark.timeout(240)

NOTED = """async () => {
    const worker = await navigator.serviceWorker.ready;
    return (await worker.getNotifications()).map((one) => one.title);
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser(is_whole=True) as browser:
        yield browser


def test_what_is_asked_while_nobody_looks_is_notified_once(visitor: Visitor, hub: RunningHub) -> None:
    visitor.context.grant_permissions(["notifications"], origin=hub.url.rstrip("/"))
    page = visitor.open()
    start_session(page, hub.folder)
    page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    page.click("button[aria-label='Menu']")
    page.click("text=Notify me")
    page.wait_for_selector("text=You will be notified")
    page.evaluate(HIDE)
    send(page, "run it")
    page.wait_for_selector(".asks .risk")  # what is told later of the same question is no second one
    page.wait_for_function(f"async () => (await ({NOTED})()).length > 0")
    assert page.evaluate(NOTED) == ["Run the installer"]
    page.click(".asks .reject_once")
    ended(page, 1)
