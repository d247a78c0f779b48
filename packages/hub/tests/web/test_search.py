"""A search on the page ends at the very words that were searched, with the keyboard alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.conftest import DESK, PHONE, RunningHub, Visitor
from tests.web.page_sight import AXE, becomes, closes, counts, faults
from tests.web.random_scrolls import say

pytestmark = pytest.mark.timeout(240)

MATCH = """() => {
    const found = [...(CSS.highlights.get("match-current") ?? [])][0];
    if (!found || !found.toString()) return null;
    const timeline = document.querySelector(".timeline").getBoundingClientRect();
    const box = found.getBoundingClientRect();
    const element = found.startContainer.parentElement;
    const shown = box.height > 0 && box.top >= timeline.top && box.bottom <= timeline.bottom;
    return { words: found.toString(), around: element.closest(".row, .line, p, pre, div").innerText, shown };
}"""


@pytest.fixture(scope="module")
def written(hub: RunningHub) -> None:
    """Words in a folded thought, a folded tool, a diff of many pieces and a message; then much else."""
    lines = [f"line {number}{' with an okapi' if number == 640 else ''}\n" for number in range(700)]
    (hub.folder / "long.txt").write_text("".join(lines))
    say(hub.direct, hub.token, hub.folder, ["look closely", "review 4 files"])


@pytest.fixture
def page(visitor: Visitor, written: None) -> Any:
    return visitor.open()


def find(page: Any, words: str) -> dict[str, Any]:
    """Search with keys alone, and wait until the match is shown."""
    page.evaluate("CSS.highlights.clear()")
    page.keyboard.press("Control+Shift+f")
    page.keyboard.type(words)
    page.keyboard.press("Enter")
    seen = page.wait_for_function(f"() => {{ const found = ({MATCH})(); return found?.shown && found; }}")
    found: dict[str, Any] = seen.json_value()
    return found


def test_enter_opens_the_match_itself_wherever_it_is_folded_away(page: Any) -> None:
    found = find(page, "WALR")
    assert (found["words"], found["around"]) == (
        "walr",
        "Somewhere there is a walrus, and nobody mentions it.",
    )
    assert "the pangolin" in find(page, "pangolin")["around"]
    page.set_viewport_size(PHONE)
    assert find(page, "okapi 640")["around"].endswith("line 640 with an okapi")
    assert find(page, "second quokka")["around"] == "def quokka():\n    return 'the second quokka'"


def test_results_are_plain_text_with_marked_words_and_arrows_choose(page: Any) -> None:
    page.keyboard.press("Control+Shift+f")
    page.keyboard.type("early")
    page.wait_for_selector(".found-one[aria-selected=true]")
    page.wait_for_selector(".found-one >> nth=2")
    page.keyboard.press("ArrowUp")
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    becomes(lambda: page.get_attribute(".search-field", "aria-activedescendant"), "found-2")
    becomes(lambda: page.get_attribute("#found-2", "aria-selected"), "true")
    counts(page, ".found-one[aria-selected=true]", 1)
    page.fill(".search-field", "quokka linked")
    counts(page, ".found-one", 1)
    becomes(lambda: page.inner_text(".excerpt"), "Result The quokka of quokka.py is linked…")
    becomes(page.locator(".excerpt mark").all_inner_texts, ["quokka", "quokka", "linked"])
    if AXE.is_file():
        assert faults(page, "dialog") == []
    page.keyboard.press("Enter")
    page.wait_for_function(f"() => ({MATCH})()?.shown")
    closes(page)
    assert page.viewport_size == DESK


def test_nothing_found_is_said_and_enter_then_does_nothing(page: Any) -> None:
    page.keyboard.press("Control+Shift+f")
    page.keyboard.type("coelacanth")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog [role=status] >> text=No results.")
    page.keyboard.press("Enter")
    assert page.locator("dialog").count() == 1
