"""How a session of 100,000 messages reads, in real Chromium.

    .venv/bin/python -m tests.web.measure_reading [MESSAGES]

Fills a session of a hub of its own, opens it, goes to its start (so that every page is fetched), and scrolls
in random ways while positions are compared. Printed as JSON: seconds until the last message was on the screen
and until the first was, the longest task while pages came and while it was scrolled, items that were drawn at
once, and what stood where it should not. It takes minutes, so it is no part of `make test`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dragoman.hub.gate.grants_store import TokenStore
from tests.browser import open_browser
from tests.web.conftest import AGENT
from tests.web.wandering import WANDER, say

MESSAGES_IN_TURN = 200
WATCH = """() => {
    window.longest = 0;
    const observer = new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration);
    });
    observer.observe({ entryTypes: ["longtask"] });
}"""


def main() -> None:
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        agent = json.dumps([sys.executable, "-m", "dragoman", "agent", "script", str(AGENT)])
        (folder / "hub.toml").write_text(
            f'journal = "{folder}/hub.db"\ndefault_agent = "guide"\nknown_agents = false\n'
            f'[limits]\nprompt_rate = "1000/s"\n[agents.guide]\ncommand = {agent}\n'
        )
        token = TokenStore(folder / "tokens.json").add("owner")
        command = [sys.executable, "-m", "dragoman", "hub", "--config", str(folder / "hub.toml"), "--json"]
        homes = {f"XDG_{kind}_HOME": name for kind in ("DATA", "CONFIG", "STATE", "CACHE")}
        hub = subprocess.Popen(
            [*command, "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **homes},
        )
        try:
            assert hub.stdout is not None
            url = json.loads(hub.stdout.readline())["page"].partition("#")[0]
            print(json.dumps(measure(url, token, folder, messages)))
        finally:
            hub.terminate()
            hub.wait(30)


def measure(url: str, token: str, folder: Path, messages: int) -> dict[str, object]:
    """The figures of one session; see the text at the top."""
    prompt = f"say {MESSAGES_IN_TURN} messages"
    session = say(url, token, folder, [prompt] * (messages // MESSAGES_IN_TURN))
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(300_000)
        page.goto(f"{url}#token={token}")
        page.wait_for_selector(".app[data-health=live]")
        page.evaluate(WATCH)
        began = time.monotonic()
        page.evaluate("hash => { location.hash = hash }", f"#/s/{session}")
        page.wait_for_selector(".item.of-end.drawn")
        opened = time.monotonic() - began
        began = time.monotonic()
        page.locator(".timeline").focus()
        page.keyboard.press("Home")
        page.wait_for_function(
            "n => document.querySelector('.turn-rail').lastElementChild?.title.includes(`of ${n},`)",
            arg=messages // MESSAGES_IN_TURN,
        )
        page.wait_for_selector(".item[data-cursor].drawn .bubble")
        fetched = time.monotonic() - began
        fetching_longest = page.evaluate("window.longest")
        wandering = page.evaluate(WANDER, [200, 7])
    return {
        "messages": messages,
        "open_s": round(opened, 2),
        "to_start_s": round(fetched, 2),
        "longest_ms_while_fetching": fetching_longest,
        **wandering,
    }


if __name__ == "__main__":
    main()
