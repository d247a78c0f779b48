"""Writes docs/review-rules.md: a section for each rule of the review, with its words and an example.

python tools/generate_rules.py            # write it
python tools/generate_rules.py --check    # status 1 if it is not what would be written
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from dragoman.review.catalogue import CatalogueEntry, RuleExample, catalogue, rule_examples
from dragoman.review.rule_links import rule_anchor

PAGE = Path(__file__).parents[1] / "docs" / "review-rules.md"
_SHOWN = 12
"""Lines of an example; what is longer explains nothing."""

_HEAD = """# Rules of the review

<!-- Written by tools/generate_rules.py; do not edit. -->

What [`dragoman review`](review.md) looks for by itself, and why. Rules of ruff and oxlint are added where
these are installed, as `python/…` and `javascript/…`. How much is found is on [its page](review-accuracy.md);
how a rule is silenced, and how to write one, on [the review's](review.md).
"""


def page() -> str:
    examples = rule_examples()
    parts = [_HEAD]
    for area, entries in groupby(catalogue(), key=lambda entry: entry.id.partition("/")[0]):
        parts.append(f"## {area}\n")
        for entry in entries:
            parts += _section(entry, examples.get(entry.id))
    return "\n".join(parts)


def _section(entry: CatalogueEntry, example: RuleExample | None) -> Iterator[str]:
    where = ", ".join(entry.languages) or "every text"
    yield f'<a id="{rule_anchor(entry.id)}"></a>\n### {entry.id}\n'
    yield f"**{entry.title}** · {entry.severity.value} · {where}\n\n{entry.why}\n"
    if example is not None:
        for word, text in (("Found", example.bad), ("Left alone", example.good)):
            yield f"{word}:\n\n{_fenced(text.rstrip().split(chr(10)))}\n"


def _fenced(lines: list[str]) -> str:
    shown = [*lines[:_SHOWN], "…"] if len(lines) > _SHOWN else lines
    fence = "````" if any("```" in line for line in shown) else "```"
    return "\n".join([f"{fence}text", *shown, fence])


def main() -> int:
    text = page()
    if "--check" in sys.argv[1:]:
        return 0 if PAGE.read_text("utf-8") == text else 1
    PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
