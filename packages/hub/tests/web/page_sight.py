"""What a page shows, now or soon, and what it is asked about."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from websockets.sync.client import connect

from dragoman.testing.pace import patience

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"

# A browser without a screen shows every page at all times, so the page has to be told that nobody looks.
HIDE = "() => Object.defineProperty(document, 'visibilityState', { value: 'hidden' })"


POLLING = 50
"""Milliseconds between two looks. Without it, each frame is a look, and each look asks for a frame."""


def becomes(look: Callable[[], object], wanted: object) -> None:
    """What is looked at is this, now or soon: a page draws a moment after an act."""
    last = time.monotonic() + patience(60)
    while (seen := look()) != wanted and time.monotonic() < last:
        time.sleep(POLLING / 1000)
    assert seen == wanted, f"{seen!r} instead of {wanted!r}"


def counts(page: Any, selector: str, wanted: int) -> None:
    """So many elements are there, now or soon."""
    becomes(page.locator(selector).count, wanted)


def says(page: Any, selector: str, *words: str) -> None:
    """An element shows these words, now or soon."""
    becomes(lambda: [each for each in words if each not in page.inner_text(selector)], [])


def fits(page: Any, width: int) -> None:
    """Nothing is wider than the screen, now or soon."""
    becomes(lambda: max(width, page.evaluate("document.documentElement.scrollWidth")), width)


def closes(page: Any) -> None:
    """The window that stands over the page goes, now or soon."""
    page.wait_for_selector("dialog", state="detached")


def shows_session(page: Any) -> None:
    """The session that the address names is on the screen, now or soon: until then, another one may be."""
    named = "decodeURIComponent(location.hash.slice(4))"
    shown = f"() => document.querySelector('.pane')?.dataset.session === {named}"
    page.wait_for_function(shown, polling=POLLING)


def go(page: Any, route: str) -> None:
    """To the session with this address."""
    page.evaluate("hash => { location.hash = hash }", route)
    shows_session(page)


def text_of(page: Any) -> str:
    return str(page.inner_text(".timeline"))


def reads(page: Any, words: str) -> None:
    """The conversation says so, now or soon."""
    says = "t => document.querySelector('.timeline').innerText.includes(t)"
    page.wait_for_function(says, arg=words, polling=POLLING)


def asked(page: Any, prompts: list[str]) -> None:
    """These are the prompts that are shown, now or soon."""
    page.wait_for_function(
        "t => JSON.stringify([...document.querySelectorAll('.bubble')].map(b => b.innerText)) === t",
        arg=json.dumps(prompts, separators=(",", ":")),
        polling=POLLING,
    )


ENDED = """(turns) => {
    if (document.querySelectorAll(".item.of-end").length === turns) return true;
    const marks = document.querySelectorAll(".turn-mark");
    const isOver = ({ dataset }) => !["running", "waiting"].includes(dataset.state);
    return turns > 1 && marks.length === turns && isOver(marks[turns - 1]);
}"""


def ended(page: Any, turns: int) -> None:
    """So many turns of the session have ended, by what is shown: far away, by marks of the rail."""
    page.wait_for_function(ENDED, arg=turns, polling=POLLING)


HOLDS = """async (seconds) => {
    const last = performance.now() + 1000 * seconds;
    while (!(await (CHECK)())) {
        if (performance.now() > last) throw new Error(`it did not come true within ${seconds} seconds`);
        await new Promise((next) => setTimeout(next, 50));
    }
}"""


def holds(page: Any, check: str) -> None:
    """An async function says yes, now or soon. `wait_for_function` takes its promise for a yes."""
    page.evaluate(HOLDS.replace("CHECK", check), patience(60))


def faults(page: Any, within: str = "html") -> list[str]:
    """What a scan for barriers finds to be serious, in a part of the page or in all of it."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())  # an injected element would be refused by our own policy
    # Of many sessions in the list, the first ones show what there is to see.
    where = "{include: [[within]], exclude: [['.sessions li:nth-child(n+6)']]}"
    options = "{resultTypes: ['violations'], preload: false}"
    found = page.evaluate(f"(within) => axe.run({where}, {options})", within)
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:160]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


CRAMPED = """() => {
    const box = [...document.querySelectorAll("dialog[open], .menu")].at(-1);
    const { left, right, top, bottom } = box.getBoundingClientRect();
    const found = [];
    const isInside = left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
    if (!isInside) found.push("it is larger than the screen");
    if (box.scrollWidth > box.clientWidth) found.push("it scrolls sideways");
    const focused = document.activeElement.getBoundingClientRect();
    const isCovered = [focused.top + 3, focused.bottom - 3].some((y) => {
        const seen = document.elementFromPoint(focused.left + 12, y);
        return !seen || !document.activeElement.contains(seen);
    });
    if (isCovered) found.push(`${document.activeElement.className || document.activeElement.id} is covered`);
    return found;
}"""
"""What is wrong with the window on top, where there is little room."""


def refusals(url: str, token: str, session: str) -> dict[str, str]:
    """What the hub itself refuses to the holder of a token, and the scope that it names."""
    wanted: dict[str, dict[str, Any]] = {
        "_dragoman/hub/answer": {"request": "1", "result": {"outcome": {"outcome": "cancelled"}}},
        "session/prompt": {"prompt": [{"type": "text", "text": "run it"}]},
    }
    headers = {"authorization": f"Bearer {token}"}
    with connect(f"{url.replace('http', 'ws', 1)}acp", additional_headers=headers, open_timeout=60) as hub:

        def call(method: str, **params: Any) -> dict[str, Any]:
            hub.send(json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}))
            while True:
                heard: dict[str, Any] = json.loads(hub.recv(60))
                if heard.get("id") == method:
                    return heard

        ours = {"dragoman": {"lazy": True}}
        call("initialize", protocolVersion=1, clientCapabilities={}, _meta=ours)
        answers = {name: call(name, sessionId=session, **params) for name, params in wanted.items()}
    return {name: answer["error"]["data"]["scope"] for name, answer in answers.items()}


def look_at_agents(page: Any) -> None:
    page.evaluate("location.hash = '#/agents'")
    page.wait_for_selector("[data-agent=guide]")


def ask_for_agent(page: Any, name: str) -> str:
    """Open the question about an agent of the list; what it says."""
    page.wait_for_selector(".addable")
    if page.locator(".addable:not([open])").count():
        page.click(".addable summary")
    page.fill(".addable input[type=search]", name)
    page.click(f"[data-listed={name}] button >> text=Add")
    return str(page.inner_text("dialog"))
