"""One key for what nobody answered in time: the page shows the rule, writes it, and takes it back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dragoman_local.workspace.policy.policy_parser import read_policy
from tests.web.conftest import RunningHub, Visitor, running_hub, send
from tests.web.page_sight import becomes, closes, counts, ended, faults, fits, go, says

pytestmark = pytest.mark.timeout(240)

PHONE = {"width": 390, "height": 780}


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    """A hub of its own: it waits for nobody for long."""
    with running_hub(tmp_path_factory.mktemp("hub"), settings="approvals = { expire = 1 }") as hub:
        yield hub


def test_a_rule_for_what_nobody_answered_is_written_and_taken_back(
    stranger: Visitor, hub: RunningHub
) -> None:
    remembered = hub.folder.parent / "config" / "dragoman" / "remembered.toml"

    def commands() -> list[Any]:
        text = remembered.read_text() if remembered.exists() else ""
        return [rule.command for rule in read_policy(text, "remembered").rules]

    page = stranger.start()
    send(page, "test it")
    ended(page, 1)
    page.locator(".note .remedy >> text=Allow in this project").click()
    says(page, "dialog pre", 'decision = "allow"', "npm test")
    says(page, "dialog", "remembered.toml")
    assert commands() == []
    assert faults(page, "dialog") == []
    page.keyboard.press("Enter")  # what writes it has the focus
    says(page, "dialog [role=status]", "Allowed from now on: `npm test` in ")
    assert commands() == [(("npm", "test"),)]
    page.get_by_role("button", name="Done").click()
    closes(page)
    send(page, "test it")
    ended(page, 2)
    says(page, ".reading", "It passes.")
    page.evaluate("location.hash = '#/'")
    page.wait_for_selector(".inbox:visible")
    counts(page, ".denied li", 0)
    page.set_viewport_size(PHONE)
    other = stranger.start(viewport=PHONE)
    send(other, "deploy it")
    ended(other, 1)
    says(page, ".denied", "npm run deploy", "nobody answered in time")
    fits(page, PHONE["width"])
    assert faults(page, ".denied") == []
    page.locator(".denied .remedy >> text=Allow in this project").click()
    page.get_by_role("button", name="Write this rule").click()
    page.get_by_role("button", name="Take back").wait_for()
    fits(page, PHONE["width"])
    becomes(commands, [(("npm", "test"),), (("npm", "run", "deploy"),)])
    page.get_by_role("button", name="Take back").click()
    page.get_by_role("button", name="Write this rule").wait_for()
    assert commands() == [(("npm", "test"),)]


def test_the_next_try_of_what_nobody_answered_is_allowed_once(stranger: Visitor) -> None:
    page = stranger.start()
    send(page, "ship it")
    ended(page, 1)
    page.evaluate("location.hash = '#/'")
    denied = page.locator(".denied li", has_text="npm run ship")
    denied.locator("text=Allow next try").click()
    says(page, "dialog", "npm run ship", "Nothing happens before the agent tries again.")
    assert faults(page, "dialog") == []
    page.keyboard.press("Enter")  # what allows it has the focus
    says(page, "dialog [role=status]", "Allowed once.")
    page.get_by_role("button", name="Done").click()
    closes(page)
    becomes(denied.count, 0)
    page.go_back()
    says(page, ".reading", "Allowed once:")
    send(page, "ship it")
    ended(page, 2)
    says(page, ".reading", "It passes.")
    send(page, "ship it")
    ended(page, 3)
    page.locator(".note .remedy >> text=Allow next try").nth(1).wait_for()


def test_who_only_watches_has_no_key_for_rules(stranger: Visitor, hub: RunningHub) -> None:
    owner = stranger.start()
    send(owner, "ship it")
    ended(owner, 1)
    owner.wait_for_selector(".note .remedy")
    watcher = stranger.open(token=hub.watcher)
    go(watcher, owner.evaluate("location.hash"))
    watcher.wait_for_selector(".note .remedy")
    assert watcher.locator(".remedy >> text=Allow in this project").count() == 0
