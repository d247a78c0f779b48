"""Writes `llms.txt` and `llms-full.txt`: the site for programs that read text, an index and all at once.

The index follows the navigation: a heading for each part, a line for each page with its title and its first
sentence. The full text has the same pages in the same order, without decisions and generated lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

_HEADING = re.compile(r"^# (.+)$", re.MULTILINE)
_LEFT_OUT = (
    "adr/",
    "dialects/losses.md",
    "project/changelog.md",
    "fault-list.md",
    "promise-list.md",
    "review-rules.md",
    "reference/",
)
"""Pages that the full text leaves out: decisions, history, and lists that are made from other sources."""
_NO_PROSE = ("#", "|", "<", "!", "-", ":::", "```", ">")
"""How a heading, a table, a picture, a list or a block begins."""
_FENCE = re.compile(r"^(```+).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)


class NavigationEntry(NamedTuple):
    """A page, with the part of the site that it is in."""

    part: str
    path: str


def navigation(nav: list[Any], part: str = "") -> Iterator[NavigationEntry]:
    """The pages of `nav` of mkdocs.yml in order: a list of pages, and of titles with a page or a list."""
    for entry in nav:
        if isinstance(entry, str):
            yield NavigationEntry(part, entry)
            continue
        for title, value in entry.items():
            if isinstance(value, str):
                yield NavigationEntry(part or title, value)
            else:
                yield from navigation(value, part or title)


def title_of(text: str) -> str:
    """The heading of a page."""
    match = _HEADING.search(text)
    return match[1].replace("`", "").strip() if match else "Untitled"


def first_sentence(text: str) -> str:
    """What a page says first: a sentence of its first paragraph, without markup."""
    for paragraph in re.split(r"\n{2,}", _FENCE.sub("", text)):
        plain = paragraph.strip()
        if not plain or plain.startswith(_NO_PROSE) or plain[0].isdigit():
            continue
        plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)(\{[^}]*\})?", r"\1", " ".join(plain.split()))
        return re.split(r"(?<=[.!?])\s", plain, maxsplit=1)[0].rstrip(":")
    return ""


def page_address(path: str) -> str:
    """The address of a page below the site's own."""
    folder = path.removesuffix("index.md") if path.endswith("index.md") else f"{path.removesuffix('.md')}/"
    return folder or "./"


def index_text(name: str, description: str, nav: list[Any], folder: Path, *, site_url: str = "") -> str:
    """The text of `llms.txt`."""
    lines = [f"# {name}", "", f"> {description}", ""]
    part = ""
    for entry in navigation(nav):
        if entry.part != part:
            part = entry.part
            lines += ["", f"## {part}", ""] if lines[-1] else [f"## {part}", ""]
        text = (folder / entry.path).read_text("utf-8")
        sentence = first_sentence(text)
        line = f"- [{title_of(text)}]({site_url}{page_address(entry.path)})"
        lines.append(f"{line}: {sentence}" if sentence else line)
    return "\n".join([*lines, ""])


def full_text(name: str, description: str, nav: list[Any], folder: Path) -> str:
    """The text of `llms-full.txt`: the pages one behind the other, each below its path."""
    pages = [entry.path for entry in navigation(nav) if not entry.path.startswith(_LEFT_OUT)]
    texts = (f"<!-- page: {path} -->\n\n{(folder / path).read_text('utf-8').strip()}\n" for path in pages)
    return "\n".join([f"# {name}\n\n> {description}\n", *texts])


def write_llms(settings: dict[str, Any], folder: Path, site: Path, *, site_url: str = "") -> None:
    """Write both files into a built site, from the pages that it was built of."""
    name, description, nav = settings["site_name"], settings["site_description"], settings["nav"]
    (site / "llms.txt").write_text(index_text(name, description, nav, folder, site_url=site_url), "utf-8")
    (site / "llms-full.txt").write_text(full_text(name, description, nav, folder), "utf-8")
