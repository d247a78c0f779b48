"""The view in the side bar, in a real browser: fed by the extension host, which a real hub feeds."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from dragoman.testing.pace import patience
from dragoman_hub.gate.grants_store import TokenStore
from tests.browser import open_browser
from tests.vscode.conftest import SCRIPT, TESTS
from tests.web.page_sight import holds

SIDE_BAR = {"width": 420, "height": 800}
MILLISECONDS = 60_000

EDITOR = """
window.acquireVsCodeApi = () => {
  let state;
  const events = new EventSource("/events");
  events.onmessage = (event) => window.postMessage(JSON.parse(event.data), "*");
  const post = (message) => fetch("/message", { method: "POST", body: JSON.stringify(message) });
  let last = new Promise((resolve) => { events.onopen = resolve; });
  return {
    postMessage: (message) => { last = last.then(() => post(message)); },
    getState: () => state,
    setState: (value) => { state = value; },
  };
};
"""
"""What an editor gives a view. Messages arrive in the order in which they were sent, and none before the
answers can come back.
"""


@contextmanager
def running(words: list[str], *, env: dict[str, str], log: Path) -> Iterator[str]:
    """A program that says its first line when it is ready, until the block is left."""
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True
        )
    assert process.stdin is not None and process.stdout is not None  # noqa: PT018
    try:
        line = process.stdout.readline()
        assert line, log.read_text()
        yield line.strip()
    finally:
        process.stdin.close()
        process.terminate()
        try:
            process.wait(patience(30))
        finally:
            process.kill()
        process.stdout.close()


def shown(address: str) -> dict[str, Any]:
    """What the editor has shown so far."""
    with urlopen(f"{address}shown") as answer:
        value: dict[str, Any] = json.load(answer)
    return value


def send(page: Any, text: str) -> None:
    page.fill(".composer textarea", text)
    page.press(".composer textarea", "Enter")


@pytest.mark.slow  # test_host.py holds the same without a browser
def test_the_view_approves_and_opens_a_difference(
    node: list[str], host_environment: dict[str, str], tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "poem.txt").write_text("roses\nviolets\n")
    agent = [sys.executable, "-m", "dragoman", "agent", "script", str(SCRIPT)]
    (tmp_path / "hub.toml").write_text(
        f'journal = "{tmp_path}/hub.db"\ndefault_agent = "guide"\nknown_agents = false\n'
        f"[agents.guide]\ncommand = {json.dumps(agent)}\n"
    )
    token = TokenStore(tmp_path / "tokens.json").add("owner")
    homes = {
        f"XDG_{kind}_HOME": str(tmp_path / kind.lower()) for kind in ("DATA", "CONFIG", "STATE", "CACHE")
    }
    env = {**host_environment, **homes}
    hub = [sys.executable, "-m", "dragoman", "hub", "--config", str(tmp_path / "hub.toml"), "--json"]
    with running([*hub, "--listen", "127.0.0.1:0"], env=env, log=tmp_path / "hub.log") as line:
        place = json.loads(line)["page"].partition("#")[0]
        more = {"DRAGOMAN_HUB": place, "DRAGOMAN_TOKEN": token, "DRAGOMAN_WORK": str(work)}
        command = [*node, str(TESTS / "serve_view.mjs")]
        with (
            running(command, env={**env, **more}, log=tmp_path / "host.log") as address,
            open_browser() as browser,
        ):
            page = browser.new_page(viewport=SIDE_BAR)
            page.set_default_timeout(patience(MILLISECONDS))
            page.add_init_script(EDITOR)
            page.goto(address)
            page.click("button[aria-label='New session']")
            page.fill("#new-cwd", str(work))
            page.click("dialog button[type=submit]")
            send(page, "run it")
            page.wait_for_selector(".asks .card")
            page.click(".asks .allow_once")
            page.wait_for_selector("text=It is installed.")
            send(page, "fix it")
            page.wait_for_selector("text=It is fixed.")
            page.click("button[aria-label='Session menu']")
            page.click("text=Open the changes as differences")
            holds(page, "async () => (await (await fetch('/shown')).json()).differences.length > 0")
            (difference,) = shown(address)["differences"]
            assert [after["path"] for _, after in difference["pairs"]] == [str(work / "poem.txt")]
