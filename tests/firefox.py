"""Debian's Firefox for tests of pages, driven by WebDriver BiDi over a WebSocket.

Playwright drives only its own build of Firefox. This is as much of a driver as a story needs: go somewhere,
wait, click, type, and hear what the page complains about. https://www.w3.org/TR/webdriver-bidi/
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from dragoman.testing.pace import patience

PROGRAMS = ("firefox-esr", "firefox")
PREFERENCES = """
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("app.normandy.enabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("remote.active-protocols", 1);
"""
STILL = """(async (element) => {
    let before = "";
    for (let still = 0; still < 3; ) {
        const now = JSON.stringify(element.getBoundingClientRect());
        still = now === before ? still + 1 : 0;
        before = now;
        await new Promise(requestAnimationFrame);
    }
})"""
"""Waits until an element rests: a mouse would miss what moves."""
ENTER = "\ue007"
HOME = "\ue011"
END = "\ue010"
SECONDS = 60


class FirefoxPage:
    """One tab of a running Firefox."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._calls = 0
        self.complaints: list[str] = []
        """Errors that the page or the browser wrote to the console, and exceptions that nothing caught."""
        self._call("session.new", capabilities={})
        self._call("session.subscribe", events=["log.entryAdded"])
        self._context = self._call("browsingContext.getTree")["contexts"][0]["context"]

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._calls += 1
        self._socket.send(json.dumps({"id": self._calls, "method": method, "params": params}))
        while True:
            message: dict[str, Any] = json.loads(self._socket.recv(patience(SECONDS)))
            if message.get("method") == "log.entryAdded" and message["params"]["level"] == "error":
                self.complaints.append(str(message["params"]["text"]))
            if message.get("id") == self._calls:
                assert message["type"] == "success", f"{method}: {message}"
                return dict(message["result"])

    def goto(self, url: str) -> None:
        self._call("browsingContext.navigate", context=self._context, url=url, wait="complete")

    def reload(self) -> None:
        self._call("browsingContext.reload", context=self._context, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, as JSON has it."""
        answer = self._call(
            "script.evaluate",
            expression=f"(async () => JSON.stringify(await ({expression})) ?? 'null')()",
            target={"context": self._context},
            awaitPromise=True,
        )
        assert answer["type"] == "success", answer
        return json.loads(answer["result"]["value"])

    def wait_for(self, expression: str) -> None:
        """Until an expression is true."""
        until = time.monotonic() + patience(SECONDS)
        while not self.evaluate(f"Boolean({expression})"):
            assert time.monotonic() < until, (
                f"not so: {expression}\n{self.evaluate('document.body.innerText')}"
            )
            time.sleep(0.05)

    def wait_for_text(self, text: str, where: str = "body") -> None:
        self.wait_for(f"document.querySelector({where!r})?.innerText.includes({text!r})")

    def _find(self, selector: str) -> dict[str, Any]:
        self.wait_for(f"document.querySelector({selector!r})?.checkVisibility()")
        self.evaluate(f"{STILL}(document.querySelector({selector!r}))")
        locator = {"type": "css", "value": selector}
        nodes = self._call("browsingContext.locateNodes", context=self._context, locator=locator)["nodes"]
        return {"type": "element", "element": {"sharedId": nodes[0]["sharedId"]}}

    def click(self, selector: str) -> None:
        """By a mouse, in the middle of the first element."""
        move = {"type": "pointerMove", "x": 0, "y": 0, "origin": self._find(selector)}
        press = [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self._act({"type": "pointer", "id": "mouse", "actions": [move, *press]})

    def type(self, text: str) -> None:
        """By a keyboard, where the focus is."""
        keys = [{"type": kind, "value": letter} for letter in text for kind in ("keyDown", "keyUp")]
        self._act({"type": "key", "id": "keyboard", "actions": keys})

    def fill(self, selector: str, text: str) -> None:
        self.click(selector)
        self.evaluate(f"document.querySelector({selector!r}).select()")
        self.type(text)

    def _act(self, source: dict[str, Any]) -> None:
        self._call("input.performActions", context=self._context, actions=[source])


@contextmanager
def open_firefox() -> Iterator[FirefoxPage]:
    """A Firefox of its own without a screen; the test is skipped where there is none."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("no Firefox is installed (apt-get install firefox-esr)")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        (Path(profile) / "user.js").write_text(PREFERENCES)
        process = subprocess.Popen(
            [program, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            with connect(f"{_address(process)}/session", max_size=None, open_timeout=patience(60)) as socket:
                yield FirefoxPage(socket)
        finally:
            process.terminate()
            process.wait(patience(30))
            if process.stderr is not None:
                process.stderr.close()


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if found := re.search(r"WebDriver BiDi listening on (ws://\S+)", line):
            return found[1]
    raise AssertionError(f"Firefox has not started: {''.join(lines)}")
