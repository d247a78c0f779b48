"""The board, the palette, the split view, files, agents and settings, in one browser against one hub."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.web.conftest import DESK, PHONE, RunningHub, Visitor, draw, running_hub, send, start_session
from tests.web.page_sight import (
    AXE,
    CRAMPED,
    becomes,
    closes,
    counts,
    ended,
    faults,
    fits,
    go,
    reads,
    says,
)
from tests.web.random_scrolls import close, say

pytestmark = pytest.mark.timeout(240)

FOCUS = "() => document.activeElement?.closest('.tile')?.querySelector('.tile-title').innerText ?? ''"
SEEN = """() => {
    const line = document.querySelector(".file-line.wanted")?.getBoundingClientRect();
    const box = document.querySelector(".file-lines")?.getBoundingClientRect();
    return Boolean(line && box && line.top >= box.top && line.bottom <= box.bottom);
}"""
ZOOMED = {"width": 640, "height": 400}
"""A desk at 200 %."""
COVERED = """() => {
    const [box, field, foot] = ["dialog.commit", "#commit-message", ".commit .card-actions"].map(
        (name) => document.querySelector(name));
    let most = 0;
    for (let top = 0; top <= box.scrollHeight - box.clientHeight; top += 8) {
        box.scrollTop = top;
        most = Math.max(most, field.getBoundingClientRect().bottom - foot.getBoundingClientRect().top);
    }
    return Math.max(0, most);
}"""
"""Pixels of the message that the foot of the commit covers, at most, however far it is scrolled."""
COLOUR = "() => getComputedStyle(document.body).backgroundColor"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    """A hub without the sessions of other files: the board shows all there are."""
    with running_hub(tmp_path_factory.mktemp("hub")) as hub:
        yield hub


@pytest.fixture(scope="module")
def sessions(hub: RunningHub) -> Iterator[dict[str, str]]:
    """A session in each state, by the state; each has the address of its own. Turns that nobody ended are
    ended here: a hub that is asked to go waits half a minute for them.
    """
    work = hub.folder / "parser"
    work.mkdir()
    (work / "poem.txt").write_text("roses\nviolets\nthree\n")
    made = {
        "done": say(hub.direct, hub.token, work, ["Please fix the parser"]),
        "failed": say(hub.direct, hub.token, work, ["break the build"], may_fail=True),
        "running": say(hub.direct, hub.token, work, [], then="wait"),
        "needs": say(hub.direct, hub.token, work, [], then="run the installer"),
    }
    yield {state: f"#/s/{session}" for state, session in made.items()}
    close(hub.direct, hub.token, made.values())


def choose(page: Any, title: str, *keys: str) -> None:
    """Press keys: then the tile with this title has the focus."""
    for key in keys:
        page.keyboard.press(key)
    becomes(lambda: page.evaluate(FOCUS), title)


def test_the_board_shows_each_session_in_its_state_with_its_last_line_cost_and_changes(
    visitor: Visitor, sessions: dict[str, str]
) -> None:
    page = visitor.open()
    page.keyboard.press("b")
    page.wait_for_selector(".tile-line.live >> text=I am working on it")
    page.wait_for_selector(".of-failed .tile-line.error >> text=no credit is left")
    says(page, ".board-column.of-needs", "Run the installer")
    page.wait_for_selector(".board-column.of-needs >> text=/high/i")
    says(page, ".board-column.of-done", "0.31 USD", "+8 −1", "guide")
    assert page.locator(".of-running .tile-time").inner_text().endswith(("s", "min"))
    becomes(lambda: page.inner_text(".board-cost"), "0.31 USD")
    if AXE.is_file():
        assert faults(page) == []
    draw(page, "board-desk")
    page.set_viewport_size(PHONE)
    fits(page, PHONE["width"])


def test_keys_move_on_the_board_filter_it_and_open_two_sessions_beside_each_other(
    stranger: Visitor, sessions: dict[str, str]
) -> None:
    page = stranger.open()
    page.keyboard.press("b")
    page.wait_for_selector(".of-needs .tile")
    choose(page, "run the installer", "j")
    choose(page, "wait", "j")
    choose(page, "break the build", "l", "l")
    choose(page, "wait", "h", "k")
    page.keyboard.press("Enter")
    page.wait_for_selector(".pane .working")
    page.keyboard.press("Escape")  # out of the field
    page.keyboard.press("b")
    page.fill(".board-filter", "break")
    counts(page, ".tile", 1)
    page.locator(".tile").focus()
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector(".split .pane:nth-of-type(2) .end.bad")
    counts(page, ".pane .working", 1)
    page.locator(".pane textarea").nth(0).fill("left draft")
    page.locator(".pane textarea").nth(1).fill("right draft")
    page.reload()
    page.wait_for_selector(".split .pane:nth-of-type(2) .end.bad")
    fields = page.locator(".pane textarea")
    becomes(lambda: [field.input_value() for field in fields.all()], ["left draft", "right draft"])
    page.locator("[aria-label='Close this side']").nth(0).click()
    counts(page, ".pane", 1)
    becomes(lambda: page.evaluate("location.hash"), sessions["failed"])
    becomes(lambda: page.input_value(".pane textarea"), "right draft")


def test_the_palette_finds_acts_sessions_and_text(visitor: Visitor, sessions: dict[str, str]) -> None:
    page = visitor.open()
    page.wait_for_selector("a.session")
    page.keyboard.press("Control+k")
    page.keyboard.type("board")
    page.keyboard.press("Enter")
    page.wait_for_selector(".board")
    page.keyboard.press("Control+k")
    page.keyboard.type("break bui")
    page.wait_for_selector(".palette-entry[aria-selected=true] >> text=break the build")
    if AXE.is_file():
        assert faults(page, "dialog") == []
    page.keyboard.press("Enter")
    page.wait_for_selector(".pane .end.bad")
    page.wait_for_selector(".trouble-bar >> text=The agent is out of quota.")
    page.click(".trouble-bar >> text=Hand over")
    page.wait_for_selector(".menu-item >> text=Hand over to family")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type("lost one character")
    page.wait_for_selector(".palette-entry >> text=Search all sessions for")
    page.keyboard.press("Enter")
    page.wait_for_selector(".found-one")
    page.keyboard.press("Enter")
    reads(page, "lost one character")


def test_a_chord_opens_the_question_and_a_second_key_confirms_it(
    visitor: Visitor, sessions: dict[str, str]
) -> None:
    page = visitor.open()
    page.keyboard.press("b")
    page.wait_for_selector(".of-needs .tile")
    page.keyboard.press("Shift+A")
    page.wait_for_selector("dialog.decision .command")
    says(page, "dialog.decision .command", "so-that-nothing-may-be-cut")
    page.wait_for_selector("dialog.decision .risk.high")
    page.wait_for_selector("dialog.decision .card:focus")  # no answer has the focus
    page.keyboard.press("Enter")  # says nothing: what is risky needs its number
    assert page.locator("dialog.decision").count() == 1
    page.keyboard.press("1")
    page.wait_for_selector("dialog.decision", state="detached")
    page.wait_for_selector(".of-done .tile >> text=It is installed.")
    counts(page, ".of-needs .tile", 0)
    go(page, sessions["needs"])
    ended(page, 1)
    go(page, sessions["running"])
    page.wait_for_selector(".working")
    page.keyboard.press("Control+.")
    ended(page, 1)


def wanted(page: Any) -> list[str]:
    """The line that the view of a file is opened at: its number and its text."""
    page.wait_for_function(SEEN)
    shown = [page.inner_text(".file-line.wanted .number"), page.inner_text(".file-line.wanted code")]
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    return shown


def written(hub: RunningHub) -> Path:
    """A repository with a file of 160 lines, and a file beside the repository."""
    folder = hub.folder / "places"
    (folder / "src").mkdir(parents=True)
    (folder / ".git").mkdir()
    lines = ["import os", "", "def split(text: str) -> list[str]:"] + [
        f"    # line {n}" for n in range(4, 161)
    ]
    (folder / "src" / "parser.py").write_text("\n".join(lines) + "\n")
    (hub.folder / "outside.txt").write_text("not of this session")
    return folder


def test_a_place_in_a_tool_call_in_prose_and_in_the_palette_opens_the_file_at_its_line(
    visitor: Visitor, hub: RunningHub
) -> None:
    folder = written(hub)
    page = visitor.open()
    page.keyboard.press("n")
    page.fill("#new-cwd", str(folder / "s"))
    page.wait_for_selector(".folder >> text=git")
    says(page, ".folder >> nth=0", str(folder))
    page.press("#new-cwd", "Escape")
    closes(page)
    start_session(page, folder)
    send(page, "point at it")
    ended(page, 1)
    page.click(".tool .chip")
    page.wait_for_selector(".file-line .hl-keyword")
    if AXE.is_file():
        assert faults(page, "dialog") == []
    assert wanted(page) == ["150", "    # line 150"]
    assert page.locator(".tool[open]").count() == 0, "the link folds nothing"
    page.click(".agent .link >> text=src/parser.py:3")
    assert wanted(page) == ["3", "def split(text: str) -> list[str]:"]
    page.click(".agent .link >> text=the start")
    assert wanted(page) == ["1", "import os"]
    page.click(".agent .link >> text=that")
    page.wait_for_selector("dialog [role=alert] >> text=outside the folders")
    assert "not of this session" not in page.inner_text("dialog")
    page.keyboard.press("Escape")
    closes(page)
    page.keyboard.press("Escape")
    page.set_viewport_size(PHONE)
    page.keyboard.press("Control+k")
    page.keyboard.type("open a file")
    page.wait_for_selector(".palette-entry[aria-selected=true] >> text=Open a file")
    page.keyboard.press("Enter")
    page.wait_for_selector("[aria-label='Find a file of this session']:focus")
    page.keyboard.type("prsr")
    page.wait_for_selector(".palette-entry >> text=src/parser.py")
    page.keyboard.press("Enter")
    page.wait_for_selector(".file-line")
    fits(page, PHONE["width"])


def test_agents_are_shown_with_their_state_last_words_and_an_examination(
    visitor: Visitor, hub: RunningHub
) -> None:
    page = visitor.start()
    send(page, "die now")
    page.click(".end-words summary")
    words = page.locator(".end-words pre")
    becomes(lambda: words.inner_text().splitlines()[-1], "guide: the licence has run out")
    sentence = page.locator(".end.bad > p").bounding_box()
    assert words.bounding_box()["y"] > sentence["y"] + sentence["height"]  # below it, not beside it
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    failed = page.locator("[data-agent=guide] .note.bad")
    says(page, "[data-agent=guide] .note.bad", "status 3")
    failed.locator("summary").click()
    says(page, "[data-agent=guide] .note.bad pre", "the licence has run out")
    page.locator("[data-agent=echo]").get_by_role("button", name="Test", exact=True).click()
    page.wait_for_selector("[data-agent=echo] .findings >> text=The agent works.")
    assert page.locator("[data-agent=echo] .findings li").count() > 2
    page.click(".addable summary")
    says(page, ".addable .note", "only the agents of its configuration")
    assert page.locator(".addable button >> text=Add").count() == 0
    page.click(".agent-missing summary")
    says(page, ".agent-missing", "install")
    if AXE.is_file():
        assert faults(page) == []
    page.set_viewport_size(PHONE)
    fits(page, PHONE["width"])


def test_theme_and_density_are_chosen_and_kept(stranger: Visitor) -> None:
    page = stranger.open()
    light = page.evaluate(COLOUR)
    page.keyboard.press(",")
    page.click(".segment >> text=Dark")
    page.click(".segment >> text=Compact")
    page.wait_for_function(f"light => ({COLOUR})() !== light", arg=light)
    dark = page.evaluate(COLOUR)
    if AXE.is_file():
        assert faults(page) == []
    page.reload()
    page.wait_for_selector(".segment[aria-pressed=true] >> text=Dark")
    becomes(lambda: page.evaluate(COLOUR), dark)
    page.emulate_media(color_scheme="dark")
    page.click(".segment >> text=Light")
    becomes(lambda: page.evaluate(COLOUR), light)
    page.click(".segment >> text=System")
    becomes(lambda: page.evaluate(COLOUR), dark)


def test_an_archived_session_leaves_the_list_and_comes_back(visitor: Visitor, hub: RunningHub) -> None:
    page = visitor.start()
    session = page.url.rpartition("/")[2]
    row = page.locator(f".sessions a[href='#/s/{session}']")
    row.wait_for()
    page.click("button[aria-label='Session menu']")
    page.get_by_text("Archive session", exact=True).click()
    row.wait_for(state="detached")
    page.get_by_text("Show archived sessions", exact=True).click()
    row.wait_for()
    becomes(lambda: row.locator(".dot").get_attribute("aria-label"), "archived")
    draw(page, "archive-desk")
    page.get_by_text("Hide archived sessions", exact=True).click()
    row.wait_for(state="detached")


def test_what_a_turn_changed_is_committed_from_its_changes(visitor: Visitor, hub: RunningHub) -> None:
    folder = hub.folder / "committed"
    folder.mkdir()
    (folder / "poem.txt").write_text("roses\nviolets\n")
    git(folder, "init", "--quiet")
    git(folder, "config", "user.name", "Ann")
    git(folder, "config", "user.email", "ann@example.org")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "poem: begin")
    (folder / "other.txt").write_text("not of the turn\n")
    hook = folder / ".git/hooks/commit-msg"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ngrep -q tulips $1 || { echo 'say which flowers'; exit 1; }\n")
    hook.chmod(0o755)
    page = visitor.start(folder)
    send(page, "Please fix the parser")
    ended(page, 1)
    page.click(".changed-bar")
    page.set_viewport_size(ZOOMED)
    page.click(".changes-head >> text=Commit")
    page.wait_for_selector(".commit-files input[data-path='poem.txt']:checked")
    becomes(lambda: page.evaluate("document.activeElement.id"), "commit-message")
    becomes(lambda: page.evaluate(CRAMPED), [])
    becomes(lambda: page.evaluate(COVERED), 0)
    page.set_viewport_size(DESK)
    assert not page.is_checked(".commit-files input[data-path='other.txt']")
    becomes(lambda: page.input_value("#commit-message"), "Fix the parser")
    says(page, ".commit-about", "commit-msg")
    if AXE.is_file():
        assert faults(page, "dialog") == []
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".commit .output >> text=say which flowers")
    draw(page, "commit-desk")
    page.fill("#commit-message", "poem: tulips")
    page.check(".commit-files input[data-path='other.txt']")
    page.click(".commit button[type=submit] >> text=Commit 2 files")
    page.wait_for_selector(".commit", state="detached")
    page.wait_for_selector(".changes p.faint >> text=Nothing left")
    assert git(folder, "log", "-1", "--name-only", "--format=%s").split() == [
        *("poem:", "tulips", "other.txt", "poem.txt")
    ]
    assert git(folder, "status", "--porcelain") == ""


def tick_all(page: Any) -> None:
    for place in (".turn-menu", "text=Put files back to before this", ".rewind button >> text=Tick all"):
        page.click(place, force=True)
    page.wait_for_selector(".rewind button >> text=Put back 3 files")
    page.keyboard.press("Escape")


def test_files_go_back_to_before_a_message_and_forth_again(visitor: Visitor, hub: RunningHub) -> None:
    folder = hub.folder / "rewound"
    folder.mkdir()
    poem, notes = folder / "poem.txt", folder / "notes.txt"
    poem.write_text("roses\nviolets\n")
    page = visitor.start(folder)
    send(page, "Please fix the parser")
    ended(page, 1)
    page.wait_for_selector(".changed-bar")
    after = poem.read_text()
    notes.write_text("typed\n")
    page.hover(".user")
    page.click(".turn-menu")
    page.click("text=Put files back to before this")
    says(page, ".rewound >> nth=0", "poem.txt", "+1", "−9")
    says(page, ".rewound >> nth=1", "notes.txt", "goes away")
    assert (page.is_checked(".rewound input"), page.locator("text=command ran").count()) == (False, 1)
    draw(page, "rewind-desk")
    assert poem.read_text() == after
    if AXE.is_file():
        assert faults(page, "dialog") == []
    page.click(".rewind button >> text=Put back 1 file")
    says(page, ".rewind", "1 file is put back")
    assert (poem.read_text(), notes.read_text()) == ("roses\nviolets\n", "typed\n")
    reads(page, "Files put back to before turn 1: poem.txt.")
    counts(page, ".changed-bar", 0)
    page.click(".rewind button >> text=Undo")
    says(page, ".rewind", "Undone")
    assert poem.read_text() == after
    page.click(".rewind button >> text=Done")
    closes(page)
    notes.with_name("more.txt").write_text("typed\n")
    tick_all(page)
    watching = visitor.context.browser.new_page()
    watching.goto(f"{hub.url}#token={hub.watcher}")
    watching.wait_for_selector(".app[data-health=live]")
    go(watching, page.url[page.url.index("#") :])
    watching.wait_for_selector(".user")
    assert not watching.is_visible(".turn-menu")
    watching.close()


def test_a_message_is_forked_into_a_worktree_of_its_own(visitor: Visitor, hub: RunningHub) -> None:
    folder = hub.folder / "forked"
    folder.mkdir()
    poem = folder / "poem.txt"
    poem.write_text("roses\nviolets\n")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    page = visitor.start(folder)
    send(page, "Please fix the parser")
    ended(page, 1)
    page.wait_for_selector(".changed-bar")
    after, address = poem.read_text(), page.url
    page.hover(".user")
    page.click(".turn-menu")
    page.click("text=Fork into a new folder")
    says(page, "form.fork", "worktree on a new branch", "stay as they are")
    if AXE.is_file():
        assert faults(page, "dialog") == []
    page.click("form.fork button >> text=Fork")
    closes(page)
    becomes(lambda: page.url != address, True)
    says(page, ".toast", "forked-fork-", "on the new branch fork-")
    counts(page, ".user", 0)
    (place,) = [path for path in hub.folder.iterdir() if path.name.startswith("forked-fork-")]
    assert (place / "poem.txt").read_text() == "roses\nviolets\n" != after
    assert poem.read_text() == after
    assert git(place, "rev-parse", "--abbrev-ref", "HEAD").strip() == place.name.removeprefix("forked-")
    send(page, "Please fix the parser")
    ended(page, 1)
    assert (place / "poem.txt").read_text() == after
    page.wait_for_selector(".changed-bar")
    page.hover(".user")
    page.click(".turn-menu")
    page.click("text=Fork into a new folder")
    page.select_option("#fork-agent", "steerable")
    page.click("form.fork button >> text=Fork")
    closes(page)
    says(page, ".toast", f"{place.name}-fork-", "on the new branch fork-")
    says(page, ".session-head", "steerable")


WINDOWS = {
    "n": "dialog #new-cwd",
    "?": "dialog .keys",
    "Control+k": ".palette-entry",
    "Control+Shift+f": "dialog .search-field",
    "o": ".palette",
    "c": "dialog .hunk",
}
"""Keys that open a window over a session, and what is in it."""


@pytest.mark.in_turn("room")
@pytest.mark.parametrize("room", [ZOOMED, {"width": 320, "height": 568}])
def test_windows_fit_where_there_is_little_room(
    visitor: Visitor, sessions: dict[str, str], room: dict[str, int]
) -> None:
    page = visitor.open(viewport=room)
    go(page, sessions["done"])
    page.wait_for_selector(".changed-bar")

    def has_room(name: str) -> None:
        becomes(lambda: (name, page.evaluate(CRAMPED)), (name, []))

    for key, content in WINDOWS.items():
        page.keyboard.press("Escape")
        page.keyboard.press(key)
        page.wait_for_selector(content)
        has_room(key)
        page.keyboard.press("Escape")
        closes(page)
    page.click("button[aria-label='Session menu']")
    page.wait_for_selector(".menu")
    has_room("menu")
    page.click(".menu >> text=Rename")
    page.wait_for_selector("dialog")
    has_room("rename")
    page.keyboard.press("Escape")
    closes(page)
    page.goto(page.url.partition("#")[0] + "#/settings")
    page.click("button >> text=Add a hub")
    page.wait_for_selector("#hub-link")
    has_room("hub")
    fits(page, room["width"])


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout
