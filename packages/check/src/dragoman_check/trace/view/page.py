"""Builds the page as one file: markup, style, script, and the recording as data.

Whatever peers said is data in a block that no browser runs, with every `<` escaped; the script that shows it
makes text nodes of it. A content security policy names the only script and the only style by their hashes,
and forbids everything else, the network first of all.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable
from importlib.resources import files

import msgspec

from dragoman.wire.envelope import JsonObject
from dragoman_check.trace.view.model import join_pieces, make_model
from dragoman_local.journal.contract import Entry

SCRIPTS = ("dom.js", "markdown.js", "blocks.js", "rows.js", "pages.js", "frames.js", "lanes.js", "main.js")


def make_page(entries: Iterable[Entry], *, title: str, findings: Iterable[JsonObject] = ()) -> bytes:
    """The whole HTML file."""
    model = join_pieces(make_model(entries, title=title, findings=findings))
    data = msgspec.json.encode(model).decode().replace("<", "\\u003c").replace("\u2028", "\\u2028")
    style = _part("page.css")
    script = '"use strict";\n(() => {\n' + "\n".join(map(_part, SCRIPTS)) + "\n})();\n"
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src 'sha256-{_hash(script)}'",
            f"style-src 'sha256-{_hash(style)}'",
            "img-src data:",
            "media-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    page = _part("page.html").replace("<!--title-->", html.escape(title))
    parts = {
        "policy": html.escape(policy),
        "style": style,
        "data": data,
        "script": script,
    }
    for name, text in parts.items():
        page = page.replace(f"<!--{name}-->", text, 1)
    return page.encode(errors="replace")


def _part(name: str) -> str:
    return files("dragoman_check.trace.view").joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
