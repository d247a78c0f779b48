"""The page without a network: what is written waits and is sent once, what was read can be read again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.web.conftest import RunningHub, Visitor, send, start_session
from tests.web.page_sight import asked, becomes, counts, ended, go, holds, reads, says, text_of

pytestmark = pytest.mark.timeout(240)

SECRET = "sk-ant-api03-" + "a1B2c3D4e5F6g7H8" * 4

KEPT = """async () => {
    const names = (await indexedDB.databases()).map(({ name }) => name);
    if (!names.includes("dragoman-reading")) return "";
    const opened = await new Promise((resolve, reject) => {
        const request = indexedDB.open("dragoman-reading");
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
    });
    const all = (name) => new Promise((resolve) => {
        const request = opened.transaction(name).objectStore(name).getAll();
        request.onsuccess = () => resolve(request.result);
    });
    const kept = JSON.stringify([await all("sessions"), await all("pieces"), await all("lists")]);
    opened.close();
    return kept;
}"""
"""Everything that is in the page's IndexedDB, as text."""


def wait_until_kept(page: Any, pattern: str) -> None:
    """Until what is kept looks so."""
    holds(page, f"async () => new RegExp({json.dumps(pattern)}).test(await ({KEPT})())")


def write(page: Any, text: str) -> None:
    """As `send`, for a session that was just gone to."""
    page.wait_for_selector(".composer textarea:enabled")
    send(page, text)
    page.wait_for_selector(f".sending >> text={text}")


def count_in_session(page: Any, hub: RunningHub) -> str:
    """A new session in which a turn has ended; its address."""
    start_session(page, hub.folder)
    page.wait_for_selector("text=What should the agent do?")
    send(page, "count")
    ended(page, 1)
    return str(page.evaluate("location.hash"))


def waits(page: Any, messages: int) -> None:
    """So many messages wait to be sent, by what is shown."""
    becomes(lambda: page.inner_text(".outbox-link .badge").split()[0], str(messages))


def test_a_cut_wire_is_told_and_nothing_is_lost_or_doubled(stranger: Visitor, hub: RunningHub) -> None:
    page = stranger.start()
    send(page, "count")
    ended(page, 1)
    route = page.evaluate("location.hash")
    page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    hub.wire.cut()
    page.wait_for_selector(".banner.offline")
    other = stranger.open(url=hub.direct)
    go(other, route)
    other.wait_for_selector(".composer textarea:enabled")
    send(other, "count, please")
    ended(other, 2)
    page.fill(".composer textarea", "count again")
    page.press(".composer textarea", "Enter")
    says(page, ".sending", "Waiting for the network")
    page.reload()  # the page itself is there without a network, and so is what was about to be sent
    page.wait_for_selector(".sending")
    hub.wire.mend()
    page.wait_for_selector(".app[data-health=live]")
    ended(page, 3)
    ended(other, 3)
    said = ["count", "count, please", "count again"]
    asked(page, said)
    asked(other, said)
    becomes(lambda: text_of(page).count("one two three"), 3)


def test_what_is_written_without_a_network_is_sent_once_and_in_order(
    stranger: Visitor, hub: RunningHub
) -> None:
    page = stranger.open()
    routes = [count_in_session(page, hub), count_in_session(page, hub)]
    page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    wait_until_kept(page, "turn_ended.*turn_ended")
    hub.wire.cut()
    page.wait_for_selector(".banner.offline")
    write(page, "count the second")
    go(page, routes[0])
    for words in ("count a", "count b", "count c"):
        write(page, words)
    sending = page.locator(".sending").first
    becomes(lambda: sending.inner_text().split("\n\n")[:2], ["count a", "Waiting for the network"])
    page.locator(".sending", has_text="count b").get_by_text("Edit").click()
    page.fill("dialog textarea", "count B")
    page.click("dialog button[type=submit]")
    page.locator(".sending", has_text="count c").get_by_text("Withdraw").click()
    becomes(lambda: page.input_value(".composer textarea"), "count c")
    waits(page, 3)
    page.reload()
    page.wait_for_selector(".sending >> nth=1")
    asked(page, ["count", "count a", "count B"])
    waits(page, 3)
    page.click(".outbox-link")
    counts(page, ".outbox li", 3)  # the list is loaded when it is wanted
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    hub.wire.mend()
    page.evaluate("() => dispatchEvent(new Event('online'))")
    page.wait_for_selector(".app[data-health=live]")
    ended(page, 3)
    asked(page, ["count", "count a", "count B"])
    page.wait_for_selector(".outbox-link", state="detached")
    go(page, routes[1])  # which was not open when the network came back
    ended(page, 2)
    asked(page, ["count", "count the second"])
    page.reload()
    ended(page, 2)
    asked(page, ["count", "count the second"])


def test_what_was_read_is_read_without_a_network_and_signing_out_leaves_nothing(
    stranger: Visitor, hub: RunningHub
) -> None:
    page = stranger.start()
    send(page, f"count with {SECRET}")
    ended(page, 1)
    page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    wait_until_kept(page, "turn_ended.*count with")
    kept = page.evaluate(KEPT)
    assert "[redacted]" in kept
    assert SECRET not in kept
    assert hub.token not in kept
    hub.wire.cut()
    page.wait_for_selector(".banner.offline")
    page.wait_for_selector(".lag >> text=/Offline, as of [0-9]{2}:[0-9]{2}/")
    page.reload()
    page.wait_for_selector(".lag >> text=/Offline, as of [0-9]{2}:[0-9]{2}/")
    reads(page, "one two three")
    becomes(page.locator(".session .session-title", has_text="count with").count, 1)
    page.wait_for_selector(".composer textarea:enabled")
    page.click("button[aria-label='Menu']")
    page.click("text=Sign out")
    page.wait_for_selector("#token")
    wait_until_kept(page, "^$")
    becomes(lambda: page.evaluate("Object.keys(localStorage)"), [])
    hub.wire.mend()


def test_a_session_that_is_forgotten_leaves_nothing_in_the_browser(stranger: Visitor) -> None:
    page = stranger.start()
    send(page, "count zanzibarquagga")
    ended(page, 1)
    wait_until_kept(page, "turn_ended.*zanzibarquagga")
    page.click("button[aria-label='Session menu']")
    page.get_by_text("Forget session", exact=True).click()
    page.get_by_role("button", name="Forget", exact=True).click()
    holds(page, f"async () => !(await ({KEPT})()).includes('zanzibarquagga')")
    becomes(page.locator(".session .session-title", has_text="zanzibarquagga").count, 0)
