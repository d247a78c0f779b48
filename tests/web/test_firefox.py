"""The page in Firefox: the story of a turn with an approval. Everything else is tried in Chromium."""

from __future__ import annotations

import pytest

from tests.firefox import ENTER, open_firefox
from tests.web.conftest import RunningHub

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_turn_is_prompted_approved_and_still_there_after_a_reload(hub: RunningHub) -> None:
    with open_firefox() as page:
        page.goto(f"{hub.url}#token={hub.token}")
        page.wait_for("document.querySelector('.app[data-health=live]')")
        page.click("button[aria-label='New session']")
        page.fill("#new-cwd", f"{hub.folder}{ENTER}")
        page.wait_for("document.querySelector('.composer textarea:enabled')")

        page.fill(".composer textarea", f"count to three{ENTER}")
        page.wait_for_text("one two three", ".timeline")
        page.wait_for("document.querySelectorAll('.item.of-end').length === 1")

        page.fill(".composer textarea", f"run the installer{ENTER}")
        page.click(".asks .choice.allow_once")
        page.wait_for_text("It is installed.", ".timeline")
        page.wait_for("document.querySelectorAll('.item.of-end').length === 2")
        shown = page.evaluate("document.querySelector('.list').innerText")

        page.reload()
        page.wait_for("document.querySelectorAll('.item.of-end.drawn').length === 2")
        assert page.evaluate("document.querySelector('.list').innerText") == shown
        assert page.evaluate("document.querySelector('.asks')") is None
        assert page.evaluate("'indexedDB' in window && navigator.serviceWorker !== undefined")
        assert page.complaints == []
