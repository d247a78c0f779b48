"""States of the page, each a function that brings a page of a real hub there. See `contact_sheet.py`."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.web.conftest import RunningHub, send, start_session
from tests.web.page_sight import ask_for_agent, ended, look_at_agents

POEM = "roses\nviolets\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"

Act = Callable[[Any, "Scene"], None]


@dataclass
class Scene:
    """What the states share: a hub, and a session in each condition by its name."""

    hub: RunningHub
    sessions: dict[str, str] = field(default_factory=dict)

    def go(self, page: Any, name: str) -> None:
        """Open a session that was prepared."""
        page.evaluate("hash => { location.hash = hash }", self.sessions[name])
        page.wait_for_selector(".composer")


@dataclass(frozen=True)
class PageState:
    name: str
    title: str
    act: Act
    variants: tuple[str, ...]


STATES: list[PageState] = []


def state(title: str, *variants: str) -> Callable[[Act], Act]:
    """A state of the page, in these variants; light alone if none is named."""

    def add(act: Act) -> Act:
        name = act.__name__.replace("_", "-")
        STATES.append(PageState(name, title, act, variants or ("light",)))
        return act

    return add


@state("A hub without sessions", "light", "dark", "phone")
def empty_hub(page: Any, scene: Scene) -> None:
    page.wait_for_selector(".app[data-health=live]")


@state("New session", "light", "narrow", "zoom")
def new_session(page: Any, scene: Scene) -> None:
    page.click("button[aria-label='New session']")
    page.wait_for_selector("dialog #new-cwd")


@state("A session before its first prompt", "light", "phone")
def first_session(page: Any, scene: Scene) -> None:
    start_session(page, scene.hub.folder)
    scene.sessions["first"] = page.evaluate("location.hash")


@state("A turn that has ended: thought, plan, tools, code, table", "light", "dark", "phone", "zoom")
def ended_turn(page: Any, scene: Scene) -> None:
    if "done" not in scene.sessions:
        folder = scene.hub.folder / "parser"
        folder.mkdir()
        (folder / "poem.txt").write_text(POEM)
        (folder / "src").mkdir()
        (folder / "src/parser.py").write_text("def split(text, at):\n    return text[:at], text[at:]\n" * 40)
        _git(folder)
        _begin(page, scene, "done", "Please fix the parser", folder=folder)
        ended(page, 1)
        return
    scene.go(page, "done")
    page.wait_for_selector(".item.of-end")


@state("A plan, and a thought that is open")
def plan(page: Any, scene: Scene) -> None:
    scene.go(page, "done")
    page.wait_for_selector(".item.of-end")
    page.evaluate("document.querySelector('.timeline').scrollTop = 0")
    page.click(".thought summary")
    page.wait_for_selector(".plan-list")


@state("What a turn changed", "light", "dark", "phone", "narrow", "zoom")
def changes(page: Any, scene: Scene) -> None:
    scene.go(page, "done")
    page.click(".changed-bar")
    page.wait_for_selector(".hunk")


@state("What a turn changed, side by side")
def changes_side_by_side(page: Any, scene: Scene) -> None:
    changes(page, scene)
    page.click("text=Side by side")
    page.wait_for_selector(".diff.split")


@state("Files that would be put back to before a turn", "light", "dark", "phone", "narrow", "zoom")
def rewind(page: Any, scene: Scene) -> None:
    if "rewind" not in scene.sessions:
        folder = scene.hub.folder / "rewind"
        folder.mkdir()
        (folder / "poem.txt").write_text(POEM)
        (folder / "src").mkdir()
        _begin(page, scene, "rewind", "Please fix the parser", folder=folder)
        ended(page, 1)
        page.wait_for_selector(".changed-bar")
        (folder / "src/notes.txt").write_text("typed by a person\n")
    scene.go(page, "rewind")
    page.click(".turn-menu", force=True)
    page.click("text=Put files back")
    page.wait_for_selector(".rewound input")


@state("The menu of a message", "light", "phone")
def turn_menu(page: Any, scene: Scene) -> None:
    scene.go(page, "rewind")
    page.click(".turn-menu", force=True)


@state("A fork of a message into a new folder", "light", "dark", "phone", "narrow", "zoom")
def fork(page: Any, scene: Scene) -> None:
    turn_menu(page, scene)
    page.click("text=Fork into a new folder")
    page.wait_for_selector("form.fork")


@state("Files that were put back", "dark")
def rewound(page: Any, scene: Scene) -> None:
    rewind(page, scene)
    page.click(".rewind .choice")
    page.wait_for_selector(".rewind >> text=Undo")


@state("A commit", "light", "dark", "phone", "narrow", "zoom")
def commit(page: Any, scene: Scene) -> None:
    changes(page, scene)
    page.click(".changes-head >> text=Commit")
    page.wait_for_selector(".commit-files input:checked")


@state("A commit that cannot be made")
def commit_refused(page: Any, scene: Scene) -> None:
    merge = scene.hub.folder / "parser/.git/MERGE_HEAD"
    merge.write_text("0" * 40)
    try:
        changes(page, scene)
        page.click(".changes-head >> text=Commit")
        page.wait_for_selector(".commit .fault >> text=merge")
    finally:
        merge.unlink()


@state("A file, read only", "light", "dark", "narrow", "zoom")
def file_view(page: Any, scene: Scene) -> None:
    if "point" not in scene.sessions:
        _begin(page, scene, "point", "point at the parser", folder=scene.hub.folder / "parser")
        ended(page, 1)
    scene.go(page, "point")
    page.click(".agent button[data-file] >> nth=0")
    page.wait_for_selector(".file-line.wanted")


@state("Who wrote the lines of a file", "light", "dark", "phone", "narrow", "zoom")
def blame(page: Any, scene: Scene) -> None:
    if "blame" not in scene.sessions:
        folder = scene.hub.folder / "blame"
        folder.mkdir()
        _begin(page, scene, "blame", "Write the parser in a file of its own", folder=folder)
        page.click(".asks button >> text=Allow")
        ended(page, 1)
        page.wait_for_selector(".changed-bar")
        send(page, "Keep what lies between the halves")
        ended(page, 2)
        with (folder / "parser.py").open("a") as file:
            file.write("\n\n# to do: join them again\n")
    scene.go(page, "blame")
    page.click(".tool .blame-link >> nth=-1")
    page.wait_for_selector(".by-person .blame-who")


@state("A turn that runs, with a queue", "light", "dark", "phone")
def running_turn(page: Any, scene: Scene) -> None:
    if "running" not in scene.sessions:
        _begin(page, scene, "running", "wait")
        page.wait_for_selector(".agent")
        send(page, "Then write a test for it")
    scene.go(page, "running")
    page.wait_for_selector(".queue li")


@state("An approval", "light", "dark", "phone", "narrow", "zoom")
def approval(page: Any, scene: Scene) -> None:
    if "approval" not in scene.sessions:
        _begin(page, scene, "approval", "run the installer")
    scene.go(page, "approval")
    page.wait_for_selector(".asks .risk")


@state("The inbox", "light", "phone")
def inbox(page: Any, scene: Scene) -> None:
    page.evaluate("location.hash = '#/'")
    page.wait_for_selector(".card .risk")


@state("A question with a form", "light", "narrow", "zoom")
def form(page: Any, scene: Scene) -> None:
    if "form" not in scene.sessions:
        _begin(page, scene, "form", "ask me")
    scene.go(page, "form")
    page.wait_for_selector(".asks .form")


@state("Subagents that ask", "light", "phone")
def subagents(page: Any, scene: Scene) -> None:
    if "family" not in scene.sessions:
        _begin(page, scene, "family", "Go", agent="family")
    scene.go(page, "family")
    page.wait_for_selector(".asks .card:nth-child(3)")
    page.wait_for_selector(".family li li li a")


@state("Tool calls in a row, folded")
def tools_folded(page: Any, scene: Scene) -> None:
    if "tools" not in scene.sessions:
        _begin(page, scene, "tools", "call 6 tools")
        ended(page, 1)
    scene.go(page, "tools")
    page.wait_for_selector(".run-head:visible")


@state("Tool calls in a row, open")
def tools_open(page: Any, scene: Scene) -> None:
    scene.go(page, "tools")
    page.click(".run-head")
    page.wait_for_selector(".item.of-tool.drawn:not(.folded)")


@state("Right-to-left and Chinese text", "light", "phone")
def many_tongues(page: Any, scene: Scene) -> None:
    if "tongues" not in scene.sessions:
        _begin(page, scene, "tongues", "speak in many tongues")
        ended(page, 1)
    scene.go(page, "tongues")
    page.wait_for_selector(".item.of-end")


@state("Text that tries to deceive")
def hostile(page: Any, scene: Scene) -> None:
    if "hostile" not in scene.sessions:
        _begin(page, scene, "hostile", "hostile")
        ended(page, 1)
    scene.go(page, "hostile")
    page.click(".tool summary")


@state("A turn that failed: no credit is left", "light", "dark", "phone")
def failed_turn(page: Any, scene: Scene) -> None:
    if "failed" not in scene.sessions:
        _begin(page, scene, "failed", "break the build")
    scene.go(page, "failed")
    page.wait_for_selector(".item.of-end")


@state("An agent that died, and what it wrote last", "light", "dark", "phone")
def dead_agent(page: Any, scene: Scene) -> None:
    if "dead" not in scene.sessions:
        _begin(page, scene, "dead", "die now", agent="mortal")
    scene.go(page, "dead")
    page.click(".end-words summary")
    page.wait_for_selector(".end-words[open] pre")


@state("The board", "light", "dark", "phone", "zoom")
def board(page: Any, scene: Scene) -> None:
    page.keyboard.press("b")
    page.wait_for_selector(".tile-line")


@state("The palette", "light", "dark", "narrow", "zoom")
def palette(page: Any, scene: Scene) -> None:
    scene.go(page, "done")
    page.wait_for_selector(".item.of-end")
    page.keyboard.press("Control+k")
    page.wait_for_selector(".palette-entry")


@state("Search all sessions", "light", "narrow", "zoom")
def search(page: Any, scene: Scene) -> None:
    page.keyboard.press("Control+Shift+f")
    page.fill(".search-field", "parser")
    page.wait_for_selector(".found-one")


@state("Two sessions beside each other")
def two_sessions(page: Any, scene: Scene) -> None:
    scene.go(page, "done")
    page.wait_for_selector(".item.of-end")
    page.keyboard.press("Escape")
    page.keyboard.press("s")
    page.wait_for_selector(".palette-entry")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('.pane').length === 2")


@state("Agents, with reasons", "light", "dark", "phone")
def agents(page: Any, scene: Scene) -> None:
    page.evaluate("location.hash = '#/agents'")
    page.wait_for_selector(".agent-list li")


@state("Agents you can add", "light", "phone")
def addable_agents(page: Any, scene: Scene) -> None:
    look_at_agents(page)
    page.click(".addable summary")
    page.locator("[data-listed]").first.scroll_into_view_if_needed()


@state("An agent is to be added: what will run", "light", "dark", "phone", "narrow", "zoom")
def adding_agent(page: Any, scene: Scene) -> None:
    look_at_agents(page)
    ask_for_agent(page, "tiny")


@state("An agent is being added", "light", "phone")
def agent_on_its_way(page: Any, scene: Scene) -> None:
    look_at_agents(page)
    page.wait_for_selector(".addable")
    if not page.locator(".job").count():
        ask_for_agent(page, "slow")
        page.click("dialog .card-actions >> text=Add")
    page.wait_for_selector(".job >> text=Cancel")


@state("An agent that was not added, and its last words", "light", "dark", "phone")
def agent_not_added(page: Any, scene: Scene) -> None:
    look_at_agents(page)
    page.wait_for_selector(".addable")
    if page.locator(".job >> text=Cancel").count():
        page.click(".job >> text=Cancel")
        page.wait_for_selector(".job", state="detached")
    ask_for_agent(page, "damaged")
    page.click("dialog .card-actions >> text=Add")
    page.wait_for_selector(".job >> text=was not added")
    page.click(".job summary")


@state("Settings", "light", "dark", "phone", "zoom")
def settings(page: Any, scene: Scene) -> None:
    page.keyboard.press(",")
    page.wait_for_selector("#settings-title")


@state("Add a hub", "light", "narrow", "zoom")
def add_hub(page: Any, scene: Scene) -> None:
    settings(page, scene)
    page.click("button >> text=Add a hub")
    page.wait_for_selector("#hub-link")


@state("Keys", "light", "narrow")
def keys(page: Any, scene: Scene) -> None:
    page.keyboard.press("?")
    page.wait_for_selector("dialog .keys")


@state("The menu of a session", "light", "zoom")
def session_menu(page: Any, scene: Scene) -> None:
    scene.go(page, "done")
    page.click("button[aria-label='Session menu']")
    page.wait_for_selector(".menu")


@state("Archived sessions", "light", "phone")
def archived(page: Any, scene: Scene) -> None:
    if "first" in scene.sessions:
        scene.go(page, "first")
        page.click("button[aria-label='Session menu']")
        page.click("text=Archive session")
        page.wait_for_selector(".pane", state="detached")
        del scene.sessions["first"]
    page.click("text=Show archived sessions")
    page.wait_for_selector(".dot.archived")


@state("Sign in", "light", "phone")
def sign_in(page: Any, scene: Scene) -> None:
    page.evaluate("localStorage.clear()")
    page.goto("about:blank")
    page.goto(scene.hub.url)
    page.wait_for_selector(".sign-in")


@state("Not connected", "light", "dark", "phone")
def offline(page: Any, scene: Scene) -> None:
    scene.go(page, "done")
    page.wait_for_selector(".item.of-end")
    scene.hub.wire.cut()
    page.wait_for_selector(".banner.offline")


def _begin(
    page: Any, scene: Scene, name: str, prompt: str, *, folder: Path | None = None, agent: str = ""
) -> None:
    start_session(page, folder or scene.hub.folder, agent=agent)
    scene.sessions[name] = page.evaluate("location.hash")
    send(page, prompt)


def _git(folder: Path) -> None:
    for words in (
        ("init", "--quiet", "-b", "main"),
        ("config", "user.name", "Ann"),
        ("config", "user.email", "ann@example.org"),
        ("add", "."),
        ("commit", "--quiet", "-m", "parser: begin"),
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
