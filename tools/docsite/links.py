"""Checks a built site without a network: every link, anchor and picture leads to something in it.

It also finds what a page loads from elsewhere when it is opened: scripts, styles, fonts, pictures, frames.
Links that a reader follows to other sites are left alone.

    python -m docsite.links build/site
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

_LOADING = {
    *(
        ("script", "src"),
        ("img", "src"),
        ("iframe", "src"),
        ("source", "src"),
        ("audio", "src"),
        ("embed", "src"),
    ),
    *(
        ("video", "src"),
        ("video", "poster"),
        ("object", "data"),
        ("link", "href"),
        ("image", "href"),
        ("use", "href"),
    ),
}
"""What a browser fetches by itself."""
_LOADING_RELATIONS = frozenset(
    ["stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch", "manifest", "prefetch"]
)
_CSS_ADDRESS = re.compile(r"""url\(\s*["']?([^"')]+)["']?\s*\)|@import\s+["']([^"']+)["']""")


class Reference(NamedTuple):
    """An address that a page names."""

    line: int
    address: str
    is_loaded: bool
    """Whether a browser fetches it without being asked."""


class LinkedPage(HTMLParser):
    """What one page names, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.references: list[Reference] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(filter(None, (values.get("id"), values.get("name") if tag == "a" else None)))
        relations = set(values.get("rel", "").split())
        for name, value in values.items():
            if name in ("href", "src", "poster", "data") or name == "xlink:href":
                is_loaded = (tag, name.removeprefix("xlink:")) in _LOADING
                if tag == "link" and not relations & _LOADING_RELATIONS:
                    is_loaded = False
                if name != "data" or tag == "object":
                    self.references.append(Reference(self.getpos()[0], value, is_loaded))
            elif name == "srcset":
                parts = (part.split()[0] for part in value.split(",") if part.strip())
                self.references += [Reference(self.getpos()[0], part, is_loaded=True) for part in parts]


class LinkCheck:
    """A walk through a built site; `problems` is empty if everything leads somewhere."""

    def __init__(self, site: Path) -> None:
        self.site = site
        self.links = 0
        self.problems: list[str] = []
        self._pages = {
            path.relative_to(site).as_posix(): LinkedPage(path.read_text("utf-8"))
            for path in sorted(site.rglob("*.html"))
        }

    def run(self) -> list[str]:
        """Check every page and style sheet; give the problems, each with its place."""
        for name, page in self._pages.items():
            for reference in page.references:
                self.links += 1
                problem = self._problem(name, reference)
                if problem:
                    self.problems.append(f"{name}:{reference.line}: {reference.address}: {problem}")
        for path in sorted(self.site.rglob("*.css")):
            self._check_style(path)
        return self.problems

    def _problem(self, name: str, reference: Reference) -> str:
        parts = urlsplit(reference.address)
        if parts.scheme in ("data", "mailto", "javascript", "blob"):
            return "a script as an address" if parts.scheme == "javascript" else ""
        if parts.scheme or parts.netloc:
            return "is loaded from another site" if reference.is_loaded else ""
        target = self._target(name, unquote(parts.path))
        if target is None:
            return "no such file"
        anchor = unquote(parts.fragment)
        if (
            anchor
            and target in self._pages
            and not _is_route(anchor)
            and anchor not in self._pages[target].anchors
        ):
            return "no such anchor"
        return ""

    def _target(self, name: str, path: str) -> str | None:
        """The file that an address on a page means; None if there is none."""
        if not path:
            return name
        # Of the page of a missing address, paths begin at the root, wherever that is mounted.
        if path.startswith("/") and name != "404.html":
            return None
        place = _normal(PurePosixPath(name).parent / path.lstrip("/"))
        if place is None:
            return None
        file = self.site / place
        if file.is_dir():
            file = file / "index.html"
        return file.relative_to(self.site).as_posix() if file.is_file() else None

    def _check_style(self, path: Path) -> None:
        name = path.relative_to(self.site).as_posix()
        for match in _CSS_ADDRESS.finditer(path.read_text("utf-8")):
            address = match[1] or match[2]
            if address.startswith(("data:", "#")):
                continue
            self.links += 1
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                self.problems.append(f"{name}: {address}: is loaded from another site")
            elif self._target(name, unquote(parts.path)) is None:
                self.problems.append(f"{name}: {address}: no such file")


def _normal(path: PurePosixPath) -> PurePosixPath | None:
    """The path without `..`; None if it leaves the site."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        else:
            parts.append(part)
    return PurePosixPath(*parts)


def _is_route(anchor: str) -> bool:
    """`#/board` is a place inside a program, which no page has as an anchor."""
    return anchor.startswith("/")


def main() -> int:
    check = LinkCheck(Path(sys.argv[1]))
    for problem in check.run():
        print(problem, file=sys.stderr)
    print(f"{check.links} links, {len(check.problems)} problems")
    return 1 if check.problems else 0


if __name__ == "__main__":
    sys.exit(main())
