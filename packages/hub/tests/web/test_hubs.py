"""Several hubs in one page: their sessions beside each other, and each answer at the hub that asked."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests import forks
from tests.web.conftest import DESK, RunningHub, Visitor, Wire, running_hub, send, start_session
from tests.web.page_sight import becomes, counts, ended
from tests.web.random_scrolls import say

pytestmark = pytest.mark.timeout(240)

Two = tuple[RunningHub, RunningHub]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    """The hub of the page, and another one that lets its page in."""
    near, far = Wire(), Wire()
    hubs = f'hubs = ["http://127.0.0.1:{far.port}"]'
    origins = f'origins = ["http://127.0.0.1:{near.port}"]'
    with (
        running_hub(tmp_path_factory.mktemp("near"), wire=near, settings=hubs) as home,
        running_hub(tmp_path_factory.mktemp("far"), wire=far, settings=origins) as other,
    ):
        yield home, other


@pytest.fixture
def hub(two: Two) -> RunningHub:
    return two[0]


def add_hub(page: Any, link: str, *, token: str = "", name: str = "studio") -> None:
    page.goto(page.url.partition("#")[0] + "#/settings")
    page.click("button >> text=Add a hub")
    page.fill("#hub-link", link)
    page.fill("#hub-token", token)
    page.fill("#hub-name", name)
    page.click("dialog button[type=submit]")


def ask_for_permission(page: Any, hub: RunningHub) -> str:
    """A session of a hub's own page in which a permission waits; its id."""
    start_session(page, hub.folder)
    send(page, "run it")
    page.wait_for_selector(".asks .card")
    return str(page.evaluate("location.hash")).rpartition("/")[2]


def test_an_approval_of_another_hub_is_answered_there_and_a_hub_that_is_away_hides_no_other(
    visitor: Visitor, two: Two
) -> None:
    home, other = two
    elsewhere = visitor.open(url=other.url, token=other.token)
    session = ask_for_permission(elsewhere, other)
    page = visitor.open()
    start_session(page, home.folder)
    send(page, "Please fix the parser")
    ended(page, 1)
    add_hub(page, other.url, token=other.token)
    page.wait_for_selector(".other-hubs >> text=connected")
    page.keyboard.press("b")
    page.wait_for_selector(".of-needs .tile .hub-name >> text=studio")
    near = page.locator(".tile", has_text="127.0.0.1")
    near.first.wait_for()
    # The hub goes away: its tiles say so, the others stay.
    other.wire.cut()
    notice = page.locator(".hub-notice", has_text="studio is not connected")
    notice.wait_for()
    for tiles in (".tile.away", ".of-needs .tile"):
        counts(page, tiles, 1)
    becomes(near.locator("xpath=self::*[contains(@class, 'away')]").count, 0)
    other.wire.mend()
    notice.wait_for(state="detached")
    # Answered on the board of one hub, done at the other.
    page.click(".of-needs .tile-approve")
    page.click("dialog.decision .choice.allow_once")
    page.wait_for_selector(".of-needs .tile", state="detached")
    ended(elsewhere, 1)
    counts(elsewhere, ".asks .card", 0)
    # Its session opens in this page, and is spoken to from here.
    tile = page.locator(f".tile[data-session$='/{session}']")
    tile.click()
    page.wait_for_selector(".session-head .hub-name >> text=studio")
    send(page, "count to three")
    ended(elsewhere, 2)
    ended(page, 2)
    page.reload()
    ended(page, 2)
    # Who signs out leaves no token of any hub behind.
    page.goto(home.url + "#/settings")
    page.click("button >> text=Sign out")
    page.wait_for_selector("#token")
    kept = json.dumps(page.evaluate("({ ...localStorage })"))
    assert other.token not in kept
    assert home.token not in kept


def test_a_hub_is_added_by_the_link_that_its_pairing_prints_once(visitor: Visitor, two: Two) -> None:
    home, other = two
    page = visitor.open()
    command = [*forks.DRAGOMAN, "hub", "pair", other.direct, "--address", other.url, "--json"]
    env = {**os.environ, "DRAGOMAN_TOKEN": other.token}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as pair:
        assert pair.stdout is not None
        shown = json.loads(pair.stdout.readline())
        (link,) = shown["add"]
        assert link.startswith(f"{home.url}#hub=")
        page.goto(link)
        page.wait_for_selector("#hub-link")
        assert page.url == home.url  # the code is gone from it
        page.click("dialog button[type=submit]")
        page.goto(home.url + "#/settings")
        page.wait_for_selector(".other-hubs >> text=connected")
        assert json.loads(pair.stdout.readline())["state"] == "used"
    assert pair.returncode == 0
    page.click(".other-hubs >> text=Remove")
    add_hub(page, shown["address"])
    page.wait_for_selector("dialog .fault >> text=was already used")


def find(page: Any, words: str, *hubs: str) -> None:
    """Search with keys alone: there is a result of each of these hubs, once all hubs have answered."""
    page.keyboard.press("Control+Shift+f")
    page.keyboard.type(words)
    names = page.locator(".found-one .hub-name")
    becomes(lambda: sorted(names.all_inner_texts()), sorted(hubs))
    page.wait_for_function(
        "() => !document.querySelector('dialog [role=status]').innerText.includes('Still')"
    )
    becomes(lambda: sorted(names.all_inner_texts()), sorted(hubs))


def test_one_search_finds_what_was_said_at_every_hub_and_names_one_that_is_away(
    visitor: Visitor, two: Two
) -> None:
    home, other = two
    near = home.url.split("/")[2]
    say(home.direct, home.token, home.folder, ["call 1 tools"])
    far = say(other.direct, other.token, other.folder, ["call 1 tools"])
    page = visitor.open()
    add_hub(page, other.url, token=other.token)
    page.wait_for_selector(".other-hubs >> text=connected")
    find(page, "aardvark", "studio", near)
    # What was found elsewhere opens from here, at the words.
    page.click(".found-one:has(.hub-name:text('studio'))")
    page.wait_for_selector(".session-head .hub-name >> text=studio")
    page.wait_for_selector(".terminal:visible >> text=one aardvark failed")
    page.wait_for_function("() => CSS.highlights.get('match-current')?.size")
    becomes(lambda: page.evaluate("location.hash").rpartition("/")[2], far)
    # A hub that is away is named, and hides nothing of the others.
    other.wire.cut()
    page.locator(".hub-notice", has_text="studio is not connected").wait_for()
    find(page, "aardvark", near)
    page.wait_for_selector("dialog [role=status] >> text=No results from studio: it is not connected.")
    other.wire.mend()


VIOLATION = """(address) => new Promise((resolve) => {
    document.addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective));
    fetch(address).catch(() => null);
})"""


def test_a_hub_that_the_own_one_does_not_name_is_not_talked_to(visitor: Visitor, two: Two) -> None:
    _, other = two
    page = visitor.open()
    add_hub(page, other.direct, token=other.token)  # the same hub, by an address that nobody has named
    page.wait_for_selector("dialog .fault >> text=does not allow")
    reason = page.evaluate(VIOLATION, other.direct)
    assert reason == "connect-src"
    visitor.complaints[:] = [each for each in visitor.complaints if "Content Security Policy" not in each]


def test_a_page_of_an_origin_that_was_not_named_is_refused_and_told_why(visitor: Visitor, two: Two) -> None:
    home, other = two
    page = visitor.open(url=home.direct.replace("127.0.0.1", "localhost"), viewport=DESK)
    add_hub(page, other.url, token=other.token)
    page.keyboard.press("b")
    notice = page.locator(".hub-notice", has_text="does not accept pages from http://localhost:")
    notice.wait_for()
    assert page.locator(".hub-name >> text=studio").count() == 0
    page.close()  # it goes on trying, and the browser goes on complaining
    assert visitor.complaints
    visitor.complaints[:] = [each for each in visitor.complaints if "CORS policy" not in each]
