"""The view of the extension in a real browser: the page inside it, the real extension host behind it, a real hub behind that."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.hub.gate.grants_store import TokenStore
from dragoman.testing.pace import patience
from tests.browser import open_browser
from tests.vscode.conftest import SCRIPT, TESTS

MILLISECONDS = 60_000
EDITOR = """
const [kept, posts] = [{}, []];
window.acquireVsCodeApi = () => ({
  postMessage: (message) => {
    posts.push(message);
    // One after the other, as an editor keeps their order.
    window.chain = (window.chain ?? ready).then(() => fetch('/message', {method: 'POST', body: JSON.stringify(message)}));
  },
  getState: () => JSON.parse(sessionStorage.kept ?? 'null') ?? undefined,
  setState: (state) => { sessionStorage.kept = JSON.stringify(state); },
});
window.posts = posts;
const events = new EventSource('/events');
const ready = new Promise((resolve) => { events.onopen = resolve; });
events.onmessage = ({data}) => window.postMessage(JSON.parse(data), '*');
document.addEventListener('DOMContentLoaded', () => {
  document.body.classList.add('vscode-dark');
  const {style} = document.documentElement;
  for (const [name, value] of Object.entries({
    'sideBar-background': '#181818', 'foreground': '#cccccc', 'button-background': '#0078d4', 'button-foreground': '#ffffff',
    'editor-background': '#1f1f1f', 'contrastBorder': '#6fc3df', 'errorForeground': '#f85149', 'descriptionForeground': '#9d9d9d',
  })) style.setProperty('--vscode-' + name, value);
});
"""
"""What VS Code puts around a view: its API, the messages of the host, a theme."""


class HostProcess:
    """The extension host with its view as a page, at `url`."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process = process
        self.url = url

    def post(self, path: str, **body: object) -> Any:
        data = json.dumps(body).encode()
        with urllib.request.urlopen(self.url + path, data=data, timeout=patience(30)) as answer:
            return json.load(answer)

    def run(self, command: str) -> None:
        self.post("run", command=command)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address of a hub, and its token."""
    agent = [sys.executable, "-m", "dragoman", "agent", "script", str(SCRIPT)]
    (tmp_path / "hub.toml").write_text(
        f'journal = "{tmp_path}/hub.db"\ndefault_agent = "guide"\nknown_agents = false\n'
        f"[agents.guide]\ncommand = {json.dumps(agent)}\n"
    )
    token = TokenStore(tmp_path / "tokens.json").add("owner")
    homes = {f"XDG_{name}_HOME": str(tmp_path / name.lower()) for name in ("DATA", "CONFIG", "STATE", "CACHE")}
    command = [sys.executable, "-m", "dragoman", "hub", "--config", str(tmp_path / "hub.toml"), "--json"]
    process = subprocess.Popen(
        [*command, "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **homes},
        text=True,
    )
    assert process.stdout is not None
    with process.stdout:
        try:
            yield json.loads(process.stdout.readline())["page"].partition("#")[0], token
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(patience(30))
            finally:
                process.kill()


@pytest.fixture
def host(
    node: list[str], host_environment: dict[str, str], hub: tuple[str, str], tmp_path: Path
) -> Iterator[HostProcess]:
    (tmp_path / "work" / "src").mkdir(parents=True)
    (tmp_path / "work" / "src" / "parser.py").write_text("one\ntwo\n")
    address, token = hub
    places = {"DRAGOMAN_HUB": address, "DRAGOMAN_TOKEN": token, "DRAGOMAN_WORK": str(tmp_path / "work")}
    process = subprocess.Popen(
        [*node, str(TESTS / "serve_view.mjs")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**host_environment, **places},
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdout:
        try:
            yield HostProcess(process, process.stdout.readline().strip())
        finally:
            process.stdin.close()
            try:
                process.wait(patience(20))
            finally:
                process.kill()


def test_the_view_talks_decides_opens_files_and_only_watches_without_trust(
    host: HostProcess, hub: tuple[str, str], tmp_path: Path
) -> None:
    complaints: list[str] = []
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": 340, "height": 800})
        page.set_default_timeout(patience(MILLISECONDS))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
        page.add_init_script(EDITOR)
        page.goto(host.url)
        page.wait_for_selector(".app[data-health=live]")
        assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(24, 24, 24)"

        page.click(".empty button")
        page.wait_for_selector("dialog[open]")
        assert page.input_value("#new-cwd") == str(tmp_path / "work")
        page.click("dialog button[type=submit]")
        page.wait_for_selector(".composer textarea:enabled")
        say(page, "point at it")
        page.click(".markdown [data-file='src/parser.py'], [data-file='src/parser.py']")
        page.click("[data-file='src/absent.py']")
        page.wait_for_selector("dialog .empty-title")  # not on this machine: the page says what the hub says
        page.keyboard.press("Escape")
        [document] = host.post("shown")["documents"]
        assert document["uri"]["path"] == str(tmp_path / "work" / "src" / "parser.py")
        assert document["selection"]["start"]["line"] == 1

        say(page, "run it")
        page.click(".asks .choice.allow_once")
        page.wait_for_function("() => document.querySelector('.timeline').innerText.includes('It is installed.')")
        page.click("a.back")
        page.wait_for_selector(".app[data-route=home]")
        page.click("a.session")
        page.wait_for_selector(".app[data-route=session]")
        assert page.evaluate("() => location.hash") == ""
        assert hub[1] not in page.content() + page.evaluate("() => JSON.stringify([posts, {...sessionStorage}])")

        page.evaluate("() => { document.body.className = 'vscode-high-contrast-light'; }")
        page.wait_for_function("() => document.documentElement.dataset.theme === 'light'")

        host.post("trust", isTrusted=False)
        page.reload()
        page.wait_for_selector(".watching")
        assert page.locator(".composer").count() == 0
        host.post("trust", isTrusted=True)
        page.wait_for_selector(".composer textarea:enabled")

        host.run("disconnect")
        page.click("text=Connect to a hub")
        page.wait_for_function("() => posts.some((post) => post.kind === 'command' && post.command === 'connect')")
    assert complaints == []


def say(page: Any, words: str) -> None:
    page.fill(".composer textarea", words)
    page.press(".composer textarea", "Enter")
