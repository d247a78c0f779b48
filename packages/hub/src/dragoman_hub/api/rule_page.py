"""Serves a page that explains each rule of the reviewer, linked from the hub's own page.

Findings that agents show link to the page of all rules, which is a file of the package; a browser opens no
file from a page that was served. Read-only, made from our own rules alone, every text escaped; no script, no
style, no picture. Whether a request is for us at all (`Host`) is for whoever mounts this, as it is for the
page.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
from html import escape
from typing import Any

from dragoman.transport.http_asgi import respond

RULES = "/rules"

_HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-cache"),
]


async def show_rules(scope: Any, receive: Any, send: Any) -> None:
    """Answer a request for the page of all rules."""
    if scope["method"] not in ("GET", "HEAD"):
        await respond(send, 405, b"", headers=[(b"allow", b"GET, HEAD"), *_HEADERS])
        return
    # To read all rules takes long enough to be noticed by whoever waits for a frame.
    body, tag = await asyncio.to_thread(_page)
    headers = [(b"etag", tag), *_HEADERS]
    if tag in dict(scope["headers"]).get(b"if-none-match", b""):
        await respond(send, 304, b"", headers=headers)
    elif scope["method"] == "HEAD":
        await respond(send, 200, b"", kind=b"text/html; charset=utf-8", headers=headers)
    else:
        await respond(send, 200, body, kind=b"text/html; charset=utf-8", headers=headers)


@functools.cache
def _page() -> tuple[bytes, bytes]:
    # Not at the top: the hub starts without the reviewer's rules, and most hubs never show them.
    from dragoman_review.catalogue import catalogue, rule_examples
    from dragoman_review.rules import rule_anchor

    examples = rule_examples()
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Rules of the review</title>',
        '<meta name="viewport" content="width=device-width"></head><body><h1>Rules of the review</h1>',
    ]
    for entry in catalogue():
        languages = ", ".join(entry.languages) or "every language"
        parts += (
            f'<h2 id="{escape(rule_anchor(entry.id))}">{escape(entry.title)}</h2>',
            f"<p><code>{escape(entry.id)}</code> ({escape(entry.severity.value)}; {escape(languages)})</p>",
            f"<p>{escape(entry.why)}</p>",
        )
        if (example := examples.get(entry.id)) is not None:
            parts += (
                f"<p>Found:</p><pre>{escape(example.bad)}</pre>",
                f"<p>Left alone:</p><pre>{escape(example.good)}</pre>",
            )
    body = "\n".join((*parts, "</body></html>\n")).encode("utf-8", "replace")
    return body, f'"{hashlib.sha256(body).hexdigest()[:24]}"'.encode()
