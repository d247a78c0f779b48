"""Writes docs/review-rules.md: a section for each rule of the review, with its words and an example.

python tools/generate_rules.py            # write it
python tools/generate_rules.py --check    # status 1 if it is not what would be written
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from dragoman.review.catalogue import CatalogueEntry, catalogue, rule_anchor
from dragoman.review.rules import ReviewRule, own_rules

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
    rules = {rule.id: rule for rule in own_rules()}
    parts = [_HEAD]
    for area, entries in groupby(catalogue(), key=lambda entry: entry.id.partition("/")[0]):
        parts.append(f"## {area}\n")
        for entry in entries:
            parts += _section(entry, rules.get(entry.id))
    return "\n".join(parts)


def _section(entry: CatalogueEntry, rule: ReviewRule | None) -> Iterator[str]:
    where = ", ".join(entry.languages) or "every text"
    yield f'<a id="{rule_anchor(entry.id)}"></a>\n### {entry.id}\n'
    yield f"**{entry.title}** · {entry.severity.value} · {where}\n\n{entry.why}\n"
    # A secret is no example, and neither is a character that cannot be seen.
    if rule is not None and rule.hits and not rule.entropy and not rule.beyond_ascii:
        for word, texts in (("Found", rule.hits), ("Left alone", rule.misses)):
            if texts and texts[0].isascii() and texts[0].count("\n") <= _SHOWN and "```" not in texts[0]:
                yield f"{word}:\n\n```text\n{texts[0].rstrip()}\n```\n"


def main() -> int:
    text = page()
    if "--check" in sys.argv[1:]:
        return 0 if PAGE.read_text("utf-8") == text else 1
    PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
