"""A strict reader of the Prometheus text format 0.0.4: what breaks one of its rules fails an assertion."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
VALUE = r"[+-]?(?:Inf|[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)|NaN"
SAMPLE = re.compile(rf"(?P<name>{NAME})(?:\{{(?P<labels>.*)\}})? (?P<value>{VALUE})")
LABEL = re.compile(r'(?P<name>[a-zA-Z_][a-zA-Z0-9_]*)="(?P<value>(?:[^"\\\n]|\\["\\n])*)"')
ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}

Labels = tuple[tuple[str, str], ...]


@dataclass
class Read:
    """One family."""

    kind: str
    meaning: str
    samples: dict[tuple[str, Labels], float] = field(default_factory=dict)

    def value(self, **labels: str) -> float:
        found = [value for (_, named), value in self.samples.items() if dict(named) == labels]
        assert len(found) == 1, (labels, self.samples)
        return found[0]


def parse(text: bytes) -> dict[str, Read]:
    shown = text.decode("utf-8")
    assert shown == "" or shown.endswith("\n"), "the last line must end too"
    families: dict[str, Read] = {}
    lines = iter(shown.split("\n")[:-1])
    current = ""
    for line in lines:
        if line.startswith("# HELP "):
            current, _, meaning = line[7:].partition(" ")
            assert re.fullmatch(NAME, current)
            assert current not in families, "a family stands together, and once"
            assert not re.search(r"\\(?![\\n])", meaning.replace("\\\\", ""))
            word, name, kind = next(lines)[2:].split(" ")
            assert (word, name) == ("TYPE", current)
            assert kind in ("counter", "gauge", "histogram", "summary", "untyped")
            families[current] = Read(kind, meaning)
        else:
            _sample(families[current], current, line)
    for name, family in families.items():
        _check(name, family)
    return families


def _sample(family: Read, name: str, line: str) -> None:
    found = SAMPLE.fullmatch(line)
    assert found, f"no sample: {line!r}"
    suffixes = ("_bucket", "_sum", "_count") if family.kind == "histogram" else ("",)
    assert found["name"] in [name + suffix for suffix in suffixes], line
    labels = _labels(found["labels"] or "")
    key = (found["name"], labels)
    assert key not in family.samples, f"twice: {key}"
    family.samples[key] = float(found["value"])


def _labels(text: str) -> Labels:
    labels: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        found = LABEL.match(text, at)
        assert found, f"no label at {at} of {text!r}"
        labels.append((found["name"], re.sub(r'\\["\\n]', lambda one: ESCAPES[one[0]], found["value"])))
        at = found.end()
        assert at == len(text) or text[at] == ","
        at += 1
    assert len({name for name, _ in labels}) == len(labels)
    return tuple(labels)


def _check(name: str, family: Read) -> None:
    if family.kind == "counter":
        assert name.endswith("_total")
        assert all(value >= 0 for value in family.samples.values())
    if family.kind != "histogram":
        return
    sums = {labels for sample, labels in family.samples if sample == f"{name}_sum"}
    for labels in sums:
        buckets = [
            (float(dict(named)["le"]), value)
            for (sample, named), value in family.samples.items()
            if sample == f"{name}_bucket" and tuple(one for one in named if one[0] != "le") == labels
        ]
        assert buckets == sorted(buckets), "buckets grow"
        assert [value for _, value in buckets] == sorted(value for _, value in buckets), (
            "and hold what is below"
        )
        assert buckets[-1][0] == math.inf
        assert family.samples[f"{name}_count", labels] == buckets[-1][1]
