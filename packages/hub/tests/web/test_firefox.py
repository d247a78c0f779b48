"""The page in Firefox: a turn with an approval, and a long session. Everything else is tried in Chromium."""

from __future__ import annotations

import json

import pytest

from tests.firefox import END, ENTER, HOME, open_firefox
from tests.web.conftest import RunningHub
from tests.web.random_scrolls import say

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
        page.wait_for(f"document.querySelector('.list').innerText === {json.dumps(shown)}")
        assert page.evaluate("document.querySelector('.asks')") is None
        assert page.evaluate("'indexedDB' in window && navigator.serviceWorker !== undefined")
        assert page.complaints == []


AT_START = """document.querySelector(".timeline").scrollTop === 0
    && document.querySelector(".item.drawn")?.innerText.startsWith("say 400 messages")"""
AT_END = """document.querySelector(".jump").hidden
    && [...document.querySelectorAll(".item")].at(-1).matches(".of-end.drawn")"""


def test_a_long_session_is_read_at_its_end_at_its_start_and_at_a_turn(hub: RunningHub) -> None:
    session = say(hub.direct, hub.token, hub.folder, ["say 400 messages", *["say 300 messages"] * 4])
    with open_firefox() as page:
        page.goto(f"{hub.url}#token={hub.token}")
        page.wait_for("document.querySelector('.app[data-health=live]')")
        page.evaluate(f"(location.hash = '#/s/{session}')")
        page.wait_for("document.querySelector('.turn-mark')?.title.startsWith('Turn 1 of 5')")
        page.evaluate("document.querySelector('.timeline').focus()")
        for key, place in ((HOME, AT_START), (END, AT_END)):
            page.type(key)
            page.wait_for(place)
        page.click(".turn-mark:nth-child(2)")
        page.wait_for("document.querySelector('.turn-mark[aria-current]')?.title.startsWith('Turn 2')")
        page.wait_for("document.activeElement.innerText.startsWith('say 300 messages')")
        assert page.evaluate("document.querySelectorAll('.item').length") < 400
        assert page.complaints == []
