"""The page in a real browser: what it shows, what it lets through, and how it bears a long recording."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.testing.pace import patience
from dragoman_check.trace.view.page import make_page
from dragoman_local.journal.contract import Entry
from tests.browser import open_browser
from tests.web.page_sight import becomes, counts, fits, says


def update(**fields: Any) -> bytes:
    params = {"sessionId": "s", "update": fields}
    return json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}).encode()


def text(words: str) -> bytes:
    return update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": words})


HOSTILE = (
    "</script><script>document.title='owned'</script>"
    "<img src=x onerror=\"document.title='owned'\">\x1b[2J\u202e"
)


def conversation() -> Iterator[Entry]:
    prompt = {"sessionId": "s", "prompt": [{"type": "text", "text": "Please look at **this**"}]}
    yield Entry("note", b'{"event":"start","command":["agent"]}', 0.0)
    yield Entry("to_agent", json.dumps({"id": 1, "method": "session/prompt", "params": prompt}).encode(), 0.1)
    yield Entry("to_client", text("I look at "), 0.2)
    yield Entry("to_client", text(HOSTILE), 0.3)
    call = {"toolCallId": "c", "title": "Edit a.py", "kind": "edit"}
    yield Entry("to_client", update(sessionUpdate="tool_call", status="pending", **call), 0.4)
    ask = {
        "sessionId": "s",
        "toolCall": {
            **call,
            "content": [{"type": "diff", "path": "/a.py", "oldText": "old\n", "newText": "new\n"}],
        },
        "options": [{"optionId": "y", "name": "Allow it", "kind": "allow_once"}],
    }
    yield Entry(
        "to_client",
        json.dumps({"id": 5, "method": "session/request_permission", "params": ask}).encode(),
        0.5,
    )
    yield Entry("to_agent", b'{"id":5,"result":{"outcome":{"outcome":"selected","optionId":"y"}}}', 1.5)
    yield Entry("to_client", b'{"id":1,"result":{"stopReason":"end_turn"}}', 2.0)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as browser:
        yield browser


def opened(browser: Any, page: bytes, folder: Path, **options: Any) -> tuple[Any, list[str]]:
    (folder / "page.html").write_bytes(page)
    tab = browser.new_page(**options)
    tab.set_default_timeout(patience(30_000))
    said: list[str] = []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on(
        "request",
        lambda request: said.append(request.url) if not request.url.startswith(("file:", "data:")) else None,
    )
    tab.goto((folder / "page.html").as_uri())
    tab.wait_for_selector("html[data-ready=true]", state="attached")
    return tab, said


def test_a_conversation_is_shown_and_hostile_text_stays_text(browser: Any, tmp_path: Path) -> None:
    finding = {"frame": 2, "rule": "TURN-05", "level": "fail", "why": "it is only a test"}
    tab, said = opened(browser, make_page(conversation(), title="<b>t</b>", findings=[finding]), tmp_path)
    says(tab, "#story", "Please look at this", "<img src=x onerror=", "Allow it after 1.0 s", "- old")
    says(tab, "#story", "turn ended: end_turn after 1.9 s", "TURN-05: it is only a test")
    assert tab.inner_text("h1") == "<b>t</b>"
    assert tab.title() == "<b>t</b>"
    counts(tab, "#story img", 0)
    assert said == []


def test_a_diff_has_no_line_for_the_end_of_the_last_one(browser: Any, tmp_path: Path) -> None:
    diffs = [("old\n", "new\n"), (None, "made\n"), ("gone\n", ""), ("kept\n\n", "kept\n\nmore\n")]
    content = [
        {"type": "diff", "path": "/a.py", "newText": after} | ({} if before is None else {"oldText": before})
        for before, after in diffs
    ]
    call = {
        "toolCallId": "c",
        "title": "Edit a.py",
        "kind": "edit",
        "status": "completed",
        "content": content,
    }
    entries = [Entry("to_client", update(sessionUpdate="tool_call", **call), 0.1)]
    tab, _ = opened(browser, make_page(entries, title="diffs"), tmp_path)
    lines = ["- old", "+ new", "+ made", "- gone", "  kept", "  ", "+ more"]
    becomes(tab.locator("pre.diff span").all_text_contents, lines)


def test_it_is_searched_and_frames_are_looked_at(browser: Any, tmp_path: Path) -> None:
    tab, said = opened(browser, make_page(conversation(), title="t"), tmp_path)
    tab.keyboard.press("/")
    tab.keyboard.type("a.py")
    tab.keyboard.press("Enter")
    becomes(lambda: tab.inner_text("#matches"), "1 of 2")
    says(tab, ".row.hit", "Edit a.py")
    tab.click("#tab-frames")
    tab.click(".line:nth-child(2)")
    says(tab, "#frame-text", '"method": "session/prompt"')
    assert said == []


@pytest.mark.parametrize("width", [360, 1400])
def test_nothing_is_wider_than_the_screen(browser: Any, tmp_path: Path, width: int) -> None:
    tab, _ = opened(
        browser,
        make_page(conversation(), title="t" * 200),
        tmp_path,
        viewport={"width": width, "height": 800},
    )
    fits(tab, width)


def test_a_long_recording_costs_what_is_on_the_screen(browser: Any, tmp_path: Path) -> None:
    def many() -> Iterator[Entry]:
        for number in range(20_000):
            frame = text("word ") if number % 5 else update(sessionUpdate="usage_update", used=number, size=1)
            yield Entry("to_client", frame, number / 1000)

    tab, said = opened(browser, make_page(many(), title="long"), tmp_path)
    if "DRAGOMAN_TIMES" in os.environ:  # the figure of docs/view.md
        print(
            tab.evaluate("performance.timing.domContentLoadedEventEnd - performance.timing.navigationStart")
        )
    assert tab.evaluate("document.querySelectorAll('.row').length") < 1000
    tab.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    tab.wait_for_selector(
        "time:text-is('0:19.995')", state="attached"
    )  # its policy forbids polling by script
    assert tab.evaluate("document.querySelectorAll('.row').length") < 1000
    assert said == []
