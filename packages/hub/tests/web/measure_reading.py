"""How a session of 100,000 messages reads, in real Chromium.

    .venv/bin/python -m tests.web.measure_reading [MESSAGES]

Fills a session of a hub of its own, opens it, goes to its start and back and to turns by their marks; then to
every mark of its rail in random order, with its start and its end in between, and scrolls at each of these
places in random ways while positions are compared. Printed as JSON: seconds until the last message was on the
screen, and milliseconds, in the page, until each jump was done; pages of history that were fetched for them;
items that were drawn at once, what stood where it should not, and the longest task, as time of the clock and
of the processor: on a busy machine only the second says something about the page. It takes minutes, so it is
no part of `make test`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from dragoman_hub.gate.grants_store import TokenStore
from tests.browser import open_browser
from tests.web.conftest import AGENT
from tests.web.random_scrolls import JUMP, roam, say

MESSAGES_IN_TURN = 200
SCROLLS = 1000
JUMPS = ["Home", "End", 0.5, "Home", "End", 0.25, "Home", "End", 0.75]
"""Keys, and marks by how far down the rail they stand."""


class TracedTasks(NamedTuple):
    """What a page was busy with."""

    result: Any
    longest: float
    """Milliseconds of the clock."""
    longest_processor: float
    """Milliseconds of the processor."""
    above_50: int
    """Tasks that took the processor for longer than 50 ms."""


def trace_tasks(browser: Any, page: Any, act: Callable[[], Any]) -> TracedTasks:
    """Do something, and look at the tasks of the page's main thread meanwhile."""
    browser.start_tracing(page=page, categories=["-*", "toplevel", "__metadata"])
    result = act()
    events = json.loads(browser.stop_tracing())["traceEvents"]
    main_threads = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    tasks = [
        event
        for event in events
        if event["name"].endswith("RunTask") and (event["pid"], event["tid"]) in main_threads
    ]
    processor = [event.get("tdur", event.get("dur", 0)) / 1000 for event in tasks]
    longest = max((event.get("dur", 0) / 1000 for event in tasks), default=0.0)
    above = sum(duration > 50 for duration in processor)
    return TracedTasks(result, round(longest, 1), round(max(processor, default=0.0), 1), above)


@contextmanager
def measured_hub(folder: Path, agents: Sequence[str] = ("guide",)) -> Iterator[tuple[str, str]]:
    """The address of a hub of its own, and a token; each agent is the one that the tests talk to."""
    command = json.dumps([sys.executable, "-m", "dragoman", "agent", "script", str(AGENT)])
    (folder / "hub.toml").write_text(
        f'journal = "{folder}/hub.db"\ndefault_agent = "{agents[0]}"\nknown_agents = false\n'
        '[limits]\nprompt_rate = "1000/s"\n'
        + "".join(f"[agents.{agent}]\ncommand = {command}\n" for agent in agents)
    )
    token = TokenStore(folder / "tokens.json").add("owner")
    words = [sys.executable, "-m", "dragoman", "hub", "--config", str(folder / "hub.toml"), "--json"]
    homes = {f"XDG_{kind}_HOME": str(folder) for kind in ("DATA", "CONFIG", "STATE", "CACHE")}
    hub = subprocess.Popen(
        [*words, "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **homes},
    )
    try:
        assert hub.stdout is not None
        yield json.loads(hub.stdout.readline())["page"].partition("#")[0], token
    finally:
        hub.terminate()
        hub.wait(120)


def main() -> None:
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as name, measured_hub(Path(name)) as (url, token):
        print(json.dumps(measure(url, token, Path(name), messages)))


def measure(url: str, token: str, folder: Path, messages: int) -> dict[str, object]:
    """The figures of one session; see the text at the top."""
    prompt = f"say {MESSAGES_IN_TURN} messages"
    session = say(url, token, folder, [prompt] * (messages // MESSAGES_IN_TURN))
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(1_200_000)
        asked: list[str] = []
        page.on("websocket", lambda socket: socket.on("framesent", lambda text: asked.append(text)))
        page.goto(f"{url}#token={token}")
        page.wait_for_selector(".app[data-health=live]")
        began = time.monotonic()
        page.evaluate("hash => { location.hash = hash }", f"#/s/{session}")
        page.wait_for_selector(".item.of-end.drawn")
        opened = time.monotonic() - began
        page.wait_for_selector(".turn-mark")
        page.locator(".timeline").focus()
        asked.clear()
        jumping = trace_tasks(browser, page, lambda: [page.evaluate(JUMP, jump) for jump in JUMPS])
        fetched = sum('"_dragoman/hub/history"' in frame for frame in asked)
        scrolling = trace_tasks(browser, page, lambda: roam(page, scrolls=SCROLLS, seed=7))
    homes, ends, marks = jumping.result[::3], jumping.result[1::3], jumping.result[2::3]
    return {
        "messages": messages,
        "open_s": round(opened, 2),
        "home_ms": sorted(homes),
        "end_ms": sorted(ends),
        "mark_ms": sorted(marks),
        "jumping_pages_fetched": fetched,
        "jumping_longest_processor_ms": jumping.longest_processor,
        "jumping_tasks_above_50_ms": jumping.above_50,
        "scrolls": scrolling.result.scrolls,
        "places": scrolling.result.places,
        "scrolling_longest_ms": scrolling.longest,
        "scrolling_longest_processor_ms": scrolling.longest_processor,
        "scrolling_tasks_above_50_ms": scrolling.above_50,
        "faults": scrolling.result.faults,
        "most_drawn": scrolling.result.most_drawn,
    }


if __name__ == "__main__":
    main()
