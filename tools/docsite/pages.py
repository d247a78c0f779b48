"""Stages the pages of the site: `docs/` as it is, some files from elsewhere in the repository, an index of
decisions, and the page of all rules of the review.

What changes on the way: links that leave `docs/` lead to a page of the site, to the repository's address if
there is one, or become plain text; comments for our tests are left out. Code blocks stay as they are.
"""

from __future__ import annotations

import html
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from dragoman_review.rule_links import rules_markdown

ROOT_PAGES = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "README.md": "index.md",
    "SECURITY.md": "project/security.md",
    "packages/sdk/tests/dialect/LOSSES.md": "dialects/losses.md",
    "tests/faults/FAULTS.md": "fault-list.md",
    "tests/seeds/PROMISES.md": "promise-list.md",
}
"""Files outside of `docs` that have a place in the site; the start page stands for the README."""

_FOLDERS = ("adr", "guides", "tutorial")
"""Folders that have a first page; a link to another one leads to the repository."""

_FENCE = re.compile(r"^(?P<fence>```+|~~~+).*?^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(
    r"`[^`]+`|(?P<image>!?)\[(?P<text>(?:`[^`]*`|[^\[\]`]|\[[^\[\]]*\])*)\]\((?P<target>[^()\s]+)\)"
)
"""A link, whose text may have code in it, or code, which may have a link in it that is none."""
_NOTE = re.compile(r"[ \t]*<!-- (?:not run|file|background): .*?-->\n?", re.DOTALL)
_ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*:|//|#", re.IGNORECASE)


def stage_pages(root: Path, folder: Path, *, repository: str = "") -> None:
    """Write every page and picture of the site into `folder`, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    docs = root / "docs"
    for path in sorted(path for path in docs.rglob("*") if path.is_file()):
        target = folder / path.relative_to(docs)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            target.write_text(
                stage_text(path.read_text("utf-8"), path.relative_to(root), root, repository), "utf-8"
            )
        else:
            shutil.copyfile(path, target)
    for name, place in ROOT_PAGES.items():
        if name != "README.md":
            target = folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(
                stage_text((root / name).read_text("utf-8"), Path(name), root, repository), "utf-8"
            )
    (folder / "review-rules.md").write_text(light_list(rules_markdown()), "utf-8")
    (folder / "adr" / "index.md").write_text(decisions_page(docs / "adr"), "utf-8")


def stage_text(text: str, source: Path, root: Path, repository: str) -> str:
    """The text of a page as the site has it; `source` is its path in the repository."""
    parts = (
        part if is_code else _relink(part, source, root, repository)
        for part, is_code in split_code(_without_notes(text))
    )
    return "".join(parts)


def light_list(text: str) -> str:
    """A page with very many sections, which browsers show at once: without contents, with plain blocks.

    The theme runs a script for each block of code and each entry of the contents, which takes seconds for a
    thousand of them.
    """

    def plain(match: re.Match[str]) -> str:
        lines = match[0].split("\n")[1:-1]
        return f"<pre>{html.escape(chr(10).join(lines), quote=False)}</pre>"

    return f"---\nhide: [toc]\n---\n\n{_FENCE.sub(plain, text)}"


def split_code(text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, each with whether it is a block of code."""
    end = 0
    for match in _FENCE.finditer(text):
        yield text[end : match.start()], False
        yield match[0], True
        end = match.end()
    yield text[end:], False


def _without_notes(text: str) -> str:
    return "".join(part if is_code else _NOTE.sub("", part) for part, is_code in split_code(text))


def _relink(text: str, source: Path, root: Path, repository: str) -> str:
    def relinked(match: re.Match[str]) -> str:
        target = match["target"]
        if target is None or _ABSOLUTE.match(target):
            return match[0]
        link = site_link(target, source, root, repository)
        return f"{match['image']}[{match['text']}]({link})" if link else match["text"]

    return _LINK.sub(relinked, text)


def site_link(target: str, source: Path, root: Path, repository: str) -> str:
    """Where a link of a page leads in the site; empty if it leads to a file that has no address."""
    path, mark, anchor = target.partition("#")
    place = PurePosixPath(os.path.normpath(PurePosixPath(source.as_posix()).parent / path))
    page, own_page = site_page(place), site_page(PurePosixPath(source.as_posix()))
    if page is not None and own_page is not None:
        return f"{os.path.relpath(page, own_page.parent)}{mark}{anchor}"
    if repository and (root / place).exists():
        return f"{repository.rstrip('/')}/{place}{mark}{anchor}"
    return ""


def site_page(place: PurePosixPath) -> PurePosixPath | None:
    """The path in the site of a file of the repository, None if the site does not have it."""
    if place.parts[:1] == ("docs",):
        inside = PurePosixPath(*place.parts[1:])
        if inside.suffix:
            return inside
        return inside / "index.md" if str(inside) in _FOLDERS else None
    name = ROOT_PAGES.get(str(place))
    return PurePosixPath(name) if name else None


def decisions_page(folder: Path) -> str:
    """A page that lists the decisions by their titles."""
    lines = [
        "# Decisions",
        "",
        "Each binds whoever works on Dragoman: situation, decision, price, when to revisit.",
        "",
    ]
    for path in sorted(folder.glob("[0-9]*.md")):
        number, _, title = path.read_text("utf-8").partition("\n")[0].removeprefix("# ").partition(" ")
        title = title.removeprefix("— ")
        lines.append(f"- [{number.rstrip(':')}]({path.name}) {title[:1].upper()}{title[1:]}")
    return "\n".join([*lines, ""])
