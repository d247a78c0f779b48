"""Writes metrics in the text format of Prometheus (version 0.0.4). Pure: families in, bytes out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from dragoman_hub.api.observability.meters import AnyFamily, Histogram

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"


def render(families: Iterable[AnyFamily]) -> bytes:
    """All of them; a family without members has its head alone."""
    return "".join(line for family in families for line in _family(family)).encode(errors="replace")


def _family(family: AnyFamily) -> Iterator[str]:
    yield f"# HELP {family.name} {_escape(family.meaning)}\n"
    yield f"# TYPE {family.name} {family.kind}\n"
    for values, meter in family.members():
        label_pairs = list(zip(family.labels, values, strict=True))
        if isinstance(meter, Histogram):
            yield from _histogram(family.name, label_pairs, meter)
        else:
            yield f"{family.name}{_labels(label_pairs)} {number(meter.value)}\n"


def _histogram(name: str, label_pairs: Sequence[tuple[str, str]], histogram: Histogram) -> Iterator[str]:
    """Write a histogram; its buckets are cumulative: each counts all values up to its bound."""
    count = 0
    bounds = [*map(number, histogram.bounds), "+Inf"]
    for limit, bucket in zip(bounds, histogram.buckets, strict=True):
        count += bucket
        yield f"{name}_bucket{_labels([*label_pairs, ('le', limit)])} {count}\n"
    yield f"{name}_sum{_labels(label_pairs)} {number(histogram.sum)}\n"
    yield f"{name}_count{_labels(label_pairs)} {count}\n"


def _labels(label_pairs: Sequence[tuple[str, str]]) -> str:
    if not label_pairs:
        return ""
    return "{" + ",".join(f'{name}="{_quote(value)}"' for name, value in label_pairs) + "}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quote(text: str) -> str:
    return _escape(text).replace('"', '\\"')


def number(value: float) -> str:
    """The shortest text of a number that reads back as the same number."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    # Beyond 2**53 a float is whole, but not every whole number is a float.
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))
