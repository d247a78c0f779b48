"""Blame on the page: who wrote the lines of a session's file, and the way to the message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.web.conftest import DESK, PHONE, RunningHub, Visitor, draw, send
from tests.web.page_sight import AXE, becomes, closes, counts, ended, faults, fits, says

pytestmark = pytest.mark.timeout(240)

SCROLLED = "r => { r.parentElement.scrollTop = r.offsetTop - r.parentElement.offsetTop + 20; }"
ON_TOP = """range => {
  const { left, bottom } = range.querySelector(".blame-who").getBoundingClientRect();
  return range.querySelector(".blame-who").contains(document.elementFromPoint(left + 60, bottom - 4));
}"""
"""Whether the author of lines that are scrolled is drawn above them."""

OF_TURN_1 = "button.blame-who:has-text('turn 1')"


def written(visitor: Visitor, folder: Path) -> Any:
    """A file of two turns of an agent, the first of which asked, and of a person."""
    folder.mkdir()
    page = visitor.start(folder)
    send(page, "Write the parser in a file of its own")
    page.click(".asks button >> text=Allow")
    ended(page, 1)
    page.wait_for_selector(".changed-bar")
    send(page, "Keep what lies between the halves")
    ended(page, 2)
    page.wait_for_selector(".changed-bar")
    with (folder / "parser.py").open("a") as file:
        file.write("\n\n# to do: join them again\n")
    return page


def test_the_lines_of_a_file_lead_to_the_turns_that_wrote_them(visitor: Visitor, hub: RunningHub) -> None:
    page = written(visitor, hub.folder / "blamed")
    page.click(".tool .blame-link >> nth=-1")
    says(page, ".blame-range.by-agent >> nth=0", "guide", "turn 2", "Keep what lies between the halves")
    says(page, ".blame-range.by-person >> nth=-1", "A person", "# to do")
    says(page, ".blame-range:has-text('def split')", "turn 1", "Allow, by owner")
    draw(page, "blame-desk")
    if AXE.is_file():
        assert faults(page, "dialog") == []
    page.set_viewport_size(PHONE)
    fits(page, PHONE["width"])
    page.set_viewport_size({**PHONE, "height": 320})
    page.eval_on_selector(".blame-range.by-agent >> nth=0", SCROLLED)
    becomes(lambda: page.eval_on_selector(".blame-range.by-agent >> nth=0", ON_TOP), True)
    page.set_viewport_size(DESK)
    counts(page, "button.blame-who:has-text('A person')", 0)  # there is nowhere to go
    page.click(OF_TURN_1)
    closes(page)
    says(page, ".linked", "Write the parser in a file of its own")


def test_blame_stands_beside_changes_and_in_the_view_of_a_file(visitor: Visitor, hub: RunningHub) -> None:
    folder = hub.folder / "reviewed"
    page = written(visitor, folder)
    first = page.evaluate("location.hash")
    page.click(".changed-bar")
    page.click(".changes .blame-link")
    page.wait_for_selector(OF_TURN_1)
    page.keyboard.press("Escape")
    counts(page, OF_TURN_1, 0)
    page.click(".changes button.path")
    page.click("dialog.remembers .blame-link")
    page.click(OF_TURN_1)
    closes(page)  # all of them
    page = visitor.start(folder)  # another session in the same folder
    page.keyboard.press("Escape")
    page.keyboard.press("o")
    page.wait_for_selector("[aria-label='Find a file of this session']:focus")
    page.keyboard.type("parser")
    page.wait_for_selector(".palette-entry >> text=parser.py")
    page.keyboard.press("Enter")
    page.click("dialog.remembers .blame-link")
    page.click("button.blame-who:has-text('turn 1 of another session')")
    says(page, ".linked", "Write the parser in a file of its own")
    becomes(lambda: page.evaluate("location.hash").startswith(first), True)


def test_a_file_that_has_no_authors_says_why(visitor: Visitor, hub: RunningHub) -> None:
    page = visitor.start(hub.folder)
    send(page, "Please fix the parser")  # which is in a folder of somebody else
    ended(page, 1)
    page.click(".tool .blame-link")
    page.wait_for_selector("dialog [role=alert] >> text=outside the folders")
