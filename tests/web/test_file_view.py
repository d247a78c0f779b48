"""Files of a session on the page: from a tool call, from prose and by name, at the line that was named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.web.conftest import PHONE, RunningHub, Visitor, draw, send, start_session
from tests.web.seeing import AXE, ended, faults

pytestmark = pytest.mark.timeout(240)

SEEN = """() => {
    const line = document.querySelector(".file-line.wanted")?.getBoundingClientRect();
    const box = document.querySelector(".file-lines")?.getBoundingClientRect();
    return Boolean(line && box && line.top >= box.top && line.bottom <= box.bottom);
}"""


def wanted(page: Any) -> list[str]:
    """The line that the view of a file is opened at: its number and its text."""
    page.wait_for_function(SEEN)
    shown = [page.inner_text(".file-line.wanted .number"), page.inner_text(".file-line.wanted code")]
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    return shown


def written(hub: RunningHub) -> Path:
    """A repository with a file of 300 lines, and a file beside the repository."""
    folder = hub.folder / "places"
    (folder / "src").mkdir(parents=True)
    (folder / ".git").mkdir()
    lines = ["import os", "", "def split(text: str) -> list[str]:"] + [
        f"    # line {n}" for n in range(4, 301)
    ]
    (folder / "src" / "parser.py").write_text("\n".join(lines) + "\n")
    (hub.folder / "outside.txt").write_text("not of this session")
    return folder


def test_a_place_in_a_tool_call_in_prose_and_in_the_palette_opens_the_file_at_its_line(
    visitor: Visitor, hub: RunningHub
) -> None:
    folder = written(hub)
    page = visitor.open()
    page.keyboard.press("n")
    page.fill("#new-cwd", str(folder / "s"))
    page.wait_for_selector(".folder >> text=git")
    assert page.locator(".folder").all_inner_texts()[0].startswith(str(folder))
    page.press("#new-cwd", "Escape")
    start_session(page, folder)
    send(page, "point at it")
    ended(page, 1)
    page.click(".tool .chip")
    page.wait_for_selector(".file-line .hl-keyword")
    if AXE.is_file():
        assert faults(page) == []
    draw(page, "file-desk")
    assert wanted(page) == ["150", "    # line 150"]
    assert page.locator(".tool[open]").count() == 0, "the link folds nothing"
    page.click(".agent .link >> text=src/parser.py:3")
    assert wanted(page) == ["3", "def split(text: str) -> list[str]:"]
    page.click(".agent .link >> text=the start")
    assert wanted(page) == ["1", "import os"]
    page.click(".agent .link >> text=that")
    page.wait_for_selector("dialog [role=alert] >> text=outside the folders")
    assert "not of this session" not in page.inner_text("dialog")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.set_viewport_size(PHONE)
    page.keyboard.press("Control+k")
    page.keyboard.type("open a file")
    page.keyboard.press("Enter")
    page.keyboard.type("prsr")
    page.wait_for_selector(".palette-entry >> text=src/parser.py")
    page.keyboard.press("Enter")
    page.wait_for_selector(".file-line")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    draw(page, "file-phone")
