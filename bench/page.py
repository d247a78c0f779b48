"""How the page of the hub feels, in real Chromium: python bench/page.py

An agent says 10,000 messages as fast as it can, and they arrive live; then the session is opened again; then
the agent says 500 updates a second for some seconds. Printed: how long until the last live message is on the
screen, how long until the opened session is, and how long the page was busy with one thing at a stretch
meanwhile (what a person would feel; above 50 ms the browser calls it a long task), by the clock and by the
processor: on a busy machine only the second says something about the page. What waits for the last message
looks for one element a frame: Playwright's `get_by_text`, which reads the whole page, was the longest task.
Needs what the tests of the page need, so it is no scenario of `make bench`:

    .venv/bin/python bench/page.py [MESSAGES]
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

MESSAGES = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
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
SHOWN = """(turns) => new Promise((resolve) => {
  const look = () => {
    const ends = document.querySelectorAll(".item.of-end.drawn");
    const isShown = [...ends].at(-1)?.closest(".items") === [...document.querySelectorAll(".items")].at(-1);
    if (isShown && ends.length >= turns) resolve();
    else requestAnimationFrame(look);
  };
  look();
})"""


class TaskTimes(NamedTuple):
    """What the page's main thread did meanwhile, in milliseconds."""

    seconds: float
    longest: float
    """By the clock."""
    longest_processor: float
    above_50: int
    """Tasks that took the processor for longer than 50 ms."""
    processor: float
    """All of them together."""


def trace_tasks(browser: Browser, page: Page, act: Callable[[], object]) -> TaskTimes:
    browser.start_tracing(page=page, categories=["-*", "toplevel", "__metadata"])
    began = time.monotonic()
    act()
    seconds = time.monotonic() - began
    events = json.loads(browser.stop_tracing())["traceEvents"]
    main_threads = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    tasks = [
        event
        for event in events
        if event["name"] == "ThreadControllerImpl::RunTask" and (event["pid"], event["tid"]) in main_threads
    ]
    processor = [event.get("tdur", 0) / 1000 for event in tasks]
    longest = max((event.get("dur", 0) / 1000 for event in tasks), default=0.0)
    above = sum(duration > 50 for duration in processor)
    return TaskTimes(seconds, longest, max(processor, default=0.0), above, sum(processor))


def measure(browser: Browser, link: str, folder: str) -> dict[str, Any]:
    page = browser.new_page()
    page.set_default_timeout(300_000)
    page.goto(link)
    page.click("button[aria-label='New session']")
    page.fill("#new-cwd", folder)
    page.click("dialog button[type=submit]")
    page.wait_for_selector(".composer textarea:enabled")

    def say(words: str, turns: int) -> None:
        page.fill(".composer textarea", words)
        page.press(".composer textarea", "Enter")
        page.evaluate(SHOWN, turns)

    live = trace_tasks(browser, page, lambda: say("fill", 1))
    began = time.monotonic()
    page.reload()
    page.evaluate(SHOWN, 1)
    opened = time.monotonic() - began
    stream = trace_tasks(browser, page, lambda: say("stream", 2))
    figures = {"live": live, "stream": stream}
    return {"open_s": round(opened, 2)} | {
        f"{name}_{field}": round(value, 2)
        for name, times in figures.items()
        for field, value in times._asdict().items()
    }


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
            print(json.dumps(measure(browser, link, folder)))
        finally:
            browser.close()
            hub.terminate()
            hub.wait(30)


if __name__ == "__main__":
    main()
