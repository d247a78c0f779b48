"""All sessions on one board, the palette and the split view, with keys alone, in a real browser."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.conftest import PHONE, RunningHub, Visitor, draw, send, start_session
from tests.web.seeing import AXE, ended, faults, reads

pytestmark = pytest.mark.timeout(240)

FOCUS = "() => document.activeElement?.closest('.tile')?.querySelector('.tile-title').innerText ?? ''"


@pytest.fixture(scope="module")
def sessions(browser: Any, hub: RunningHub) -> dict[str, str]:
    """A session in each state, by the state; each has the address of its own."""
    writer = Visitor(browser.new_context(reduced_motion="reduce"), hub)
    page = writer.open()
    work = hub.folder / "parser"
    work.mkdir()
    (work / "poem.txt").write_text("roses\nviolets\nthree\n")
    addresses: dict[str, str] = {}
    for state, prompt in {
        "done": "Please fix the parser",
        "failed": "break the build",
        "running": "wait",
        "needs": "run the installer",
    }.items():
        page.evaluate("() => { location.hash = '#/'; }")
        page.wait_for_selector(".pane", state="detached")
        start_session(page, work)
        send(page, prompt)
        if state in ("done", "failed"):
            page.wait_for_selector(".item.of-end")
        else:
            page.wait_for_selector({"needs": ".asks .card", "running": ".working"}[state])
        addresses[state] = page.evaluate("location.hash")
    writer.context.close()
    return addresses


def column(page: Any, name: str) -> str:
    return str(page.inner_text(f".board-column.of-{name}"))


def choose(page: Any, *keys: str) -> str:
    """Press keys; gives the title of the tile that has the focus then."""
    for key in keys:
        page.keyboard.press(key)
    return str(page.evaluate(FOCUS))


def test_the_board_shows_each_session_in_its_state_with_its_last_line_cost_and_changes(
    visitor: Visitor, sessions: dict[str, str]
) -> None:
    page = visitor.open()
    page.keyboard.press("b")
    page.wait_for_selector(".tile-line.live >> text=I am working on it")
    page.wait_for_selector(".of-failed .tile-line.error >> text=no credit is left")
    needs = column(page, "needs")
    assert "Run the installer" in needs
    assert "HIGH" in needs.upper()
    done = column(page, "done")
    assert "0.31 USD" in done
    assert "+8 −1" in done
    assert "guide" in done
    assert page.locator(".of-running .tile-time").inner_text().endswith(("s", "min"))
    assert page.inner_text(".board-cost") == "0.31 USD"
    if AXE.is_file():
        assert faults(page) == []
    draw(page, "board-desk")
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    draw(page, "board-phone")


def test_keys_move_on_the_board_filter_it_and_open_two_sessions_beside_each_other(
    visitor: Visitor, sessions: dict[str, str]
) -> None:
    page = visitor.open()
    page.keyboard.press("b")
    page.wait_for_selector(".of-needs .tile")
    assert choose(page, "j") == "run the installer"
    assert choose(page, "j") == "wait"
    assert choose(page, "l", "l") == "break the build"
    assert choose(page, "h", "k") == "wait"
    page.keyboard.press("Enter")
    page.wait_for_selector(".pane .working")
    page.keyboard.press("Escape")  # out of the field
    page.keyboard.press("b")
    page.fill(".board-filter", "break")
    page.wait_for_function("() => document.querySelectorAll('.tile').length === 1")
    page.locator(".tile").focus()
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector(".split .pane:nth-of-type(2) .end.bad")
    assert page.locator(".pane .working").count() == 1
    page.locator(".pane textarea").nth(0).fill("left draft")
    page.locator(".pane textarea").nth(1).fill("right draft")
    draw(page, "split-desk")
    page.reload()
    page.wait_for_selector(".split .pane:nth-of-type(2) .end.bad")
    drafts = [field.input_value() for field in page.locator(".pane textarea").all()]
    assert drafts == ["left draft", "right draft"]
    page.locator("[aria-label='Close this side']").nth(0).click()
    page.wait_for_function("() => document.querySelectorAll('.pane').length === 1")
    assert page.evaluate("location.hash") == sessions["failed"]
    assert page.input_value(".pane textarea") == "right draft"


def test_the_palette_finds_acts_sessions_and_text(visitor: Visitor, sessions: dict[str, str]) -> None:
    page = visitor.open()
    page.wait_for_selector("a.session")
    page.keyboard.press("Control+k")
    page.keyboard.type("board")
    page.keyboard.press("Enter")
    page.wait_for_selector(".board")
    page.keyboard.press("Control+k")
    page.keyboard.type("break bui")
    page.wait_for_selector(".palette-entry[aria-selected=true] >> text=break the build")
    draw(page, "palette-desk")
    if AXE.is_file():
        assert faults(page) == []
    page.keyboard.press("Enter")
    page.wait_for_selector(".pane .end.bad")
    page.keyboard.press("Control+k")
    page.keyboard.type("lost one character")
    page.wait_for_selector(".palette-entry >> text=Search all sessions for")
    page.keyboard.press("Enter")
    page.wait_for_selector(".found-one")
    page.keyboard.press("Enter")
    reads(page, "lost one character")


def test_a_chord_opens_the_question_and_a_second_key_confirms_it(
    visitor: Visitor, sessions: dict[str, str]
) -> None:
    page = visitor.open()
    page.keyboard.press("b")
    page.wait_for_selector(".of-needs .tile")
    page.keyboard.press("Shift+A")
    page.wait_for_selector("dialog.decision .command")
    assert "so-that-nothing-may-be-cut" in page.inner_text("dialog.decision .command")
    page.wait_for_selector("dialog.decision .risk.high")
    assert page.evaluate("document.activeElement.classList.contains('card')"), "no answer has the focus"
    draw(page, "decide-desk")
    page.keyboard.press("Enter")  # says nothing: what is risky needs its number
    assert page.locator("dialog.decision").count() == 1
    page.keyboard.press("1")
    page.wait_for_selector("dialog.decision", state="detached")
    page.wait_for_selector(".of-done .tile >> text=It is installed.")
    assert page.locator(".of-needs .tile").count() == 0
    page.evaluate("(address) => { location.hash = address; }", sessions["needs"])
    ended(page, 1)
    page.evaluate("(address) => { location.hash = address; }", sessions["running"])
    page.wait_for_selector(".working")
    page.keyboard.press("Control+.")
    ended(page, 1)
