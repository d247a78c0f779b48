"""A message into a running turn, from the page: at once, by a restart of the turn, and not before it runs."""

from __future__ import annotations

import pytest

from tests.web.conftest import RunningHub, Visitor, send, start_session
from tests.web.page_sight import POLLING, asked, becomes, ended, reads, says

pytestmark = pytest.mark.timeout(240)

HOLD_START = """() => {
    const { get } = Object.getOwnPropertyDescriptor(MessageEvent.prototype, "data");
    const isStart = (line) => line.includes("turn_started");
    const seen = new WeakSet();
    window.held = [];
    Object.defineProperty(MessageEvent.prototype, "data", { get() {
        const text = get.call(this);
        if (!window.held || typeof text !== "string") return text;
        const lines = text.split("\\n");
        if (!seen.has(this)) for (const line of lines.filter(isStart)) window.held.push([this.target, line]);
        seen.add(this);
        return lines.filter((line) => !isStart(line)).join("\\n");
    } });
}"""
"""Keeps the start of turns from the page, until `TELL_START`."""
TELL_START = """() => {
    const { held } = window;
    window.held = null;
    for (const [socket, data] of held) socket.dispatchEvent(new MessageEvent("message", { data }));
}"""


def test_a_message_steers_a_running_turn_and_says_what_became_of_it(
    visitor: Visitor, hub: RunningHub
) -> None:
    page = visitor.start(agent="steerable")
    page.evaluate(HOLD_START)
    send(page, "hold on")
    page.wait_for_selector(".stop:visible")  # the list of sessions says so
    page.fill(".composer textarea", "left")
    assert page.locator(".composer-ways").is_hidden()  # there is no turn yet to say it into
    page.wait_for_function("() => window.held.length > 0", polling=POLLING)
    page.evaluate(TELL_START)
    page.wait_for_selector(".composer-ways >> text=The agent reads it during this turn")
    page.get_by_role("button", name="Steer now").click()
    ended(page, 1)
    reads(page, "hold on | left")
    asked(page, ["hold on", "left"])
    says(page, ".user .outcome", "delivered")
    start_session(page, hub.folder, agent="guide")
    page.wait_for_selector("text=What should the agent do?")
    send(page, "wait")
    page.wait_for_selector(".agent")
    page.fill(".composer textarea", "not here")
    page.wait_for_selector(".composer-ways >> text=Steering stops the turn and starts it again")
    page.press(".composer textarea", "Control+Enter")
    ended(page, 2)
    reads(page, "Stopped by you")
    asked(page, ["wait", "wait\n\nnot here"])
    becomes(lambda: page.input_value(".composer textarea"), "")
