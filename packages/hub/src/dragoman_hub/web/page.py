"""Serves the built page, as an ASGI application without a framework.

Nothing here is secret and nobody is asked who they are: the page holds no data, it asks the hub for it. What
is promised is what a browser may do with it: no script, style or frame but our own, no connection but to us
and to the hubs that were named, nothing that leaves with a referrer, and no text that becomes markup (trusted
types). Files whose names carry a hash of their content are kept for ever, others are asked for again. Whether
a request is for us at all (`Host`) is for whoever mounts this.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

STATIC = Path(__file__).parent / "static"

# Not every browser takes a WebSocket of the same host for 'self'.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        # What a person attaches or asked to see; no address of an agent's is loaded.
        "img-src 'self' data: blob:",
        "media-src data: blob:",
        "connect-src 'self' {places}",
        "manifest-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types lit-html dragoman",
    )
)
SAFETY: Headers = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
    (b"x-frame-options", b"DENY"),
]
HOST = re.compile(r"[A-Za-z0-9_.-]+(:\d+)?|\[[0-9A-Fa-f:.]+\](:\d+)?")
FOR_EVER = b"public, max-age=31536000, immutable"
ASK_AGAIN = b"no-cache"
UNKNOWN_TO_PYTHON = {".webmanifest": "application/manifest+json", ".js": "text/javascript"}
TEXTS = ("text/", "application/json", "application/manifest+json", "image/svg+xml")


class PageFile(Struct, frozen=True):
    """One file as it goes over the wire, plain and compressed."""

    body: bytes
    gzip_body: bytes | None
    type: bytes
    tag: bytes
    caching: bytes


class Page:
    """The application `Page()`. It reads its files once, when it is created. `hubs` returns the addresses of
    other hubs that the page may use, whenever the page is requested.
    """

    def __init__(self, folder: Path = STATIC, *, hubs: Callable[[], Iterable[str]] = tuple) -> None:
        self._files = dict(_read(folder))
        self.hubs = hubs

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return None
        request_headers = dict(scope["headers"])
        policy_header = (b"content-security-policy", _policy(request_headers.get(b"host", b""), self.hubs()))
        if scope["method"] not in ("GET", "HEAD"):
            return await _answer(send, 405, [(b"allow", b"GET, HEAD"), policy_header], b"", head=False)
        file = self._files.get("/index.html" if scope["path"] == "/" else scope["path"])
        head = scope["method"] == "HEAD"
        if file is None:
            plain = [(b"content-type", b"text/plain"), policy_header]
            return await _answer(send, 404, plain, b"nothing here\n", head=head)
        return await _give(send, file, request_headers, policy_header, head=head)


def _policy(host: bytes, hubs: Iterable[str]) -> bytes:
    name = host.decode("ascii", "replace")
    places = [f"ws://{name}", f"wss://{name}"] if HOST.fullmatch(name) else []
    for hub in hubs:
        scheme, _, hub_name = hub.partition("://")
        if scheme in ("http", "https") and HOST.fullmatch(hub_name):
            places += [hub, f"{scheme.replace('http', 'ws')}://{hub_name}"]
    return POLICY.format(places=" ".join(places)).encode()


async def _give(
    send: Send,
    file: PageFile,
    request_headers: Mapping[bytes, bytes],
    policy_header: tuple[bytes, bytes],
    *,
    head: bool,
) -> None:
    headers = [
        policy_header,
        (b"content-type", file.type),
        (b"cache-control", file.caching),
        (b"etag", file.tag),
        (b"vary", b"accept-encoding"),
    ]
    if file.tag in request_headers.get(b"if-none-match", b""):
        return await _answer(send, 304, headers, b"", head=True)
    body = file.body
    if file.gzip_body is not None and b"gzip" in request_headers.get(b"accept-encoding", b""):
        body = file.gzip_body
        headers.append((b"content-encoding", b"gzip"))
    return await _answer(send, 200, headers, body, head=head)


async def _answer(send: Send, status: int, headers: Headers, body: bytes, *, head: bool) -> None:
    length_header = [] if status == 304 else [(b"content-length", str(len(body)).encode())]
    start = {"type": "http.response.start", "status": status, "headers": [*headers, *length_header, *SAFETY]}
    await send(start)
    await send({"type": "http.response.body", "body": b"" if head else body})


def _read(folder: Path) -> Iterable[tuple[str, PageFile]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != "build.json":
            yield "/" + path.relative_to(folder).as_posix(), _load_file(path)


def _load_file(path: Path) -> PageFile:
    body = path.read_bytes()
    kind = (
        UNKNOWN_TO_PYTHON.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    )
    is_text = kind.startswith(TEXTS)
    gzip_body = gzip.compress(body, mtime=0) if is_text else None
    return PageFile(
        body=body,
        gzip_body=gzip_body if gzip_body is not None and len(gzip_body) < len(body) else None,
        type=f"{kind}; charset=utf-8".encode() if kind.startswith("text/") else kind.encode(),
        tag=f'"{hashlib.sha256(body).hexdigest()[:24]}"'.encode(),
        caching=FOR_EVER if path.parent.name == "assets" else ASK_AGAIN,
    )
