"""Spans as OTLP over HTTP with JSON: what a collector takes at `/v1/traces`.

Written here because the official exporters bring protobuf and an HTTP client of their own; this is a page.
It runs in the thread of the SDK that exports, never in the loop, and gives up after some seconds.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from dragoman.errors import LocalMistake

SECONDS = 10.0
"""For one batch; the next one waits meanwhile, in the SDK's bounded queue."""


class PlainSpan(Struct, frozen=True, kw_only=True):
    """A span that has ended, without anybody's classes."""

    trace: int
    span: int
    parent: int | None
    name: str
    kind: int
    """1 internal, 3 client: the numbers of OTLP."""
    begun: int
    ended: int
    """Nanoseconds since 1970."""
    attributes: Mapping[str, object]
    failed: bool = False
    state: str = ""
    scope: str = ""


def traces_url(endpoint: str) -> str:
    """Where spans are posted: a bare address is a collector's, whose path for them is known."""
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise LocalMistake(f"{endpoint!r} is no address of a collector: write http://HOST:4318")
    return endpoint if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}/v1/traces"


def encode_spans(resource: Mapping[str, object], spans: Iterable[PlainSpan]) -> bytes:
    """One request."""
    scopes: dict[str, list[dict[str, Any]]] = {}
    for span in spans:
        scopes.setdefault(span.scope, []).append(_span(span))
    told = [{"scope": {"name": name}, "spans": held} for name, held in scopes.items()]
    return msgspec.json.encode(
        {"resourceSpans": [{"resource": {"attributes": _attributes(resource)}, "scopeSpans": told}]}
    )


def _span(span: PlainSpan) -> dict[str, Any]:
    # In JSON, ids are hexadecimal and 64-bit numbers are texts.
    told: dict[str, Any] = {
        "traceId": f"{span.trace:032x}",
        "spanId": f"{span.span:016x}",
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.begun),
        "endTimeUnixNano": str(span.ended),
        "attributes": _attributes(span.attributes),
        "status": {"code": 2} if span.failed else {},
    }
    if span.parent is not None:
        told["parentSpanId"] = f"{span.parent:016x}"
    if span.state:
        told["traceState"] = span.state
    return told


def _attributes(values: Mapping[str, object]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: object) -> dict[str, Any]:
    match value:
        case str():
            return {"stringValue": value}
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list() | tuple():
            return {"arrayValue": {"values": [_value(one) for one in value]}}
        case _:
            return {"stringValue": str(value)}


def post(url: str, body: bytes, *, seconds: float = SECONDS) -> str:
    """Send it; returns what went wrong, and nothing if nothing did."""
    headers = {"content-type": "application/json", "user-agent": "dragoman"}
    request = urllib.request.Request(url, body, headers)  # noqa: S310  # `traces_url` has looked at the scheme
    try:
        with urllib.request.urlopen(request, timeout=seconds):  # noqa: S310
            return ""
    except urllib.error.HTTPError as error:
        return f"status {error.code}"
    except (OSError, ValueError) as error:
        return str(error) or type(error).__name__
