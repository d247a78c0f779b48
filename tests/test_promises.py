"""The pages in docs promise only what a test holds.

`promises.toml` names, for each section of a page, the tests that hold what the section says, or says in words
why it promises nothing. On the pages about the hub, its security, the policy and the gateways
every section with a text of its own has an entry.

A name is that of a test of ours, or the id of a fault, which is a test of that id.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

from tests.boxes import folders_of_tests
from tests.every import every

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
WHOLE_PAGES = ("hub.md", "security.md", "policy.md", "handover.md")
INTRODUCED_PAGES = ("mcp.md", "openai.md", "sandbox.md")
"""Pages that begin with what a command is for; behind their first heading they are as strict."""
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
TEST = re.compile(r"^ *(?:async )?def (test_\w+)\(", re.MULTILINE)
FAULT = re.compile(r"^\| ([A-Z]{3}-X?\d+) \|", re.MULTILINE)
PROMISES: dict[str, dict[str, list[str] | str]] = tomllib.loads(
    (Path(__file__).parent / "promises.toml").read_text("utf-8")
)


@cache
def known() -> frozenset[str]:
    """Every test, and every fault that is tried."""
    names = {
        name
        for folder in folders_of_tests().values()
        for path in folder.rglob("test_*.py")
        for name in TEST.findall(path.read_text("utf-8"))
    }
    return frozenset(names | set(FAULT.findall((ROOT / "tests/faults/FAULTS.md").read_text("utf-8"))))


def sections(text: str) -> dict[str, str]:
    """What stands below each heading; code counts as text."""
    code = FENCE.sub(lambda match: re.sub(r"^#", " ", match[0], flags=re.MULTILINE), text)
    parts = HEADING.split(code)
    return {heading.strip(): body.strip() for heading, body in zip(parts[1::2], parts[2::2], strict=True)}


def headings_of(name: str) -> list[str]:
    """The sections of a page that have a text of their own."""
    return [heading for heading, body in sections((DOCS / name).read_text("utf-8")).items() if body]


@every("name", [*WHOLE_PAGES, *INTRODUCED_PAGES])
def test_every_section_names_what_holds_it(name: str) -> None:
    headings = headings_of(name)[1 if name in INTRODUCED_PAGES else 0 :]
    assert len(headings) > 3
    bare = [heading for heading in headings if heading not in PROMISES[name]]
    assert not bare, f"promises.toml names nothing for {bare}"


@every("name", PROMISES)
def test_every_entry_is_about_a_section_of_its_page(name: str) -> None:
    gone = set(PROMISES[name]) - set(headings_of(name))
    assert not gone, f"{name} has no such sections: {gone}"


@every("name", PROMISES)
def test_every_test_that_is_named_exists(name: str) -> None:
    lists = [entry for entry in PROMISES[name].values() if isinstance(entry, list)]
    names = {word for words in lists for word in words}
    if name in WHOLE_PAGES or name in INTRODUCED_PAGES:
        assert len(names) > 10
    assert not sorted(names - known()), "there are no such tests"


def test_a_section_reaches_to_the_next_heading_and_code_has_none() -> None:
    text = "# Title\n\nOne.\n\n## Two\n\n```sh\n# a comment\n```\n\n### Three\n"
    found = sections(text)
    assert list(found) == ["Title", "Two", "Three"]
    assert found["Title"] == "One."
    assert "a comment" in found["Two"]
    assert not found["Three"]
