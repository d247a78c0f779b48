"""An agent that lives in a container, from the page: its folders are there, and none of this machine's."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.remote.other_side import make_fake_docker
from tests.web.conftest import BROWSING, RunningHub, Visitor, running_hub, send
from tests.web.page_sight import ended, reads

pytestmark = [pytest.mark.timeout(240), pytest.mark.bound(120)]

HERE = "/nowhere/app"
"""How the folder is called from here; on this machine there is none."""


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home in the container; beside it lies the program that enters it."""
    folder = tmp_path_factory.mktemp("docker")
    make_fake_docker(folder, folder / "cache-there")
    (folder / "box" / "notes.txt").write_text("before\n")
    return folder / "box"


@pytest.fixture(scope="module")
def hub(box: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    settings = (
        f'[agents.far]\ncommand = ["dragoman", "agent", "echo"]\nplace = "docker:box"\n'
        f"map = {json.dumps([f'{HERE}={box}'])}\n"
    )
    path = f"{box.parent / 'bin'}:{os.environ['PATH']}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", path)
        patch.setenv("DRAGOMAN_REMOTE_PYTHON", sys.executable)
        with running_hub(tmp_path_factory.mktemp("hub"), settings=settings) as hub:
            yield hub


@pytest.fixture
def page(browser: Any, hub: RunningHub) -> Iterator[Any]:
    with closing(browser.new_context(**BROWSING)) as context:
        visitor = Visitor(context, hub)
        yield visitor.open()
    assert visitor.complaints == []


def test_a_session_is_begun_in_a_folder_of_the_other_side_and_told_from_this_one(
    page: Any, box: Path
) -> None:
    page.click("button[aria-label='New session']")
    assert page.inner_text("label[for=new-cwd]") == "Folder, on the hub's machine"
    page.check("dialog input[value=far]", force=True)
    assert page.inner_text("label[for=new-cwd]") == "Folder, on docker:box"
    assert page.locator("#folders").is_hidden()
    page.fill("#new-cwd", HERE)
    page.click("dialog button[type=submit]")
    page.wait_for_selector(".composer textarea:enabled")
    send(page, f"/write {box}/notes.txt after")
    page.click(".asks .choice.allow_once")
    ended(page, 1)
    reads(page, "Written.")
    assert (box / "notes.txt").read_text() == "after"
    page.click(".changed-bar")
    head = page.locator(".file-head", has_text="notes.txt")
    head.wait_for()
    assert str(box) not in head.inner_text()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.evaluate("location.hash = '#/agents'")
    page.wait_for_selector("[data-agent=far] >> text=on docker:box")
