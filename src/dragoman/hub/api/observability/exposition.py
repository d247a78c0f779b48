"""Meters as text, in the format that Prometheus reads (version 0.0.4). Pure: families in, bytes out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from dragoman.hub.api.observability.meters import AnyFamily, Histogram

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"


def render(families: Iterable[AnyFamily]) -> bytes:
    """All of them; a family without members has its head alone."""
    return "".join(line for family in families for line in _family(family)).encode(errors="replace")


def _family(family: AnyFamily) -> Iterator[str]:
    yield f"# HELP {family.name} {_escaped(family.meaning)}\n"
    yield f"# TYPE {family.name} {family.kind}\n"
    for values, meter in family.members():
        named = list(zip(family.labels, values, strict=True))
        if isinstance(meter, Histogram):
            yield from _histogram(family.name, named, meter)
        else:
            yield f"{family.name}{_labels(named)} {number(meter.value)}\n"


def _histogram(name: str, named: Sequence[tuple[str, str]], histogram: Histogram) -> Iterator[str]:
    """Buckets are cumulative here: each holds all that is at most as large as its bound."""
    seen = 0
    bounds = [*map(number, histogram.bounds), "+Inf"]
    for bound, bucket in zip(bounds, histogram.buckets, strict=True):
        seen += bucket
        yield f"{name}_bucket{_labels([*named, ('le', bound)])} {seen}\n"
    yield f"{name}_sum{_labels(named)} {number(histogram.sum)}\n"
    yield f"{name}_count{_labels(named)} {seen}\n"


def _labels(named: Sequence[tuple[str, str]]) -> str:
    if not named:
        return ""
    return "{" + ",".join(f'{name}="{_quoted(value)}"' for name, value in named) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')


def number(value: float) -> str:
    """As short as it can be said without becoming another number."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    # Beyond 2**53 a float is whole, but not every whole number is a float.
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))
