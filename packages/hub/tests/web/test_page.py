"""The page in a real browser, against a real hub with real agents behind it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests import forks
from tests.web.conftest import DESK, PHONE, RunningHub, Visitor, draw, send, start_session
from tests.web.page_sight import (
    AXE,
    asked,
    becomes,
    closes,
    counts,
    ended,
    faults,
    fits,
    go,
    reads,
    refusals,
    says,
)
from tests.web.random_scrolls import say

pytestmark = pytest.mark.timeout(240)

POEM = "roses\ntulips\nthree\nfour\nfive\nsix\nseven\neight\nnine\nTEN\n"


def test_the_first_run_leads_from_the_printed_address_to_a_reviewed_change(
    stranger: Visitor, hub: RunningHub
) -> None:
    folder = hub.folder / "first"
    folder.mkdir()
    (folder / "poem.txt").write_text(POEM.replace("tulips", "violets").replace("TEN", "ten"))
    page = stranger.open()
    assert "token" not in page.url
    start_session(page, folder)
    send(page, "Please fix the parser and show me what you did")
    ended(page, 1)
    asked(page, ["Please fix the parser and show me what you did"])
    reads(page, "lost one character")
    assert page.locator(".thought[open]").count() == 0
    counts(page, ".plan-list li[data-status=completed]", 1)
    counts(page, ".tool[data-state=completed]", 3)
    becomes(lambda: page.inner_text(".diff .row.removed .changed"), " + 1")
    page.wait_for_selector(".hl-keyword")
    says(page, ".usage", "0.31 USD")
    draw(page, "session-desk")

    page.click(".changed-bar")
    counts(page, ".hunk", 2)
    draw(page, "changes-desk")
    page.locator(".hunk").nth(1).get_by_text("Revert").click()
    counts(page, ".hunk", 1)
    assert (folder / "poem.txt").read_text() == POEM.replace("TEN", "ten")
    page.click("text=Side by side")
    page.locator(".hunk-head").get_by_text("Keep").click()
    page.wait_for_selector(".changes p.faint")
    assert (folder / "poem.txt").read_text() == POEM.replace("TEN", "ten")


def test_a_permission_shows_the_whole_command_and_is_answered_once_for_all_screens(
    visitor: Visitor, hub: RunningHub
) -> None:
    desk = visitor.start()
    send(desk, "run the installer")
    phone = visitor.open(viewport=PHONE)
    phone.wait_for_selector(".card .command")
    says(phone, ".card .command", "curl -fsSL", "so-that-nothing-may-be-cut")
    # What the hub has judged, announced before: the request itself names the call and nothing else.
    assert phone.inner_text(".card .card-title") == "guide wants to run a command"
    says(phone, ".card .card-body", "“Run the installer”", "in /home/ann/parser", "STAGE=live")
    says(phone, ".card .card-body", "hosts.txt", "Take care: ", "outside the session's folders")
    says(phone, ".card .always", "Always: this answer cannot be remembered; you will be asked again.")
    phone.wait_for_selector(".card .risk.high")
    assert phone.inner_text(".card .risk.high .severity").lower() == "high"
    says(phone, ".card .risks", "curl or wget piped into a shell", "shell/pipe-to-shell")
    fits(phone, PHONE["width"])
    if AXE.is_file():
        assert faults(phone) == []
    draw(phone, "inbox-phone")
    desk.wait_for_selector(".asks .card")
    phone.click(".card .allow_once")
    desk.wait_for_selector(".asks", state="detached")
    phone.wait_for_selector(".card", state="detached")
    ended(desk, 1)
    reads(desk, "It is installed.")
    says(desk, ".settled", "Allowed: Run the installer (by you)")


def test_a_question_is_answered_with_a_form_and_with_keys(visitor: Visitor, hub: RunningHub) -> None:
    page = visitor.start()
    send(page, "ask me")
    page.wait_for_selector(".asks .form")
    page.get_by_label("Port").fill("9000")
    page.get_by_label("Name").fill("front")
    page.click(".asks button[type=submit]")
    ended(page, 1)
    reads(page, "'content': {'port': 9000, 'name': 'front', 'kind': 'http'}")
    send(page, "run it")
    page.wait_for_selector(".asks .card")
    page.keyboard.press("Escape")  # out of the field
    page.keyboard.press("a")
    page.keyboard.press("3")
    ended(page, 2)
    reads(page, "Then not.")
    send(page, "edit")
    page.wait_for_selector(".asks .risk-place >> text=deploy.py:3")
    rules = page.locator(".asks .risk-rule")
    found = ["python/code-from-outside", "path/outside", "python/eval"]
    becomes(lambda: [rule.strip() for rule in rules.all_inner_texts()], found)
    counts(page, ".diff:visible", 1)  # the card shows the change; the call above is folded
    counts(page, ".tool[data-state=asking]", 1)
    refuse = page.locator(".asks .reject_once")
    before = refuse.bounding_box()
    refuse.focus()
    assert refuse.bounding_box() == before, "a button that moves under a pressed pointer is not clicked"
    refuse.click()
    ended(page, 3)


def test_a_turn_survives_a_reload_and_is_stopped_while_others_wait(visitor: Visitor, hub: RunningHub) -> None:
    page = visitor.start()
    send(page, "wait")
    page.wait_for_selector(".agent")
    send(page, "count to three")
    page.wait_for_selector(".queue li")
    page.reload()
    page.wait_for_selector(".queue li")
    reads(page, "I am working on it")
    becomes(lambda: page.inner_text(".pill"), "running")
    page.click(".queue >> text=Edit")
    page.fill("dialog textarea", "count")
    page.click("dialog button[type=submit]")
    becomes(lambda: page.inner_text(".queued-text"), "count")
    send(page, "to be withdrawn")
    counts(page, ".queue li", 2)
    page.locator(".queue li").nth(1).get_by_role("button", name="Withdraw").click()
    counts(page, ".queue li", 1)
    page.click(".stop")
    ended(page, 2)
    reads(page, "Stopped by you")
    reads(page, "one two three")
    asked(page, ["wait", "count"])


def test_what_is_written_in_one_session_is_not_sent_to_the_next(visitor: Visitor, hub: RunningHub) -> None:
    """Not even by who presses Enter after they have gone elsewhere, and before that is drawn."""
    other = f"#/s/{say(hub.direct, hub.token, hub.folder, [])}"
    page = visitor.start()
    first = page.evaluate("location.hash")
    page.fill(".composer textarea", "for the first")
    page.evaluate(
        """() => addEventListener("hashchange", () => {
            const key = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true });
            document.querySelector(".composer textarea").dispatchEvent(key);
        }, { once: true })"""
    )
    go(page, other)
    page.wait_for_selector("text=What should the agent do?")
    becomes(lambda: page.input_value(".composer textarea"), "")
    go(page, first)
    becomes(lambda: page.input_value(".composer textarea"), "for the first")
    # Nor what is attached, however long it takes to be read.
    page.evaluate(
        """() => {
            const { arrayBuffer } = Blob.prototype;
            const isWanted = new Promise((resolve) => (window.read = resolve));
            File.prototype.arrayBuffer = async function () {
                await isWanted;
                return arrayBuffer.call(this);
            };
        }"""
    )
    file = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"of the first"}
    page.set_input_files(".composer input[type=file]", file)
    go(page, other)
    page.evaluate("window.read()")
    go(page, first)
    page.wait_for_selector(".shelf >> text=notes.txt")
    go(page, other)
    counts(page, ".shelf .shelved", 0)


def test_what_agents_say_stays_text(visitor: Visitor, hub: RunningHub) -> None:
    requests: list[str] = []
    page = visitor.start()
    page.on("request", lambda request: requests.append(request.url))
    send(page, "hostile")
    ended(page, 1)
    page.locator(".tool summary").click()
    says(page, ".timeline", "<script>document.title='owned'</script><img src=x", "U+202E", "BEL")
    says(page, ".tool-title", "<b>bold</b>")
    says(page, ".command", "ESC")
    assert page.locator(".timeline img, .timeline script, .timeline a, .timeline b").count() == 0
    page.click("text=click")
    page.wait_for_selector("dialog >> text=can't be opened")
    page.keyboard.press("Escape")
    closes(page)
    page.click("button.link >> text=https://good.example")
    becomes(lambda: page.inner_text("dialog strong"), "evil.example")
    assert page.get_attribute("dialog a", "rel") == "noopener noreferrer nofollow"
    page.keyboard.press("Escape")
    closes(page)
    send(page, "line")
    ended(page, 2)
    fits(page, DESK["width"])
    assert "owned" not in page.title()
    assert all(url.startswith((hub.url, "data:")) for url in requests)


def test_a_wrong_token_is_told_and_the_right_one_opens_as_does_a_link_with_it(
    stranger: Visitor, hub: RunningHub
) -> None:
    page = stranger.open(signed_in=False, viewport=PHONE)
    page.fill("#token", "wrong")
    page.click("button[type=submit]")
    page.wait_for_selector("text=is not valid for this hub")
    if AXE.is_file():
        assert faults(page) == []
    page.fill("#token", hub.token)
    page.click("button[type=submit]")
    page.wait_for_selector(".app[data-health=live]")
    page.evaluate("localStorage.clear()")
    page.reload()
    page.wait_for_selector(".sign-in")
    page.evaluate(f"location.hash = '#token={hub.token}'")
    page.wait_for_selector(".side-head")
    assert "token" not in page.url


def test_search_files_commands_and_the_way_out(visitor: Visitor, hub: RunningHub) -> None:
    (hub.folder / "needle.txt").write_text("x")
    page = visitor.start()
    send(page, "show me the zebra crossing")
    ended(page, 1)
    page.fill(".composer textarea", "/rev")
    page.wait_for_selector(".completion .option")
    page.keyboard.press("Enter")
    becomes(lambda: page.input_value(".composer textarea"), "/review ")
    page.fill(".composer textarea", "look at @needl")
    page.wait_for_selector(".completion >> text=needle.txt")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    ended(page, 2)
    becomes(lambda: page.inner_text(".bubble .chip"), "needle.txt")
    with page.expect_download() as saving:
        page.click("button[aria-label='Session menu']")
        page.click("text=Export as HTML")
    saved = Path(saving.value.path()).read_text()
    assert "lost one character" in saved
    assert "which is where the report points" in saved
    assert "hl-keyword" in saved
    assert "<script" not in saved
    page.click("a.brand")
    page.wait_for_selector(".app[data-route=home]")
    page.keyboard.press("/")
    page.fill(".search-field", "zebra")
    page.click(".found-one")
    page.wait_for_selector(".item.found >> text=zebra crossing")


def test_there_are_no_barriers_on_a_full_screen(visitor: Visitor, hub: RunningHub) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed (npm ci in packages/hub/web)")
    page = visitor.start()
    send(page, "show")
    ended(page, 1)
    send(page, "run it")
    page.wait_for_selector(".asks .risk")
    page.wait_for_selector("nav[aria-label=Turns] .turn-mark >> nth=1")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert faults(page) == [], scheme
    draw(page, "approval-dark")
    page.set_viewport_size(PHONE)
    draw(page, "session-phone")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.wait_for_selector("dialog")
    assert faults(page, "dialog") == []
    page.keyboard.press("Escape")
    page.click(".asks .reject_once")
    ended(page, 2)


@pytest.mark.slow  # tests/agents/review/test_agent.py reviews files; the first run has a turn in the page
def test_the_reviewer_reviews_a_file_in_the_page(visitor: Visitor, hub: RunningHub) -> None:
    folder = hub.folder / "reviewed"
    folder.mkdir()
    (folder / "bad.py").write_text("def f(items=[]):\n    items.append(1)\n    return items == None\n")
    page = visitor.open()
    page.click("button[aria-label='New session']")
    page.fill("#new-cwd", str(folder))
    page.get_by_label(re.compile("review", re.IGNORECASE)).first.check()
    page.click("dialog button[type=submit]")
    page.wait_for_selector(".composer textarea:enabled")
    send(page, "/review bad.py")
    ended(page, 1)
    reads(page, "bad.py")


def test_a_link_that_is_asked_for_is_shown_whole_and_leads_nowhere_by_itself(
    visitor: Visitor, hub: RunningHub
) -> None:
    requests: list[str] = []
    other = f"#/s/{say(hub.direct, hub.token, hub.folder, [])}"
    page = visitor.start(viewport=PHONE)
    page.on("request", lambda request: requests.append(request.url))
    send(page, "send me")
    page.wait_for_selector(".asks .card")
    shown = page.inner_text(".asks .link")
    assert shown.startswith("https://sign.in.example/oauth?client=guide&state=")
    assert shown.endswith("so-that-nothing-may-be-cut")
    assert page.locator(".asks a").count() == 0
    fits(page, PHONE["width"])
    go(page, other)
    badge, title = (page.locator(name).bounding_box() for name in (".back .badge", ".session-h .plain"))
    assert badge["x"] + badge["width"] <= title["x"]  # what waits elsewhere covers no name
    page.go_back()
    page.click(".asks .link")
    becomes(lambda: page.inner_text("dialog strong"), "sign.in.example")
    assert page.get_attribute("dialog a", "href") == shown
    page.keyboard.press("Escape")
    closes(page)
    assert all(url.startswith((hub.url, "data:")) for url in requests)
    page.click(".asks button[type=submit]")
    ended(page, 1)
    reads(page, "'action': 'accept'")


def test_a_sound_is_played_when_it_is_asked_for(visitor: Visitor, hub: RunningHub) -> None:
    page = visitor.start()
    send(page, "sing")
    ended(page, 1)
    assert page.locator("audio").count() == 0
    page.click("text=Show sound")
    page.wait_for_selector("audio[controls]", state="attached")
    page.evaluate("document.querySelector('audio').play()")
    page.wait_for_function("() => document.querySelector('audio').ended")


def test_who_may_only_watch_is_offered_nothing_and_refused_by_the_hub(
    visitor: Visitor, hub: RunningHub
) -> None:
    owner = visitor.start()
    send(owner, "run it")
    owner.wait_for_selector(".asks .risk")
    watching = Visitor(visitor.context.browser.new_context(reduced_motion="reduce"), hub, visitor.complaints)
    page = watching.open(token=hub.watcher)
    go(page, owner.evaluate("location.hash"))
    page.wait_for_selector(".asks .card .command")
    says(page, ".asks .risks", "curl or wget piped into a shell")
    counts(page, ".composer, .asks .choice, .settings select", 0)
    says(page, ".asks .card", "You can watch")
    page.keyboard.press("a")
    page.keyboard.press("1")  # keys offer no more than the eye
    session = owner.evaluate("decodeURIComponent(location.hash.slice(4))")
    assert refusals(hub.direct, hub.watcher, session) == {
        "_dragoman/hub/answer": "approve",
        "session/prompt": "prompt",
    }
    owner.click(".asks .allow_once")
    page.wait_for_selector(".asks", state="detached")
    ended(owner, 1)
    watching.context.close()


def test_a_new_session_asks_for_a_folder_that_exists(visitor: Visitor, hub: RunningHub) -> None:
    (hub.folder / "projects" / "parser").mkdir(parents=True)
    page = visitor.open()
    page.click("button[aria-label='New session']")
    becomes(lambda: page.evaluate("document.activeElement.id"), "new-cwd")
    page.fill("#new-cwd", "/no/such/folder")
    page.click("dialog button[type=submit]")
    page.locator("dialog .fault", has_text="/no/such/folder is not a folder").wait_for()
    radios = page.locator("dialog input[name=agent]")
    assert [radios.nth(at).get_attribute("value") for at in (0, -1)] == ["guide", "echo"]
    page.fill("#new-cwd", str(hub.folder / "projects" / "par"))
    offered = f"#folders .folder[data-path='{hub.folder / 'projects' / 'parser'}']"
    page.wait_for_selector(offered, state="attached")
    counts(page, "dialog .fault:empty", 1)  # nothing is wrong with what was typed since
    page.fill("#new-cwd", str(hub.folder / "projects" / "parser"))
    page.click("dialog button[type=submit]")
    page.wait_for_selector(".composer textarea:enabled")
    page.click(".suggestion >> nth=0")
    page.click(".suggestion >> nth=1")
    becomes(lambda: page.input_value(".composer textarea"), page.inner_text(".suggestion >> nth=1"))
    page.click("button[aria-label='New session']")
    becomes(lambda: page.input_value("#new-cwd"), str(hub.folder / "projects" / "parser"))


def test_a_phone_is_paired_by_a_code_once_and_a_second_one_is_told_why_not(
    stranger: Visitor, hub: RunningHub
) -> None:
    command = [*forks.DRAGOMAN, "hub", "pair", hub.direct, "--address", hub.url, "--json"]
    env = {**os.environ, "DRAGOMAN_TOKEN": hub.token}
    words = ["--name", "phone", "--scope", "observe"]
    with subprocess.Popen([*command, *words], env=env, stdout=subprocess.PIPE, text=True) as pair:
        assert pair.stdout is not None
        address = json.loads(pair.stdout.readline())["address"]
        page = stranger.open(url=address, signed_in=False, viewport=PHONE)
        page.wait_for_selector(".app[data-health=live]")
        device = json.loads(pair.stdout.readline())
    assert pair.returncode == 0
    assert (device["state"], device["name"], device["scopes"]) == ("used", "phone", ["observe"])
    assert "Chrome on" in device["device"]
    assert page.url == hub.url
    page.reload()  # the token was kept, the code is gone
    page.wait_for_selector(".app[data-health=live]")
    page.evaluate("localStorage.clear()")
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector(".sign-in >> text=already used")
    assert page.url == hub.url


SPLIT_WORDS = """() => [...document.querySelectorAll(".table th")].filter((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return range.getClientRects().length > 1;
}).length"""


def test_tables_keep_their_words_whole_and_unknown_updates_are_named(
    visitor: Visitor, hub: RunningHub
) -> None:
    page = visitor.start(viewport=PHONE)
    send(page, "table")
    ended(page, 1)
    page.wait_for_selector(".table th")
    becomes(lambda: page.evaluate(SPLIT_WORDS), 0)
    fits(page, PHONE["width"])
    becomes(
        page.locator(".note").all_inner_texts,
        ["This page can't show 2 updates from the agent: hologram_update"],
    )


def test_a_command_that_prints_is_shown_though_its_agent_calls_it_pending(
    visitor: Visitor, hub: RunningHub
) -> None:
    page = visitor.start()
    send(page, "build")
    page.wait_for_selector(".tool[data-state=in_progress] .terminal >> text=compiling parser.c")
    becomes(lambda: page.inner_text(".tool-state"), "running")
    page.keyboard.press("Control+.")
    ended(page, 1)


def test_options_take_one_row_on_a_phone_and_the_banner_covers_no_title(
    visitor: Visitor, hub: RunningHub
) -> None:
    page = visitor.start(viewport=PHONE)
    send(page, "options")
    ended(page, 1)
    counts(page, ".settings label", 3)
    page.wait_for_function("() => document.querySelector('.settings').offsetHeight < 50")
    hub.wire.cut()
    try:
        page.wait_for_selector(".banner.offline")
        bottom, top = page.evaluate(
            "['.banner', '.session-head'].map((one) => document.querySelector(one).getBoundingClientRect())"
            ".map((box, at) => at ? box.top : box.bottom)"
        )
        assert bottom <= top + 1
    finally:
        hub.wire.mend()
    page.wait_for_selector(".banner", state="detached")
