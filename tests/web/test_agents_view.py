"""Agents and settings on the page."""

from __future__ import annotations

import pytest

from tests.web.conftest import PHONE, RunningHub, Visitor, draw, send, start_session
from tests.web.seeing import AXE, faults

pytestmark = pytest.mark.timeout(240)

COLOUR = "() => getComputedStyle(document.body).backgroundColor"


def test_agents_are_shown_with_their_state_last_words_and_an_examination(
    visitor: Visitor, hub: RunningHub
) -> None:
    page = visitor.open()
    start_session(page, hub.folder)
    send(page, "die now")
    page.wait_for_selector(".item.of-end")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    failed = page.locator("[data-agent=guide] .note.bad")
    failed.wait_for()
    assert "status 3" in failed.inner_text()
    failed.locator("summary").click()
    assert "the licence has run out" in failed.locator("pre").inner_text()
    page.locator("[data-agent=echo]").get_by_text("Examine").click()
    page.wait_for_selector("[data-agent=echo] .findings >> text=It works.")
    assert page.locator("[data-agent=echo] .findings li").count() > 2
    if AXE.is_file():
        assert faults(page) == []
    draw(page, "agents-desk")
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    draw(page, "agents-phone")


def test_theme_and_density_are_chosen_and_kept(visitor: Visitor) -> None:
    page = visitor.open()
    light = page.evaluate(COLOUR)
    page.keyboard.press(",")
    page.click(".segment >> text=Dark")
    page.click(".segment >> text=Compact")
    dark = page.evaluate(COLOUR)
    assert dark != light
    if AXE.is_file():
        assert faults(page) == []
    draw(page, "settings-dark")
    page.reload()
    page.wait_for_selector(".segment[aria-pressed=true] >> text=Dark")
    assert page.evaluate(COLOUR) == dark
    page.emulate_media(color_scheme="dark")
    page.click(".segment >> text=Light")
    assert page.evaluate(COLOUR) == light
    page.click(".segment >> text=System")
    assert page.evaluate(COLOUR) == dark
