"""A long session is read like a short one: it scrolls exactly, and its turns and messages are found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dragoman.testing.pace import patience
from tests.web.conftest import PHONE, RunningHub, Visitor, send
from tests.web.page_sight import becomes, counts, ended, go, holds, reads
from tests.web.random_scrolls import WANDER, say

pytestmark = pytest.mark.timeout(240)

MOST_DRAWN = 400
"""Items that are drawn at once, however long the session is."""


AT_TURN = "turn => document.querySelector('.turn-mark[aria-current]')?.title.startsWith(turn)"
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
    page.wait_for_function(AT_TURN, arg="Turn 4")
    check_copy_and_link(visitor, page, session)
    becomes(rail.locator("button[tabindex='0']").count, 1)
    failed.focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_function(AT_TURN, arg="Turn 7")


def check_copy_and_link(visitor: Visitor, page: Any, session: str) -> None:
    """A message that is far from the end is copied, and a link leads to it."""
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    message = page.locator(".item.of-user", has_text="break it")
    message.hover()
    message.get_by_role("button", name="Copy this message", exact=True).click()
    message.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "break it"
    message.get_by_role("button", name="Copy a link to this message", exact=True).click()
    holds(page, "async () => (await navigator.clipboard.readText()).startsWith('http')")
    address = page.evaluate("navigator.clipboard.readText()")
    assert f"#/s/{session}/" in address
    other = visitor.open(viewport=PHONE)
    other.goto(address)
    other.wait_for_selector(".item.linked[aria-current] >> text=break it")
    other.wait_for_function(LINKED)
    other.close()


@pytest.fixture(scope="module")
def long_session(hub: RunningHub) -> str:
    """A session of several pages of history, the first of them far from the last."""
    return say(hub.direct, hub.token, hub.folder, ["say 300 messages"] * 6)


WATCH = """
window.asked = [];
window.held = null;
window.answers = 0;
const { send } = WebSocket.prototype;
WebSocket.prototype.send = function (text) {
    const { id, method, params } = JSON.parse(text);
    // A copy of the end, for who reads without a network, is no part of a jump.
    const isPage = method === "_dragoman/hub/history" && (params.before || params.after);
    if (!isPage) return send.call(this, text);
    window.asked.push(params);
    this.addEventListener("message", ({ data }) => {
        const isAnswer = (line) => line && JSON.parse(line).id === id && !JSON.parse(line).method;
        if (data.split("\\n").some(isAnswer)) window.answers += 1;
    });
    if (window.held) window.held.push(() => send.call(this, text));
    else send.call(this, text);
};
for (const act of ["keydown", "click", "hashchange"]) addEventListener(act, () => (window.asked = []), true);
"""
"""Pages of history that were asked for since a person acted last. While there is a list `held`, it keeps the
requests back; `answers` counts what came for them."""


def watch_history(visitor: Visitor, session: str) -> Any:
    """A page at the end of a session, with its turns, and with `WATCH`."""
    page = visitor.open()
    if page.evaluate("window.answers") is None:
        page.add_init_script(WATCH)
        page.reload()
    page.evaluate("window.answers = 0")
    go(page, f"#/s/{session}")
    page.wait_for_selector(".item.of-end.drawn")
    page.wait_for_selector(".turn-mark[title$='done: say 300 messages'] >> nth=4")  # all turns are known
    page.locator(".timeline").focus()
    return page


MOST_FETCHED = 2
"""Pages for a jump: the one that is jumped to, and the one beside it, should it be near its edge."""

AT_START = """() => document.querySelector(".timeline").scrollTop === 0
    && document.querySelector(".item.drawn")?.classList.contains("of-user")"""
AT_END = """() => {
    const { scrollTop, scrollHeight, clientHeight } = document.querySelector(".timeline");
    const last = [...document.querySelectorAll(".item")].at(-1);
    return scrollHeight - scrollTop - clientHeight < 2 && last.matches(".of-end.drawn");
}"""


def test_a_jump_fetches_where_it_leads_and_nothing_between(visitor: Visitor, long_session: str) -> None:
    page = watch_history(visitor, long_session)
    rail = page.get_by_role("navigation", name="Turns")

    def jump(act: Callable[[], object], until: str, arg: object = None, most: int = MOST_FETCHED) -> None:
        """Within a few requests, and without an element for each message."""
        act()
        page.wait_for_function(until, arg=arg)
        asked = page.evaluate("window.asked")
        assert len(asked) <= most, asked
        assert page.locator(".item").count() < MOST_DRAWN

    jump(lambda: page.keyboard.press("Home"), AT_START)
    page.wait_for_function(AT_TURN, arg="Turn 1")
    other = visitor.read(long_session)
    send(other, "say 40 messages")
    page.wait_for_selector(".jump >> text=/4\\d new below/")
    other.close()
    assert page.evaluate(AT_START)
    for turn in (4, 2):
        mark = rail.get_by_role("button", name=f"Turn {turn} of 7")
        jump(lambda mark=mark: mark.click(), AT_TURN, f"Turn {turn}")  # type: ignore[misc]
        outcome = page.evaluate(WANDER, [8, turn])
        assert outcome["faults"] == []
        assert outcome["most"] < MOST_DRAWN
    # Of a message that is there: not every entry of the journal is one.
    address = page.locator(".item.drawn").first.get_attribute("data-cursor")
    jump(lambda: page.keyboard.press("End"), AT_END, most=0)
    becomes(page.locator(".jump").is_hidden, True)
    # Keys go on scrolling it. What had the focus is still there if the pages in between were read meanwhile.
    becomes(lambda: page.evaluate("document.activeElement.closest('.timeline') !== null"), True)
    linked = f"#/s/{long_session}/{address}"
    jump(lambda: page.evaluate("hash => { location.hash = hash }", linked), LINKED)


LINKED = """() => {
    const box = document.querySelector(".item.linked")?.getBoundingClientRect();
    return box && box.top >= 0 && box.bottom < innerHeight;
}"""

UP_FROM_END = """async () => {
    const timeline = document.querySelector(".timeline");
    const frames = async (count) => { while (count-- > 0) await new Promise(requestAnimationFrame); };
    const isThere = () => timeline.querySelector(".jump").hidden
        && [...timeline.querySelectorAll(".item")].at(-1).matches(".of-end.drawn");
    const drawn = new Promise((done) => {
        const observer = new MutationObserver(() => isThere() && (observer.disconnect(), done()));
        observer.observe(timeline, { subtree: true, childList: true, attributes: true });
    });
    timeline.dispatchEvent(new KeyboardEvent("keydown", { key: "End", bubbles: true }));
    await drawn; // and nothing above the screen is
    const ways = [];
    for (const by of [-1400, -300, -1400, -300]) {
        await new Promise((done) => setTimeout(done)); // people scroll between frames, not within one
        const start = timeline.scrollTop;
        const { top, bottom } = timeline.getBoundingClientRect();
        const topOf = (item) => item.getBoundingClientRect().top;
        const seen = [...timeline.querySelectorAll(".item.drawn")].filter(
            (item) => topOf(item) >= top && topOf(item) < bottom);
        const before = seen.map(topOf);
        timeline.scrollTop += by;
        const moved = timeline.scrollTop - start;
        await frames(3);
        const left = seen.filter((item) => item.matches(".drawn"));
        for (const item of left) ways.push(Math.round(topOf(item) - before[seen.indexOf(item)] + moved));
    }
    return ways;
}"""
"""Goes to the end and scrolls up at once. By how many pixels more than it was scrolled each message moved."""


def test_who_scrolls_up_before_anything_is_drawn_there_keeps_what_they_see(
    visitor: Visitor, long_session: str
) -> None:
    page = watch_history(visitor, long_session)
    # A second page comes in front of the end: more groups of messages than are looked at one by one.
    page.get_by_role("navigation", name="Turns").get_by_role("button", name="Turn 4 of").click()
    page.wait_for_function(AT_TURN, arg="Turn 4")
    page.locator(".timeline").focus()
    page.keyboard.press("Home")
    page.wait_for_function(AT_START)
    ways = page.evaluate(UP_FROM_END)
    assert len(ways) > 8
    assert {way for way in ways if abs(way) > 1} == set()


DOWN_TO_JOINT = """async () => {
    const timeline = document.querySelector(".timeline");
    const isJoined = () => !timeline.querySelector(".list-end").hidden;
    for (let left = 400; left && !isJoined(); left -= 1) {
        timeline.scrollTop += 500;
        for (let frames = 3; frames; frames -= 1) await new Promise(requestAnimationFrame);
    }
    return isJoined();
}"""
"""Scrolls down until what is read has been joined with the end of the session."""


@pytest.mark.slow  # the test above scrolls up from the end in the same way, with less above it
def test_who_goes_to_the_end_and_scrolls_up_comes_to_what_stands_before_it(
    visitor: Visitor, long_session: str
) -> None:
    page = watch_history(visitor, long_session)
    page.get_by_role("navigation", name="Turns").get_by_role("button", name="Turn 3 of").click()
    page.wait_for_function(AT_TURN, arg="Turn 3")
    assert page.evaluate(DOWN_TO_JOINT)
    # Between what was read and the end, nothing is drawn.
    ways = page.evaluate(UP_FROM_END)
    assert len(ways) > 8
    assert {way for way in ways if abs(way) > 1} == set()


RELEASE = "() => { const { held } = window; window.held = null; for (const send of held) send(); }"
FRAMES = "async () => { for (let left = 3; left; left -= 1) await new Promise(requestAnimationFrame); }"


@pytest.mark.in_turn("wish")
@pytest.mark.parametrize("wish", ["the end", "a turn that is here"])
def test_who_goes_elsewhere_while_a_place_is_on_its_way_stays_there(
    visitor: Visitor, long_session: str, wish: str
) -> None:
    page = watch_history(visitor, long_session)
    last = page.locator(".turn-mark").last
    turn = last.get_attribute("title").partition(" of")[0]
    page.evaluate("window.held = []")
    page.keyboard.press("Home")
    page.wait_for_function("() => window.held.length === 1")
    if wish == "the end":
        page.keyboard.press("End")
    else:
        last.click()
    page.evaluate(RELEASE)
    page.wait_for_function("() => window.answers === 1")
    page.evaluate(FRAMES)
    assert page.evaluate(AT_TURN, turn) if wish != "the end" else page.evaluate(AT_END)
    assert page.inner_text(".toast") == ""


@pytest.fixture(scope="module")
def thin_session(hub: RunningHub) -> str:
    """A session of as many pages as the long one has, with a sixth of its messages."""
    return say(hub.direct, hub.token, hub.folder, ["say 50 messages far apart"] * 6)


@pytest.mark.in_turn("is_close")
@pytest.mark.parametrize("is_close", [False, True], ids=["far from the end", "close to the end"])
def test_who_reads_on_from_the_start_comes_to_the_end_without_a_gap(
    visitor: Visitor, thin_session: str, is_close: bool
) -> None:
    """Close to the end, the first page that is read on has met it: what is there is not drawn yet."""
    page = open_session(visitor, thin_session)
    if is_close:
        page.wait_for_function(CLIMB)
    page.locator(".timeline").focus()
    page.keyboard.press("Home")
    page.wait_for_function(AT_START)
    seen = page.evaluate(READ_ON, patience(60))
    numbers = [text.split()[1] for text in seen if text.startswith("Message")]
    assert numbers == [str(number) for number in range(1, 51)] * 6


CLIMB = """() => {
    document.querySelector(".timeline").scrollTop = 0;
    const cursors = [...document.querySelectorAll(".item")].map(({ dataset }) => dataset.cursor);
    return cursors.some((cursor) => Number.parseInt(cursor) < 1300);
}"""
"""Up, until a page in front of the last one is there."""

READ_ON = """async (seconds) => {
    const timeline = document.querySelector(".timeline");
    const frame = () => new Promise(requestAnimationFrame);
    const seen = [];
    const known = new Set();
    const last = performance.now() + 1000 * seconds;
    // Before it is joined with the end, what is read has an end of its own.
    const isAtEnd = () => !timeline.querySelector(".list-end").hidden && (AT_END)();
    for (let still = 0; still < 3 && performance.now() < last; ) {
        for (const item of timeline.querySelectorAll(".item.drawn")) {
            if (item.getBoundingClientRect().top > innerHeight || known.has(item.dataset.cursor)) continue;
            known.add(item.dataset.cursor);
            seen.push(item.innerText.trim());
        }
        timeline.scrollTop += 500;
        await frame();
        await frame();
        still = isAtEnd() ? still + 1 : 0;
    }
    return seen;
}""".replace("AT_END", AT_END)
"""Scrolls down to the end of the session; the texts that came on the screen."""


def test_tool_calls_in_a_row_are_one_line_that_opens(visitor: Visitor, session: str) -> None:
    page = open_session(visitor, session)
    line = page.get_by_role("button", name="7 tool calls, 1 failed")
    line.wait_for()
    counts(page, ".tool:visible", 0)
    line.click()
    becomes(lambda: line.get_attribute("aria-expanded"), "true")
    counts(page, ".tool:visible", 7)
    line.click()
    counts(page, ".tool:visible", 0)
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
