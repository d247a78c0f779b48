"""How a board of a hundred sessions of several agents scrolls, in real Chromium.

    .venv/bin/python -m tests.web.measure_board [SESSIONS]

Fills a hub of its own with sessions of four agents, opens the board and scrolls its longest column
up and down. Printed as JSON: the longest task meanwhile, as time of the clock and of the processor,
and how many took the processor for longer than 50 ms. It takes minutes, so it is no part of `make test`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tests.browser import open_browser
from tests.web.measure_reading import measured_hub, trace_tasks
from tests.web.random_scrolls import say

AGENTS = ("guide", "scout", "mason", "clerk")
PROMPTS = ("Please fix the parser", "count to three", "break the build", "call 6 tools")
SCROLLS = 300
SCROLL = """async (steps) => {
    const frame = () => new Promise(requestAnimationFrame);
    const columns = [...document.querySelectorAll(".board-column")];
    const reach = (column) => column.scrollHeight - column.clientHeight;
    const longest = columns.reduce((one, other) => (reach(one) > reach(other) ? one : other));
    for (let step = 0; step < steps; step += 1) {
        longest.scrollTop = (Math.sin(step / 9) / 2 + 0.5) * reach(longest);
        await frame();
    }
    return reach(longest);
}"""


def main() -> None:
    sessions = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory() as name, measured_hub(Path(name), AGENTS) as (url, token):
        for number in range(sessions):
            agent, prompt = AGENTS[number % len(AGENTS)], PROMPTS[number // 2 % len(PROMPTS)]
            say(url, token, Path(name), [prompt], may_fail=True, agent=agent)
        print(json.dumps(measure(url, token, sessions)))


def measure(url: str, token: str, sessions: int) -> dict[str, object]:
    """The figures of one board; see the text at the top."""
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(600_000)
        page.goto(f"{url}#token={token}")
        page.wait_for_selector(".app[data-health=live]")
        page.keyboard.press("b")
        page.wait_for_selector(".tile-line")
        while page.locator(".board-column >> text=Older sessions").count():
            page.click(".board-column >> text=Older sessions")
            page.wait_for_timeout(200)
        tiles = page.locator(".tile").count()
        scrolling = trace_tasks(browser, page, lambda: page.evaluate(SCROLL, SCROLLS))
    assert scrolling.result > 0, "there was nothing to scroll"
    return {
        "sessions": sessions,
        "tiles": tiles,
        "scrolls": SCROLLS,
        "longest_ms": scrolling.longest,
        "longest_processor_ms": scrolling.longest_processor,
        "tasks_above_50_ms": scrolling.above_50,
    }


if __name__ == "__main__":
    main()
