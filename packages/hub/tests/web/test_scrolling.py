"""A conversation in a real browser moves by exactly what a person scrolls, and by nothing else."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from dragoman.testing.pace import patience
from tests.web.conftest import RunningHub, Visitor, send
from tests.web.page_sight import becomes, ended
from tests.web.random_scrolls import say

pytestmark = pytest.mark.timeout(240)

WIDTHS = {"phone": {"width": 390, "height": 844}, "desk": {"width": 1440, "height": 900}}

LOOK = """([before, seconds]) => {
    const began = performance.now();
    const timeline = document.querySelector(".timeline");
    const { top, bottom } = timeline.getBoundingClientRect();
    const seen = () => {
        const found = {};
        const drawn = {};
        const marks = ".tool-title, .gist, .bubble, .prose h4, .prose h5, .end";
        for (const mark of timeline.querySelectorAll(marks)) {
            const box = mark.getBoundingClientRect();
            drawn[mark.textContent] = box.top;
            if (box.bottom > top && box.top < bottom) found[mark.textContent] = box.top;
        }
        const { scrollTop, scrollHeight, clientHeight } = timeline;
        return { marks: found, drawn, above: scrollTop, below: scrollHeight - scrollTop - clientHeight };
    };
    const same = (one, other) => Object.keys(one).every((key) => one[key] === other.drawn[key]);
    return new Promise((resolve) => {
        let waited = 0;
        let still = 0;
        let last = seen();
        const look = () => {
            const now = seen();
            waited += 1;
            still = same(last.marks, now) ? still + 1 : 0;
            last = now;
            // Browsers glide: what moves is awaited until it rests. What does not move is given up: soon, or
            // where there is room to move, when nothing has come of the act for long.
            const isLate = waited >= 20 && performance.now() - began > 1000 * seconds;
            if (!before || (still >= 5 && (isLate || !same(before, now)))) resolve(now);
            else requestAnimationFrame(look);
        };
        look();
    });
}"""


@dataclass
class Sight:
    """What of a conversation is on the screen: texts that occur once, and how far down they stand."""

    marks: dict[str, float]
    drawn: dict[str, float]
    """Those that are off the screen as well."""
    above: float
    below: float

    def way_to(self, other: Sight) -> float:
        """How far everything that was on the screen has moved, all of it together; positive is down."""
        ways = [other.drawn[text] - place for text, place in self.marks.items() if text in other.drawn]
        assert ways, f"nothing is left of {list(self.marks)}, but {list(other.marks)}"
        assert max(ways) - min(ways) <= 1, f"things moved apart: {ways}"
        return ways[0]


ROUNDING = 2
"""Pixels: where a scroll begins, where it ends and where things stand are each rounded to whole ones."""


@dataclass
class ScrollReader:
    """Somebody who scrolls, with the pointer at a place of the conversation."""

    page: Any
    x: float
    y: float

    def look(self, before: Sight | None = None, *, seconds: float = 0) -> Sight:
        """At once; or when what stood `before` has moved and rests, or has not moved for so many seconds."""
        return Sight(**self.page.evaluate(LOOK, [before.marks if before else None, seconds]))

    def step(self, act: Callable[[], object], *, least: float, most: float) -> bool:
        """Scroll once; false if nothing is left to scroll. `most` below zero goes up the conversation."""
        before = self.look()
        room = before.below if most > 0 else before.above
        act()
        after = self.look(before, seconds=patience(5) if room > ROUNDING else 0)
        way = -before.way_to(after)  # scrolling down moves things up
        if way == 0 and room < 1:
            return False
        if room >= abs(least):
            assert min(least, most) - ROUNDING <= way <= max(least, most) + ROUNDING, (
                f"a step of {least} to {most} moved {way}"
            )
        else:
            assert 0 <= way * (1 if most > 0 else -1) <= room + 1
        return True

    def travel(self, act: Callable[[], object], *, least: float, most: float, until: str) -> None:
        for _ in range(300):
            if self.step(act, least=least, most=most):
                continue
            if self.page.locator(until).count():
                return
        raise AssertionError(f"{until} was not reached")


START = ".bubble:has-text('review 6 files')"
END = ".item.of-end.drawn"


@pytest.fixture(scope="module")
def review(hub: RunningHub) -> str:
    """A session with a review whose first half has to be fetched when it is read from its end."""
    return say(hub.direct, hub.token, hub.folder, ["review 6 files"])


def screen(width: str | None) -> pytest.MarkDecorator:
    """The screen that `make test` scrolls on, if any; `make test-all` takes every one."""
    screens = [pytest.param(name, marks=[] if name == width else [pytest.mark.slow]) for name in WIDTHS]
    return pytest.mark.parametrize("reader", screens, indirect=True)


@pytest.fixture
def reader(request: pytest.FixtureRequest, visitor: Visitor, review: str) -> ScrollReader:
    page = visitor.read(review, viewport=WIDTHS[request.param])
    page.wait_for_selector(END)
    page.locator(".timeline").focus()
    box = page.locator(".timeline").bounding_box()
    reader = ScrollReader(page, box["x"] + 30, box["y"] + box["height"] / 2)
    page.mouse.move(reader.x, reader.y)
    becomes(lambda: reader.look().below <= 1, True)  # it opens at its end
    assert page.locator(START).count() == 0, "its beginning is not fetched yet"
    return reader


@screen("desk")
def test_the_wheel_leads_to_the_top_and_back(reader: ScrollReader) -> None:
    reader.travel(lambda: reader.page.mouse.wheel(0, -700), least=-700, most=-700, until=START)
    reader.travel(lambda: reader.page.mouse.wheel(0, 700), least=700, most=700, until=END)


@screen("phone")
def test_a_finger_leads_to_the_top(reader: ScrollReader) -> None:
    finger = reader.page.context.new_cdp_session(reader.page)
    finger.send("Emulation.setTouchEmulationEnabled", {"enabled": True})

    clock = itertools.count(time.time(), 0.2)

    def touch(kind: str, *points: float) -> None:
        places = [{"x": reader.x, "y": y} for y in points]
        finger.send(
            "Input.dispatchTouchEvent", {"type": kind, "touchPoints": places, "timestamp": next(clock)}
        )

    def swipe(way: int) -> None:
        start = reader.y - way / 2
        touch("touchStart", start)
        for part in (0.25, 0.5, 0.75, 1, 1, 1):  # it rests in the end, so that nothing goes on by itself
            touch("touchMove", start + way * part)
        touch("touchEnd")

    # A finger has to move a little before it counts as a swipe.
    reader.travel(lambda: swipe(500), least=-430, most=-500, until=START)
    assert reader.step(lambda: swipe(-500), least=430, most=500)
    reader.page.close()  # one that knows fingers is for nobody else


@screen(None)  # the wheel leads there in steps, too; test_reading.py goes to start and end by keys
def test_keys_lead_to_the_top_and_back(reader: ScrollReader) -> None:
    press = reader.page.keyboard.press
    height = reader.page.evaluate("document.querySelector('.timeline').clientHeight")
    for _ in range(4):
        assert reader.step(lambda: press("ArrowUp"), least=-40, most=-40)
    assert reader.step(lambda: press("ArrowDown"), least=40, most=40)
    for _ in range(3):
        assert reader.step(lambda: press("PageUp"), least=-height / 2, most=-height)
    for _ in range(2):
        assert reader.step(lambda: press("PageDown"), least=height / 2, most=height)
    press("Home")
    reader.page.wait_for_selector(START)
    reader.page.wait_for_function("() => document.querySelector('.timeline').scrollTop === 0")
    press("End")
    reader.page.wait_for_selector(END)
    becomes(lambda: reader.look().below <= 1, True)


@screen("phone")
def test_a_resized_window_shows_what_it_showed(reader: ScrollReader) -> None:
    page = reader.page
    for _ in range(6):
        reader.step(lambda: page.keyboard.press("PageUp"), least=-100, most=-900)
    first = min(reader.look().marks.items(), key=lambda mark: mark[1])[0]
    page.set_viewport_size({"width": 700, "height": 900})
    page.wait_for_function("() => document.querySelector('.timeline').clientWidth >= 350")
    becomes(lambda: first in reader.look().marks, True)
    assert first in reader.look(reader.look()).marks  # and there it stays


def test_a_long_diff_comes_whole_and_in_pieces(visitor: Visitor, hub: RunningHub) -> None:
    folder = hub.folder / "long"
    folder.mkdir()
    (folder / "long.txt").write_text("".join(f"line {number} of many\n" for number in range(700)))
    page = visitor.start(folder, viewport=WIDTHS["desk"])
    send(page, "write a file of 700 lines")
    ended(page, 1)
    rows = page.locator(".diff .text")
    becomes(rows.all_inner_texts, [f"line {number} of many" for number in range(700)])
    with page.expect_download() as saving:
        page.click("button[aria-label='Session menu']")
        page.click("text=Export as HTML")
    assert saving.value.path().read_text().count("of many</span>") == 700


CHANGES = {
    "a tool above is unfolded": "() => above('.tool:not([open]) > summary').click()",
    "a diff above is folded": "() => above('.tool[open] > summary').click()",
    "a thought above is unfolded": "() => above('.thought:not([open]) > summary').click()",
    "something above is taken away": "() => above('.file').remove()",
}
ABOVE = """() => {
    const { top } = document.querySelector(".timeline").getBoundingClientRect();
    const isAbove = (one) => one.closest(".item").getBoundingClientRect().bottom < top;
    window.above = (what) => [...document.querySelectorAll(what)].filter(isAbove).at(-1);
}"""


@screen("desk")
def test_what_changes_elsewhere_moves_nothing_on_the_screen(
    reader: ScrollReader, visitor: Visitor, review: str
) -> None:
    page = reader.page
    page.keyboard.press("Home")
    page.wait_for_selector(START)
    page.wait_for_function("() => document.querySelector('.timeline').scrollTop === 0")
    for _ in range(5):
        reader.step(lambda: page.keyboard.press("PageDown"), least=100, most=900)
    page.evaluate(ABOVE)
    for change in CHANGES.values():
        before = reader.look()
        page.evaluate(change)
        assert before.way_to(reader.look(before)) == pytest.approx(0, abs=1), change
    before = reader.look()
    send(visitor.read(review), "say 40 messages")
    page.wait_for_selector(".jump >> text=/4\\d new below/")
    assert before.way_to(reader.look(before)) == pytest.approx(0, abs=1)
