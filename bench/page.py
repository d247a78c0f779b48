"""How the page of the hub feels, in real Chromium: python bench/page.py

An agent says 10,000 messages as fast as it can, and they arrive live; then the session is opened again; then
the agent says 500 updates a second for some seconds. Printed: how long until the last live message is on the
screen, how long until the opened session is, and how long the page was busy with one thing at a stretch
meanwhile (what a person would feel; above 50 ms the browser calls it a long task). Needs what the tests of
the page need, so it is no scenario of `make bench`: .venv/bin/python bench/page.py
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

MESSAGES = 10_000
RATE, SECONDS = 500, 6
AGENT = f"""
import asyncio
from dragoman import Agent, Turn, serve
agent = Agent("talker")

@agent.prompt
async def talk(turn: Turn) -> None:
    if turn.text == "fill":
        for number in range({MESSAGES // 2}):
            await turn.say(f"Message {{number}} with **some** `code`.\\n\\n")
            await turn.think("Hm.")
        await turn.say("THE END")
        return
    loop = asyncio.get_running_loop()
    began, said = loop.time(), 0
    while said < {RATE * SECONDS}:
        due = int((loop.time() - began) * {RATE})
        while said < min(due, {RATE * SECONDS}):
            await turn.say(f"word {{said}} ")
            said += 1
        await asyncio.sleep(0.005)
    await turn.say("STREAMED")

serve(agent)
"""
WATCH = """() => {
  window.longest = 0; window.busy = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) {
      window.longest = Math.max(window.longest, duration);
      window.busy += duration;
    }
  }).observe({ entryTypes: ["longtask"] });
}"""


def measure(page: Page, link: str, folder: str) -> dict[str, Any]:
    page.goto(link)
    page.click("button[aria-label='New session']")
    page.fill("#new-cwd", folder)
    page.click("dialog button[type=submit]")
    page.evaluate(WATCH)
    _say(page, "fill")
    began = time.monotonic()
    page.get_by_text("THE END").wait_for(timeout=120_000)
    live = time.monotonic() - began
    live_longest = page.evaluate("window.longest")
    page.wait_for_selector(".state.idle, [data-state=idle], .composer textarea:enabled")
    began = time.monotonic()
    page.reload()
    page.get_by_text("THE END").wait_for(timeout=60_000)
    opened = time.monotonic() - began
    page.evaluate(WATCH)
    _say(page, "stream")
    began = time.monotonic()
    page.get_by_text("STREAMED").wait_for(timeout=120_000)
    took = time.monotonic() - began
    longest, busy = page.evaluate("[window.longest, window.busy]")
    return {
        "live_s": live,
        "live_longest_ms": live_longest,
        "open_s": opened,
        "stream_s": took,
        "longest_ms": longest,
        "long_tasks_ms": busy,
    }


def _say(page: Page, words: str) -> None:
    page.wait_for_selector(".composer textarea:enabled", timeout=60_000)
    page.fill(".composer textarea", words)
    page.press(".composer textarea", "Enter")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as browsers:
        (Path(folder) / "agent.py").write_text(AGENT)
        command = json.dumps([sys.executable, f"{folder}/agent.py"])
        config = Path(folder) / "hub.toml"
        config.write_text(
            f'listen = "127.0.0.1:0"\ndefault_agent = "talker"\nknown_agents = false\n'
            f'[agents.talker]\ncommand = {command}\ndialect = "v1"\n'
        )
        env = {**os.environ, "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder}
        hub = subprocess.Popen(
            [sys.executable, "-m", "dragoman", "hub", "--config", str(config), "--json"],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert hub.stdout is not None
        link = json.loads(hub.stdout.readline())["page"]
        browser = browsers.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        try:
            print(json.dumps(measure(browser.new_page(), link, folder)))
        finally:
            browser.close()
            hub.terminate()
            hub.wait(30)


if __name__ == "__main__":
    main()
