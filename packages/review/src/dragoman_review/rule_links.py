"""Links to the explanation of each rule: to the page of all rules, or to the page of the external tool.

The page is written into the cache folder when a link is first needed, so that links work without a network.
Whoever publishes it, for readers of a build's report, names its address in `DRAGOMAN_RULES_PAGE`.
"""

from __future__ import annotations

import functools
import os
import urllib.parse

from dragoman.system.cache_files import write_cache_file
from dragoman_review.finding import Finding
from dragoman_review.places import PAGE_VARIABLE, default_cache_folder
from dragoman_review.rules import rule_anchor

_NAME = "review-rules.md"
_RUFF = "https://docs.astral.sh/ruff/rules/"
_OXLINT = "https://oxc.rs/docs/guide/usage/linter/rules.html"


def rules_page() -> str:
    """The address of the page of all rules; empty if it cannot be written anywhere."""
    address = os.environ.get(PAGE_VARIABLE, "")
    if urllib.parse.urlsplit(address).scheme in ("http", "https", "file"):
        return address.partition("#")[0]
    page = default_cache_folder() / "rules" / _NAME
    from dragoman_review.rule_page import rules_markdown  # reads every rule with all that it says

    text = rules_markdown().encode()
    try:
        is_written = page.read_bytes() == text
    except OSError:
        is_written = False
    if not is_written:
        write_cache_file(page, text, most=1)
    return page.as_uri() if page.is_file() else ""


def rule_link(finding: Finding, page: str) -> str | None:
    """Where the rule of a finding is explained; None for a rule of the project, or of a model."""
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
