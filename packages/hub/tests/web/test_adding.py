"""Agents of the hub's list are added from the page and removed again, in a real browser: real installations
from a shelf, without a network.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from websockets.sync.client import connect

from dragoman.testing.pace import patience
from tests.web.conftest import BROWSING, DESK, PHONE, RunningHub, Visitor, running_hub, send
from tests.web.page_sight import AXE, CRAMPED, ask_for_agent, ended, faults, look_at_agents

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    with running_hub(tmp_path_factory.mktemp("hub"), shelf=True) as hub:
        yield hub


@pytest.fixture
def visitor(browser: Any, hub: RunningHub) -> Iterator[Visitor]:
    with closing(browser.new_context(**BROWSING)) as context:
        one = Visitor(context, hub)
        yield one
    assert one.complaints == []


def test_an_agent_is_added_from_the_page_used_and_removed_again(visitor: Visitor, hub: RunningHub) -> None:
    page = visitor.open()
    look_at_agents(page)
    page.wait_for_selector(".addable")
    question = ask_for_agent(page, "tiny")
    for words in ("download tiny-1.0.0.tar.gz", "check it by SHA-256", "unpack it", "MIT", "tiny.example"):
        assert words in question
    assert page.evaluate("document.activeElement.innerText") == "Add Tiny"
    if AXE.is_file():
        assert faults(page, "dialog") == []
    for viewport in (PHONE, DESK):
        page.set_viewport_size(viewport)
        assert page.evaluate(CRAMPED) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    page.click("dialog .card-actions >> text=Add Tiny")
    page.wait_for_selector("[data-agent=tiny]")
    assert page.locator("[data-listed=tiny]").count() == 0
    page.click("[data-agent=tiny] >> text=New session")
    assert page.is_checked("dialog input[value=tiny]")
    page.fill("#new-cwd", str(hub.folder))
    page.click("dialog button[type=submit]")
    page.wait_for_selector(".composer textarea:enabled")
    send(page, "good morning")
    ended(page, 1)
    assert "You said: good morning" in page.inner_text(".agent")

    look_at_agents(page)
    page.click("[data-agent=tiny] >> text=Remove")
    page.click("dialog .card-actions >> text=Remove")
    page.wait_for_selector("[data-agent=tiny]", state="detached")
    page.wait_for_selector("[data-listed=tiny]", state="attached")


def test_a_failed_one_has_its_last_words_and_a_slow_one_is_cancelled(visitor: Visitor) -> None:
    page = visitor.open()
    look_at_agents(page)
    ask_for_agent(page, "damaged")
    page.click("dialog .card-actions >> text=Add Damaged")
    page.wait_for_selector(".job >> text=was not added")
    assert "nothing was unpacked" in page.inner_text(".job .note")
    page.click(".job summary")
    assert "check it by SHA-256" in page.inner_text(".job pre")
    if AXE.is_file():
        assert faults(page, ".job") == []
    ask_for_agent(page, "slow")
    page.click("dialog .card-actions >> text=Add Slow")
    page.wait_for_selector(".job >> text=Adding Slow")
    assert page.locator("[data-listed=slow] button[disabled]").count() == 1
    if AXE.is_file():
        assert faults(page, ".job") == []
    page.click(".job >> text=Cancel")
    page.wait_for_selector(".job", state="detached")
    page.wait_for_selector("[data-listed=slow] button:not([disabled])")


def test_who_may_not_administer_sees_no_way_to_add_and_is_refused(visitor: Visitor, hub: RunningHub) -> None:
    page = visitor.open(token=hub.watcher)
    look_at_agents(page)
    page.wait_for_function("() => document.querySelectorAll('.agent-list li').length > 2")
    assert page.locator(".addable, .agent-add, .job").count() == 0
    headers = {"authorization": f"Bearer {hub.watcher}"}
    with connect(f"{hub.direct.replace('http', 'ws', 1)}acp", additional_headers=headers) as wire:
        requests = [
            ("initialize", {"protocolVersion": 1, "clientCapabilities": {}}),
            ("_dragoman/hub/agents/registry", {}),
            ("_dragoman/hub/agents/install", {"agent": "tiny", "plan": "x"}),
            ("_dragoman/hub/agents/uninstall", {"agent": "tiny"}),
        ]
        answers = []
        for number, (method, params) in enumerate(requests):
            wire.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
            while (answer := json.loads(wire.recv(patience(60)))).get("id") != number:
                pass
            answers.append(answer)
    assert [answer.get("error", {}).get("data") for answer in answers] == [None, *[{"scope": "admin"}] * 3]
