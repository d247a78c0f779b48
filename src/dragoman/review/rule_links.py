"""Where each rule is explained: in its section of the page of all rules, or on the page of the tool it is of.

The page comes with the package, so that links work without a network. Whoever publishes it, for readers of a
build's report, names its address in `DRAGOMAN_RULES_PAGE`.
"""

from __future__ import annotations

import functools
import os
import urllib.parse
from pathlib import Path

from dragoman.review.finding import Finding
from dragoman.review.places import PAGE_VARIABLE
from dragoman.review.rules import flow_rule_ids, own_rule_ids

_NAME = "review-rules.md"
_RUFF = "https://docs.astral.sh/ruff/rules/"
_OXLINT = "https://oxc.rs/docs/guide/usage/linter/rules.html"


def rule_anchor(rule: str) -> str:
    """Where a rule is explained on the page of all rules."""
    return rule.replace("/", "-").replace(".", "-")


def rules_page() -> str:
    """The address of the page of all rules."""
    address = os.environ.get(PAGE_VARIABLE, "")
    if urllib.parse.urlsplit(address).scheme in ("http", "https", "file"):
        return address.partition("#")[0]
    packaged_page = Path(__file__).parent / "data" / _NAME
    in_checkout = Path(__file__).parents[3] / "docs" / _NAME
    return (packaged_page if packaged_page.is_file() else in_checkout).as_uri()


def rule_link(finding: Finding, page: str) -> str | None:
    """Where the rule of a finding is explained; None for a rule of the project, or of a model."""
    if _is_explained(finding):
        return f"{page}#{rule_anchor(finding.rule)}"
    name = finding.rule.rpartition("/")[2]
    if finding.tool == "ruff":
        return f"{_RUFF}{urllib.parse.quote(name)}/"
    if finding.tool == "oxlint":
        return _OXLINT
    return None


def _is_explained(finding: Finding) -> bool:
    # Without the catalogue: to make it reads every rule with all that it says.
    return any(finding.rule in ids() for ids in (own_rule_ids, flow_rule_ids, _function_rule_ids))


@functools.cache
def _function_rule_ids() -> frozenset[str]:
    """The names of the rules that are functions, loaded late: where nothing is found, nobody asks."""
    from dragoman.review.catalogue import function_rule_ids

    return function_rule_ids()
