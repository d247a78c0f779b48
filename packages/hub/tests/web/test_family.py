"""Subagents in the page: a tree of who works for whom, and questions that say who asks."""

from __future__ import annotations

from pathlib import Path

from tests.subagents.family import CHAIN, FAMILY
from tests.web.conftest import RunningHub, Visitor, send
from tests.web.page_sight import becomes, says


def test_subagents_are_a_tree_and_their_questions_say_who_asks_for_whom(
    visitor: Visitor, hub: RunningHub
) -> None:
    page = visitor.start(agent="family")
    send(page, "Go")
    page.wait_for_selector(".asks .card:nth-child(3)")
    says(page, ".asks", *(f"{CHAIN[name]}:" for name in FAMILY))
    page.wait_for_selector(".family li li li a")
    becomes(page.locator(".family a").all_inner_texts, list(FAMILY))
    says(page, ".family", "waiting for an answer")
    for left in (3, 2, 1):
        page.click(".asks .card >> nth=0 >> .allow_once")
        page.wait_for_selector(f".asks .card:nth-child({left})", state="detached")
    for name in FAMILY:
        page.wait_for_selector(f".family li:has-text('done — {name} heard allow.')")
    page.wait_for_selector("text=answers: allow allow allow")
    page.reload()
    page.wait_for_selector(".family li li li a")
    becomes(page.locator(".family a").all_inner_texts, list(FAMILY))
    for name in FAMILY:
        page.wait_for_selector(f".family li:has-text('done — {name} heard allow.')")
    with page.expect_download() as saving:
        page.click("button[aria-label='Session menu']")
        page.click("text=Export as HTML")
    reader = page.context.new_page()
    reader.set_content(Path(saving.value.path()).read_text())
    for depth, name in enumerate(FAMILY, start=1):
        section = "main > " + " > ".join(["details.child[open]"] * depth)
        assert reader.inner_text(f"{section} > summary").strip() == f"Subagent {name} done"
        assert f"{name} heard allow." in reader.inner_text(section)
    assert reader.query_selector("script") is None
    reader.close()
