"""What a live message costs does not depend on how much was said before it. Counted, not timed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.conftest import RunningHub, Visitor, send
from tests.web.page_sight import becomes, ended, says
from tests.web.random_scrolls import say

pytestmark = pytest.mark.timeout(240)

COUNT = """(what) => {
    window.drawn = 0;
    // An element, its parent and its grandparent can be added at once: three records, and one element.
    const counted = new WeakSet();
    const count = (element) => {
        if (!element.matches(what) || counted.has(element)) return;
        counted.add(element);
        window.drawn += 1;
    };
    new MutationObserver((changes) => {
        for (const { addedNodes } of changes) {
            for (const added of [...addedNodes].filter((node) => node instanceof Element)) {
                [added, ...added.querySelectorAll(what)].forEach(count);
            }
        }
    }).observe(document.querySelector(".timeline"), { childList: true, subtree: true });
}"""
SIZES = """() => {
    const all = [...document.querySelectorAll(".timeline, .timeline *")];
    return { elements: all.length, widest: Math.max(...all.map((one) => one.childElementCount)) };
}"""
SETTLED = """() => {
    const shells = document.querySelectorAll(".item").length;
    return document.querySelectorAll(".item:not(.drawn)").length === 0 && shells;
}"""
MESSAGES = 800
TIMERS = """() => {
    window.timers = 0;
    const set = window.setTimeout;
    window.setTimeout = (...args) => {
        window.timers += 1;
        return set.apply(window, args);
    };
}"""
CLIMB = """async () => {
    const frame = () => new Promise(requestAnimationFrame);
    const timeline = document.querySelector(".timeline");
    const deadline = performance.now() + 60000;
    while (timeline.scrollTop > 0 && performance.now() < deadline) {
        timeline.scrollTop -= timeline.clientHeight / 2;
        await frame();
        await frame();
    }
}"""
"""Past every message, up to the first."""

FIRST_SIGHT = """new MutationObserver((_, observer) => {
    if (!document.querySelector(".item.of-end.drawn")) return;
    observer.disconnect();
    window.firstSight = document.querySelectorAll(".item").length;
}).observe(document, { childList: true, subtree: true, attributes: true, attributeFilter: ["class"] })"""
"""How many items are in the document when the last one is drawn."""

WATCH_ROWS = """() => {
    window.changed = [];
    const saw = () => window.changed.push(performance.now());
    const list = document.querySelector(".sessions");
    new MutationObserver(saw).observe(list, { childList: true, subtree: true });
    for (const [event, name] of [["pointerdown", "pressed"], ["pointerup", "released"]]) {
        document.addEventListener(event, () => (window[name] = performance.now()), { capture: true });
    }
}"""
"""When rows came, went or moved, and when a finger was down."""


def test_a_long_live_session_keeps_a_small_page(visitor: Visitor, hub: RunningHub) -> None:
    """A browser lays out what it holds with every message: all of it, or what is near."""
    page = visitor.start()
    texts: list[object] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda text: texts.append(text)))
    page.reload()
    page.wait_for_selector(".composer textarea:enabled")
    page.evaluate(COUNT, ".agent")
    page.evaluate(TIMERS)
    send(page, f"say {MESSAGES} messages")
    page.wait_for_selector(".item.of-end.drawn")
    says(page, ".timeline", f"Message {MESSAGES} with some words.")
    assert page.evaluate("window.drawn") <= MESSAGES + 1  # each is drawn once at most
    assert page.evaluate("window.timers") < MESSAGES / 2  # a message sets none
    assert len(texts) < MESSAGES  # of a flood, many come in one text
    page.wait_for_function(f"() => ({SIZES})().elements < 2500 && ({SETTLED})()")
    page.wait_for_function(f"most => ({SIZES})().widest <= most", arg=MESSAGES / 16)
    page.evaluate(CLIMB)
    page.wait_for_selector(".bubble >> text=messages")
    # What was seen and is far away has the height that it had.
    page.wait_for_function(f"() => document.querySelector('.timeline').scrollHeight > {MESSAGES * 20}")
    page.wait_for_function(f"() => ({SIZES})().elements < 2500")
    page.add_init_script(FIRST_SIGHT)
    page.reload()
    page.wait_for_function("() => window.firstSight")
    assert page.evaluate("window.firstSight") < 100  # of hundreds, those that fill the screen


def test_a_list_that_grows_is_not_drawn_again_and_again(visitor: Visitor, hub: RunningHub) -> None:
    page = visitor.start()
    send(page, "list 60 entries")
    ended(page, 1)
    becomes(lambda: [drawing(page)[what] for what in ("entries", "rows")], [60, 60])
    live = drawing(page)
    page.reload()
    page.wait_for_selector(".item.of-end.drawn")
    becomes(lambda: drawing(page), live)  # piece by piece as in one go
    page.evaluate(COUNT, "li, tbody tr")
    send(page, "list 150 entries")
    ended(page, 2)
    assert (
        page.evaluate("window.drawn") <= 2 * 300 + 2
    )  # each as the last one, and once more when it is complete


def drawing(page: Any) -> Any:
    return page.evaluate("""() => ({
        entries: document.querySelectorAll(".agent li").length,
        rows: document.querySelectorAll(".agent tbody tr").length,
        text: document.querySelector(".agent-body").innerHTML,
    })""")


def test_a_row_that_is_pressed_stays_until_the_release(visitor: Visitor, hub: RunningHub) -> None:
    """A click on a row whose place another row takes meanwhile goes nowhere."""
    page = visitor.start()
    heard: list[object] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda text: heard.append(text)))
    page.reload()
    page.wait_for_selector(".composer textarea:enabled")
    page.wait_for_selector("a.session")
    page.evaluate(WATCH_ROWS)
    row = page.locator("a.session").first
    box = row.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    other = say(hub.direct, hub.token, hub.folder, [])
    while not any(other in str(text) for text in heard):
        page.wait_for_timeout(50)
    page.wait_for_timeout(600)  # longer than a list waits to be drawn
    page.mouse.up()
    page.wait_for_selector(f"a.session[href$='{other}']")
    changed, pressed, released = page.evaluate("[window.changed, window.pressed, window.released]")
    assert changed
    assert not any(pressed < at < min(released, pressed + 2500) for at in changed)
