"""Links to the explanation of each rule: to the page of all rules, or to the page of the external tool.

The page is written into the cache folder when a link is first needed, so that links work without a network.
Whoever publishes it, for readers of a build's report, names its address in `DRAGOMAN_RULES_PAGE`.
"""

from __future__ import annotations

import functools
import os
import urllib.parse
from collections.abc import Iterator
from itertools import groupby

from dragoman.system.cache_files import write_cache_file
from dragoman_review.catalogue import RuleExample, catalogue, rule_examples
from dragoman_review.finding import Finding, RuleText
from dragoman_review.places import PAGE_VARIABLE, default_cache_folder
from dragoman_review.rules import rule_anchor

_NAME = "review-rules.md"
_RUFF = "https://docs.astral.sh/ruff/rules/"
_OXLINT = "https://oxc.rs/docs/guide/usage/linter/rules.html"


def rules_page() -> str:
    """Return the address of the page of all rules; empty if it can't be written anywhere."""
    address = os.environ.get(PAGE_VARIABLE, "")
    if urllib.parse.urlsplit(address).scheme in ("http", "https", "file"):
        return address.partition("#")[0]
    page = default_cache_folder() / "rules" / _NAME

    text = rules_markdown().encode()
    try:
        is_written = page.read_bytes() == text
    except OSError:
        is_written = False
    if not is_written:
        write_cache_file(page, text, most=1)
    return page.as_uri() if page.is_file() else ""


def rule_link(finding: Finding, page: str) -> str | None:
    """Return the link to the rule of a finding; None for a rule of the project, or of a model."""
    if finding.rule in _own_rule_ids():
        return f"{page}#{rule_anchor(finding.rule)}" if page else None
    name = finding.rule.rpartition("/")[2]
    if finding.tool == "ruff":
        return f"{_RUFF}{urllib.parse.quote(name)}/"
    if finding.tool == "oxlint":
        return _OXLINT
    return None


@functools.cache
def _own_rule_ids() -> frozenset[str]:
    """The ids of Dragoman's rules, loaded only if there are findings."""
    from dragoman_review.catalogue import catalogue

    return frozenset(entry.id for entry in catalogue())


# The page of all rules, as Markdown: a section for each rule, with its reason and an example.
#
# It is made from the rules themselves when somebody wants it: for a link of a finding, and for the site of
# documents.

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
