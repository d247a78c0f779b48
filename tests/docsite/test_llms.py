"""The texts for programs that read the site: an index in the order of the navigation, and all at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docsite.llms import first_sentence, full_text, index_text, navigation, page_address, title_of
from tests.every import every

NAV: list[Any] = [
    {"Start": "index.md"},
    {"Guides": ["guides/index.md", {"Agents": "agents.md"}, {"More": [{"Rules": "review-rules.md"}]}]},
]


def pages(folder: Path) -> Path:
    (folder / "guides").mkdir()
    (folder / "index.md").write_text("# Start\n\n![a picture](x.svg)\n\nIt is *one* thing. And more.\n")
    (folder / "guides/index.md").write_text("# Guides\n\n| a | b |\n|---|---|\n")
    (folder / "agents.md").write_text("# `Agents`\n\n```\ncode.\n```\n\nSee [this page](x.md): it\nhelps.\n")
    (folder / "review-rules.md").write_text("# Rules\n\nMany.\n")
    return folder


def test_the_index_follows_the_navigation(tmp_path: Path) -> None:
    assert index_text("Name", "What it is", NAV, pages(tmp_path), site_url="https://a.example/") == (
        "# Name\n\n> What it is\n\n"
        "## Start\n\n- [Start](https://a.example/./): It is *one* thing.\n\n"
        "## Guides\n\n- [Guides](https://a.example/guides/)\n"
        "- [Agents](https://a.example/agents/): See this page: it helps.\n"
        "- [Rules](https://a.example/review-rules/): Many.\n"
    )


def test_the_full_text_has_the_pages_in_order_without_generated_lists(tmp_path: Path) -> None:
    text = full_text("Name", "What it is", NAV, pages(tmp_path))
    assert [line for line in text.splitlines() if line.startswith("<!-- page")] == [
        "<!-- page: index.md -->",
        "<!-- page: guides/index.md -->",
        "<!-- page: agents.md -->",
    ]
    assert "code." in text


def test_each_page_knows_its_part() -> None:
    assert [(entry.part, entry.path) for entry in navigation(NAV)] == [
        ("Start", "index.md"),
        ("Guides", "guides/index.md"),
        ("Guides", "agents.md"),
        ("Guides", "review-rules.md"),
    ]


@every(
    ("text", "expected"),
    [
        ("# T\n\n1. a list\n\n## First\n\nThen words!", "Then words!"),
        ("# T\n\nWhat follows:\n", "What follows"),
        ("# T\n\n- a\n- b\n", ""),
        ("", ""),
    ],
)
def test_the_first_sentence_is_prose(text: str, expected: str) -> None:
    assert first_sentence(text) == expected


def test_a_page_without_a_heading_has_no_title() -> None:
    assert title_of("words") == "Untitled"
    assert page_address("index.md") == "./"
    assert page_address("from/crow.md") == "from/crow/"
