"""Every rule has its section on the page of all rules, and every finding links to it, in every format."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from msgspec.structs import replace

from dragoman_app.agents.review.markdown import finding_paragraph
from dragoman_review import ReviewSource
from dragoman_review.catalogue import catalogue, rule_examples
from dragoman_review.formats import as_json, as_sarif, as_text
from dragoman_review.places import PAGE_VARIABLE
from dragoman_review.rule_links import rule_link, rules_markdown, rules_page
from dragoman_review.rules import rule_anchor
from dragoman_review.suppression import COMPLAINTS, UNTRUSTED
from tests.review.findings import finding
from tests.review.samples import reviewed, rules_of

SECTION = re.compile(
    r'^<a id="(?P<anchor>[\w-]+)"></a>\n### (?P<rule>\S+)\n(?P<body>.*?)(?=^<a id=|^## |\Z)', re.M | re.S
)
PAGE = "https://docs.example.org/rules"
LINK = f"{PAGE}#python-eval"


def test_every_rule_has_a_section_with_its_reason_and_a_bad_and_a_good_example() -> None:
    sections = {found["rule"]: found for found in SECTION.finditer(rules_markdown())}
    entries = {entry.id: entry for entry in catalogue()}
    assert sections.keys() == entries.keys()
    anchors = [found["anchor"] for found in sections.values()]
    assert len(anchors) == len(set(anchors))
    for rule, entry in entries.items():
        section = sections[rule]
        assert section["anchor"] == rule_anchor(rule)
        assert entry.why in section["body"], rule
        assert "\nFound:\n" in section["body"], rule
        assert "\nLeft alone:\n" in section["body"], rule


@pytest.mark.usefixtures("rules_in_this_process")
@pytest.mark.parametrize("name", ["python/invalid-syntax", *(words.id for words in COMPLAINTS)])
async def test_the_examples_of_what_the_engine_itself_finds_are_true(name: str) -> None:
    example = rule_examples()[name]
    untrusted_lines = None if name == UNTRUSTED.id else frozenset[int]()
    bad = ReviewSource(example.path, example.bad, untrusted_lines=untrusted_lines)
    assert name in rules_of(await reviewed(bad))
    assert name not in rules_of(await reviewed(ReviewSource(example.path, example.good)))


def test_a_finding_links_to_its_rule_in_every_format() -> None:
    found = finding(rule="python/eval")
    assert f"    see {LINK}\n" in as_text(found, page=PAGE)
    assert json.loads(as_json([found], [], files=1, page=PAGE))["findings"][0]["link"] == LINK
    sarif = json.loads(as_sarif([found], [], version="1", page=PAGE))
    assert sarif["runs"][0]["tool"]["driver"]["rules"][0]["helpUri"] == LINK
    assert f"[About this rule]({LINK})" in finding_paragraph(1, found, None, "x\ny\n", page=PAGE)


def test_rules_of_others_link_to_their_own_pages_and_those_of_a_project_to_none() -> None:
    theirs = replace(finding(rule="python/blind-except"), tool="ruff")
    assert rule_link(theirs, PAGE) == "https://docs.astral.sh/ruff/rules/blind-except/"
    assert str(rule_link(replace(theirs, tool="oxlint"), PAGE)).startswith("https://oxc.rs/")
    assert rule_link(finding(rule="team/no-print"), PAGE) is None
    assert "see " not in as_text(finding(rule="team/no-print"), page=PAGE)


def test_the_page_is_there_without_a_network_and_may_be_published(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(PAGE_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    page = Path(unquote(urlsplit(rules_page()).path))
    assert rules_markdown() in page.read_text("utf-8")
    page.write_text("of other rules\n")
    assert rules_page() == page.as_uri()
    assert rules_markdown() in page.read_text("utf-8")
    monkeypatch.setenv(PAGE_VARIABLE, f"{PAGE}#top")
    assert rules_page() == PAGE
    monkeypatch.setenv(PAGE_VARIABLE, "javascript:alert(1)")
    assert rules_page().startswith("file://")


def test_where_nothing_can_be_written_a_finding_has_no_link(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.delenv(PAGE_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert rules_page() == ""
    assert rule_link(finding(rule="python/eval"), rules_page()) is None
