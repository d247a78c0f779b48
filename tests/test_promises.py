"""The pages about the hub, its security, the policy and the gateways promise only what a test holds.

Behind each paragraph, list and table stands a comment that names the tests which hold what it says, or says
that it promises nothing. Pages of single commands begin with an introduction, which needs none:

    <!-- held by: test_scopes_and_agents_are_as_granted, NSE-07 -->
    <!-- no promise: what comes next -->

A name is that of a test of ours, or the id of a fault, which is a test of that id. A table with a column
`shown by` names them there.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.boxes import folders_of_tests
from tests.every import every

ROOT = Path(__file__).parent.parent
PAGES = ("hub.md", "security.md", "policy.md", "handover.md")
INTRODUCED_PAGES = ("mcp.md", "openai.md", "sandbox.md")
"""Pages that begin with what a command is for; behind their first heading they are as strict."""
COMMENT = re.compile(r"<!-- (held by|no promise): (.+?) -->", re.DOTALL)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
TEST = re.compile(r"^ *(?:async )?def (test_\w+)\(", re.MULTILINE)
FAULT = re.compile(r"^\| ([A-Z]{3}-X?\d+) \|", re.MULTILINE)


def blocks(text: str) -> list[str]:
    """Paragraphs, lists and tables, each with the comment behind it; code and headings are left out."""
    parts = re.split(r"\n{2,}", FENCE.sub("", text))
    return [
        part.strip() for part in parts if part.strip() and not part.lstrip().startswith(("#", "<!-- not"))
    ]


@cache
def known() -> frozenset[str]:
    """Every test, and every fault that is tried."""
    names = {
        name
        for folder in folders_of_tests().values()
        for path in folder.rglob("test_*.py")
        for name in TEST.findall(path.read_text("utf-8"))
    }
    return frozenset(names | set(FAULT.findall((ROOT / "docs/faults.md").read_text("utf-8"))))


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def bare_blocks(text: str) -> list[str]:
    """Blocks behind which nothing is named. The comment of a table may be a block of its own, because a table
    ends with an empty line.
    """
    parts = blocks(text)
    return [
        block
        for block, following in zip(parts, [*parts[1:], ""], strict=True)
        if not COMMENT.search(block)
        and "shown by" not in block
        and not (block.startswith("|") and COMMENT.match(following))
    ]


def names_of_tests(text: str) -> list[str]:
    return [
        word.strip()
        for kind, words in COMMENT.findall(text)
        if kind == "held by"
        for word in words.split(",")
    ]


@every("name", PAGES)
def test_everything_that_a_page_says_names_what_holds_it(name: str) -> None:
    bare = bare_blocks(page(name))
    assert not bare, "\n\n".join(["nothing is named behind:", *bare])


@pytest.mark.parametrize("name", INTRODUCED_PAGES)
def test_everything_behind_the_introduction_names_what_holds_it(name: str) -> None:
    _, _, sections = page(name).partition("\n## ")
    bare = bare_blocks(f"## {sections}")
    assert len(blocks(sections)) > 5
    assert not bare, "\n\n".join(["nothing is named behind:", *bare])


@every("name", [*PAGES, *INTRODUCED_PAGES])
def test_every_test_that_a_page_names_exists(name: str) -> None:
    names = names_of_tests(page(name))
    assert len(names) > (20 if name in PAGES else 10)
    assert not sorted(set(names) - known()), "there are no such tests"


def test_a_block_ends_with_its_comment() -> None:
    text = "# Title\n\nOne.\n<!-- held by: test_x,\n     NSE-07 -->\n\n```sh\n\nls\n```\n\n- two\n- three\n"
    first, second = blocks(text)
    found = COMMENT.search(first)
    assert found is not None
    assert [word.strip() for word in found[2].split(",")] == ["test_x", "NSE-07"]
    assert second == "- two\n- three"
