"""A long session is read like a short one: it scrolls exactly, and its turns and messages are found."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.conftest import PHONE, RunningHub, Visitor
from tests.web.page_sight import AXE, ended, faults, holds, reads
from tests.web.random_scrolls import WANDER, say

pytestmark = pytest.mark.timeout(240)

MOST_DRAWN = 400
"""Items that are drawn at once, however long the session is."""


AT_TURN = "turn => document.querySelector('.turn-mark[aria-current]').title.startsWith(turn)"
FITS = "() => { const t = document.querySelector('.timeline'); return t.scrollWidth <= t.clientWidth; }"


@pytest.fixture(scope="module")
def session(hub: RunningHub) -> str:
    """A session of several pages of history: long turns, one that failed, one of tool calls."""
    prompts = ["say 100 messages"] * 6
    prompts[3:3] = ["break it"]
    return say(hub.direct, hub.token, hub.folder, [*prompts, "call 6 tools"], may_fail=True)


def open_session(visitor: Visitor, session: str, **options: Any) -> Any:
    page = visitor.read(session, **options)
    page.wait_for_selector(".item.drawn")
    return page


def test_random_scrolling_moves_everything_by_as_much_as_was_scrolled(visitor: Visitor, session: str) -> None:
    page = open_session(visitor, session)
    page.wait_for_selector(".item.of-end.drawn")
    outcome = page.evaluate(WANDER, [25, 11])
    assert outcome["faults"] == []
    assert outcome["most"] < MOST_DRAWN


def test_each_turn_has_a_mark_that_leads_to_it_by_pointer_and_by_keys_and_a_link(
    visitor: Visitor, session: str
) -> None:
    page = open_session(visitor, session)
    page.locator(".timeline").focus()
    page.keyboard.press("Home")
    rail = page.get_by_role("navigation", name="Turns")
    rail.get_by_role("button", name="Turn 1 of 8, done: say 100 messages").wait_for()
    failed = rail.get_by_role("button", name="Turn 4 of 8, failed: break it")
    failed.click()
    page.wait_for_function("() => document.activeElement.innerText.startsWith('break it')")
    page.wait_for_function(
        "() => document.querySelector('.turn-mark[aria-current]').title.startsWith('Turn 4')"
    )
    check_copy_and_link(visitor, page, session)
    assert rail.locator("button[tabindex='0']").count() == 1
    failed.focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "() => document.querySelector('.turn-mark[aria-current]').title.startsWith('Turn 7')"
    )
    if AXE.is_file():
        assert faults(page, "nav[aria-label=Turns]") == []


def check_copy_and_link(visitor: Visitor, page: Any, session: str) -> None:
    """A message that is far from the end is copied, and a link leads to it."""
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    message = page.locator(".item.of-user", has_text="break it")
    message.hover()
    message.get_by_role("button", name="Copy", exact=True).click()
    message.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "break it"
    message.get_by_role("button", name="Link", exact=True).click()
    holds(page, "async () => (await navigator.clipboard.readText()).startsWith('http')")
    address = page.evaluate("navigator.clipboard.readText()")
    assert f"#/s/{session}/" in address
    other = visitor.open(viewport=PHONE)
    other.goto(address)
    other.wait_for_selector(".item.linked[aria-current] >> text=break it")
    box = other.locator(".item.linked").bounding_box()
    assert 0 <= box["y"] <= PHONE["height"]
    other.close()


def test_tool_calls_in_a_row_are_one_line_that_opens(visitor: Visitor, session: str) -> None:
    page = open_session(visitor, session)
    line = page.get_by_role("button", name="7 tool calls, 1 failed")
    line.wait_for()
    assert page.locator(".tool:visible").count() == 0
    line.click()
    assert line.get_attribute("aria-expanded") == "true"
    page.wait_for_function("() => document.querySelectorAll('.tool').length === 7")
    assert page.locator(".tool:visible").count() == 7
    line.click()
    assert page.locator(".tool:visible").count() == 0
    page.keyboard.press("Control+Shift+F")
    page.keyboard.type("aardvark")
    page.wait_for_selector(".found-one")
    page.keyboard.press("Enter")
    page.wait_for_selector(".terminal:visible >> text=one aardvark failed")


def test_text_of_every_script_keeps_its_direction_and_fits_at_twice_the_size(
    visitor: Visitor, hub: RunningHub
) -> None:
    many = say(hub.direct, hub.token, hub.folder, ["speak in many tongues"])
    page = open_session(visitor, many, viewport={"width": 640, "height": 400})  # 1280 by 800 at 200 %
    ended(page, 1)
    reads(page, "A line in English.")
    sides = page.evaluate(
        """() => [...document.querySelectorAll(".agent .prose > p")].map((line) => {
            const range = document.createRange();
            range.selectNodeContents(line);
            const text = range.getBoundingClientRect();
            const box = line.getBoundingClientRect();
            const [starts, ends] = [text.left - box.left < 2, box.right - text.right < 2];
            return { dir: getComputedStyle(line).direction, starts, ends };
        })"""
    )
    assert [line["dir"] for line in sides] == ["rtl", "ltr", "ltr"]
    assert sides[0]["ends"]
    assert not sides[0]["starts"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 640
    assert page.evaluate(FITS)
