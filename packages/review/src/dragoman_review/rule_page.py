"""The page of all rules, as Markdown: a section for each rule, with its reason and an example.

It is made from the rules themselves when somebody wants it: for a link of a finding, and for the site of
documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from dragoman_review.catalogue import RuleExample, catalogue, rule_examples
from dragoman_review.finding import RuleText
from dragoman_review.rules import rule_anchor

_SHOWN = 12
"""Lines of an example; what is longer explains nothing."""

_HEAD = """# Rules of the review

What `dragoman review` looks for by itself, and why. Rules of ruff and oxlint are added where these are
installed, as `python/…` and `javascript/…`. `dragoman help review` says how a rule is silenced, and how to
write one. A rule is `high` only where the text itself has the evidence.
"""


def rules_markdown() -> str:
    examples = rule_examples()
    parts = [_HEAD]
    for area, entries in groupby(catalogue(), key=lambda entry: entry.id.partition("/")[0]):
        parts.append(f"## {area}\n")
        for entry in entries:
            parts += _section(entry, examples.get(entry.id))
    return "\n".join(parts)


def _section(entry: RuleText, example: RuleExample | None) -> Iterator[str]:
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
